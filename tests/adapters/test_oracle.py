"""The oracle plays the path it was given, one row a round."""

import numpy as np
import pytest

from baserate.adapters import Oracle

HOLDOUT = np.array([[0.9, 0.1], [0.2, 0.8]]), [0, 1]


def test_advances_by_update_only():
    path = np.array([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
    oracle = Oracle(path, source_prior=[0.5, 0.5]).fit(*HOLDOUT)
    for q in path:
        np.testing.assert_array_equal(oracle.prior_, q)
        np.testing.assert_allclose(oracle.predict_proba([[0.5, 0.5]]), [q])
        np.testing.assert_array_equal(oracle.prior_, q)
        step = oracle.step([[0.5, 0.5]])
        np.testing.assert_array_equal(step.prior, q)
    with pytest.raises(ValueError, match="3 rounds"):
        oracle.predict_proba([[0.5, 0.5]])
    with pytest.raises(ValueError, match="3 rounds"):
        oracle.update([[0.5, 0.5]])
    oracle.reset()
    np.testing.assert_array_equal(oracle.prior_, path[0])


class Flat:
    """A calibrator that trusts nothing."""

    def fit(self, proba, y):
        return self

    def transform(self, proba):
        return np.full_like(proba, 0.5)


def test_the_calibrator_comes_first():
    oracle = Oracle([[0.7, 0.3]], calibrator=Flat()).fit(*HOLDOUT)
    np.testing.assert_allclose(oracle.predict_proba([[0.99, 0.01]]), [[0.7, 0.3]])


def test_the_path_is_the_oracles_own_and_on_the_simplex():
    path = np.array([[0.4996, 0.4999]])
    oracle = Oracle(path).fit(*HOLDOUT)
    path[:] = 9.0
    assert oracle.prior_.sum() == pytest.approx(1, abs=1e-15)
