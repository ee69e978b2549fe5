"""Spread of label estimates: how far a class mix that was estimated from a model's outputs may be off."""

from typing import NamedTuple

import numpy as np

from baserate.protocols import FloatArray
from baserate.trust._beta_mixtures import beta_mixture_quantiles
from baserate.trust._label_estimates import label_estimates

_ALIKE = 0.02  # class mixes that differ by less in every class have the same label estimates


class LabelSpread(NamedTuple):
    """The errors of estimated class mixes.

    Attributes
    ----------
    shift : (T, k) array
        The true mix minus the likeliest one, by the model's miscalibration on the holdout.
    holdout : (T, k) array
        Variance of a share because the holdout is finite.
    excess : (T, k) array
        Variance of one sample's label estimate beyond that of its label.
    n_holdout : float
        Samples of the holdout.
    """

    shift: FloatArray
    holdout: FloatArray
    excess: FloatArray
    n_holdout: float


def label_spread(
    proba: FloatArray, class_weights: FloatArray, n_class: FloatArray, source_prior: FloatArray, mixes: FloatArray
) -> LabelSpread:
    """Return the spread at each of many class mixes, those that are alike at once.

    Parameters
    ----------
    proba, class_weights, n_class, source_prior
        A holdout: see `KeptHoldout`.
    mixes : (T, k) array
    """
    shift, holdout, excess = (np.empty_like(mixes) for _ in range(3))
    left = np.arange(len(mixes))
    while len(left) > 0:
        centre = mixes[left[0]]
        near = np.abs(mixes[left] - centre).max(axis=1) < _ALIKE
        rows, left = left[near], left[~near]
        estimates = label_estimates(proba, class_weights, source_prior, centre)
        shift[rows] = estimates.mix - centre
        q = np.maximum(mixes[rows] + shift[rows], 0.0)
        q /= q.sum(axis=1, keepdims=True)
        holdout[rows], excess[rows] = variances(q, estimates.squares, n_class)
    return LabelSpread(shift, holdout, excess, float(n_class.sum()))


def variances(q: FloatArray, squares: FloatArray, n_class: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the holdout's part of the variance of mixes, and the excess of one sample; see `PriorBand`."""
    part = q**2 / n_class
    return np.maximum(part @ squares - part, 0.0), np.maximum(q @ squares - q, 0.0)


def share_limits(
    means: FloatArray, variances: FloatArray, samples: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the lower and upper limits of shares, those of a beta distribution each.

    Parameters
    ----------
    means, variances : (T, k) arrays
    samples : (T,) array
        The number of samples that a row is known by.
    level : float
        The probability of a share within its limits.
    """
    tail = 0.5 * (1.0 - level)
    found = beta_mixture_quantiles(
        np.ones(1), means.reshape(1, -1), variances.reshape(1, -1), np.array([tail, 1.0 - tail])
    )
    low, high = found.reshape(2, *means.shape)
    return open_ends(low, high, samples[:, np.newaxis])


def open_ends(low: FloatArray, high: FloatArray, samples: FloatArray | float) -> tuple[FloatArray, FloatArray]:
    """Return limits, 0 or 1 where they are closer to it than one sample."""
    return np.where(low * samples < 1.0, 0.0, low), np.where((1.0 - high) * samples < 1.0, 1.0, high)
