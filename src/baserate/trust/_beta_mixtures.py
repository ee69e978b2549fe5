"""Quantiles of mixtures of beta distributions, the posterior of a share between 0 and 1."""

import numpy as np
from scipy.special import ndtr

from baserate.protocols import FloatArray

_NARROW = 1e-12
_HALVINGS = 20  # quantiles to 5e-7
_LEAST = 1.0 / 9.0  # least parameter of a beta distribution; below it, half of the mass would be at 0 or 1
_ROOM = 0.5  # squared distance of a mean from 0 and 1, as a part of the variance


def beta_mixture_quantiles(
    weights: FloatArray, means: FloatArray, variances: FloatArray, levels: FloatArray
) -> FloatArray:
    """Return quantiles of k mixtures of m beta distributions, given by means and variances.

    The distribution function is Paulson's approximation: the cube root of a variance ratio, here of the odds, is nearly
    normal. Its error is at most about 0.01 where both parameters are 1 or more, and it is far faster than the exact
    function.

    Parameters
    ----------
    weights : (m,) array
        Weights of the components, which sum to one.
    means, variances : (m, k) arrays
        Means and variances of the components. A mean is kept 0.7 standard deviations away from 0 and 1, because a share
        that is uncertain and cannot be negative is positive on average. A variance that is still too large for a beta
        distribution is reduced.
    levels : (l,) array
        Levels of the quantiles.

    Returns
    -------
    (l, k) array
    """
    variances = np.maximum(variances, _NARROW)
    edge = np.minimum(np.sqrt(_ROOM * variances), 0.5)
    inside = np.clip(means, edge, 1.0 - edge)
    size = inside * (1.0 - inside) / variances - 1.0
    a, b = np.maximum(inside * size, _LEAST), np.maximum((1.0 - inside) * size, _LEAST)
    scale, of_a, of_b = np.cbrt(b / a), 1.0 / (9.0 * a), 1.0 / (9.0 * b)
    low, high = np.zeros((len(levels), means.shape[1])), np.ones((len(levels), means.shape[1]))
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        root = scale * np.cbrt(middle / (1.0 - middle))[:, np.newaxis]
        normal = ((1.0 - of_b) * root - (1.0 - of_a)) / np.sqrt(of_b * root * root + of_a)
        below = weights @ ndtr(normal) < levels[:, np.newaxis]
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high)
