"""Base is the model as it is."""

import numpy as np

from baserate.adapters import Base

from ..calibrators.honest import distort, draw


def test_by_default_the_model_is_left_as_it_is():
    p, y = draw(np.random.default_rng(0), 500, 4)
    assert Base().fit(p, y).calibrator_ is None
    np.testing.assert_array_equal(Base().fit(distort(p, 0.4), y).predict_proba(p), p)
