"""Quantiles of mixtures of beta distributions."""

import numpy as np
import pytest
from scipy.special import betainc

from baserate.trust._beta_mixtures import beta_mixture_quantiles


@pytest.mark.parametrize(("a", "b", "off"), [(1, 1, 0.012), (1, 9, 0.012), (2, 50, 0.004), (90, 10, 0.001)])
def test_quantiles_of_one_beta(a, b, off):
    mean, levels = a / (a + b), np.array([0.05, 0.5, 0.95])
    variance = mean * (1 - mean) / (a + b + 1)
    found = beta_mixture_quantiles(np.ones(1), np.array([[mean]]), np.array([[variance]]), levels)[:, 0]
    np.testing.assert_allclose(betainc(a, b, found), levels, rtol=0, atol=off)


def test_quantiles_of_two_betas():
    means, variances = np.array([[0.2, 0.8], [0.8, 0.2]]), np.full((2, 2), 1e-8)
    apart = beta_mixture_quantiles(np.array([0.3, 0.7]), means, variances, np.array([0.29, 0.31]))
    np.testing.assert_allclose(apart, [[0.2, 0.2], [0.8, 0.2]], atol=1e-3)
    nothing = beta_mixture_quantiles(np.ones(1), np.array([[0.0, 1.0]]), np.full((1, 2), 1e-6), np.array([0.05, 0.95]))
    np.testing.assert_allclose(nothing[:, 0], [0.0, 0.0027], atol=1e-4)  # 0.5 chi-squared, of one degree of freedom
    np.testing.assert_allclose(nothing[:, 1], 1.0 - nothing[::-1, 0], atol=1e-6)
    at_a_loss = beta_mixture_quantiles(
        np.ones(1), np.array([[0.0, 0.3]]), np.full((1, 2), 1e12), np.array([0.05, 0.95])
    )
    np.testing.assert_allclose(at_a_loss, [[0.0, 0.0], [1.0, 1.0]], atol=1e-5)
