"""Outputs and features of one recipe may come from two fits: the fits must agree."""

import numpy as np

from baserate_lab.models import _kinds
from baserate_lab.models.watching import no_watcher

RNG = np.random.default_rng(0)
Y = np.arange(600) % 4
SCALES = np.geomspace(1, 0.01, 30)  # a problem on which the solver's default stops early
X = ((np.eye(4, 30)[Y] + RNG.standard_normal((600, 30))) * SCALES).astype(np.float32)


def test_a_regression_does_not_depend_on_the_order_of_its_sums(tmp_path):
    """Rows in another order round differently, as another number of threads does."""
    found = []
    for order in (np.arange(600), np.random.default_rng(1).permutation(600)):
        model = _kinds.KINDS["logistic"](0, C=30.0)
        _kinds.fit(model, X[order], Y[order], tmp_path / "none", tmp_path / "none", no_watcher)
        found.append(model.predict_proba(X))
    np.testing.assert_allclose(*found, atol=2e-5)
