"""Estimates of labels from outputs are unbiased."""

import numpy as np

from baserate.trust._label_estimates import label_estimates

from .simulated import EVEN, MIX, holdout


def test_label_estimates_are_unbiased_on_every_class():
    rng = np.random.default_rng(8)
    proba, y = holdout(rng, 90, sharpness=3.0)
    weights = np.eye(3)[y] / np.bincount(y)
    found = label_estimates(proba, weights, EVEN, MIX)
    np.testing.assert_allclose(weights.T @ found.rows, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(found.mix.sum(), 1.0)
    scores = proba / (proba @ MIX)[:, np.newaxis]
    np.testing.assert_allclose(found.mix @ (weights.T @ scores), 1.0)  # the most likely mix there is MIX
    np.testing.assert_allclose(found.squares[1], (found.rows[y == 1] ** 2).mean(axis=0))
