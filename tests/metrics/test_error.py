"""Error rates and distances by hand and by sampling."""

import numpy as np
import pytest

from baserate.metrics import error_rate, marginal_mse

from .pool import RNG, M, P, Y


def test_error_rate():
    proba = [[0.6, 0.4], [0.3, 0.7], [0.8, 0.2], [0.1, 0.9]]
    assert error_rate(proba, [0, 0, 0, 1]) == 0.25
    assert error_rate(proba, [0, 0, 0, 1], sampled=True) == pytest.approx((0.4 + 0.7 + 0.2 + 0.1) / 4)
    with pytest.raises(ValueError, match="empty"):
        error_rate(np.empty((0, 2)), [])


def test_the_sampled_error_is_the_expectation_of_sampling():
    draws = (P.cumsum(axis=1)[np.newaxis] < RNG.random((4000, M, 1))).sum(axis=2)
    simulated = (draws != Y).mean()
    assert error_rate(P, Y, sampled=True) == pytest.approx(simulated, abs=4 * 0.5 / np.sqrt(4000 * M))


def test_marginal_mse_sums_over_classes_and_averages_over_rounds():
    assert marginal_mse([[1, 0], [0.5, 0.5]], [[0, 1], [0.5, 0.5]]) == 1.0
    with pytest.raises(ValueError, match="truth has 1 rounds"):
        marginal_mse([[1, 0], [0.5, 0.5]], [[0, 1]])
