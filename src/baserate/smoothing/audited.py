"""Shares of periods by audits: prediction-powered, with the audits of neighbouring periods as far as they agree."""

import numpy as np
from numpy.typing import NDArray

from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.smoothing.path import window_grid
from baserate.trust.prediction_powered import LabelledSums, Powered, labelled_sums, powered, widest, wilson

_LEAST = 1e-6


def audited_shares(
    adapted: FloatArray,
    starts: IntArray,
    labels: IntArray,
    variances: FloatArray,
    weights: FloatArray | None = None,
    level: float = 0.9,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the share of each class in each period, and its limits, each (T, k).

    A period's share is the mean of the model's probabilities over its rows plus the mean residual, label minus
    probability, of labelled rows in a window of periods around it. The window begins as the period itself, and grows
    as long as its residual lies within the limits of every shorter one: a model that is wrong by the same amount for
    weeks is put right by the audits of weeks. The audits of other periods say nothing about how far the mix of this one
    is from its estimate, so that the variance of that is added for windows of more than the period; where it is so
    large that the audits of the period tell more, they are used alone. A period without rows has NaN, 0 and 1.

    Parameters
    ----------
    adapted : (n, k) array
        Probabilities, re-weighted to the class mix of each period.
    starts : (T + 1,) array of int
    labels : (n,) array of int
        -1 where there is none. Rows must have been chosen for labels at random within a period.
    variances : (T, k) array
        Of the class mix that `adapted` was re-weighted to.
    weights : (n,) array, optional
        One over the probability with which each row was chosen.
    level : float
    """
    n_rounds, k = len(starts) - 1, adapted.shape[1]
    sizes = np.diff(starts).astype(np.float64)
    means = np.add.reduceat(np.vstack([adapted, np.zeros((1, k))]), starts[:-1], axis=0)
    means = np.where(sizes[:, np.newaxis] > 0.0, means, 0.0) / np.maximum(sizes, 1.0)[:, np.newaxis]
    sums = _sums_before(adapted, starts, labels, weights)
    value, low, high = (np.empty((n_rounds, k)) for _ in range(3))
    for t in range(n_rounds):
        own, found, wider = _widest(sums, means[t], t, n_rounds)
        middle = np.clip(0.5 * (found.value + means[t]), _LEAST, 1.0 - _LEAST)
        of_mix = np.where(wider, variances[t] / (middle * (1.0 - middle)), 0.0)
        n, n_own = (
            1.0 / (1.0 / np.maximum(labels, 1e-9) + 1.0 / max(sizes[t], 1.0) + doubt)
            for labels, doubt in ((found.n, of_mix), (own.n, 0.0))
        )
        alone = wider & (n < n_own)
        value[t] = np.where(alone, own.value, found.value)
        low[t], high[t] = wilson(value[t], np.where(alone, n_own, n), level)
    empty = sizes == 0.0  # no rows have no share, whatever neighbours say
    value[empty], low[empty], high[empty] = np.nan, 0.0, 1.0
    return value, low, high


def _sums_before(
    adapted: FloatArray, starts: IntArray, labels: IntArray, weights: FloatArray | None
) -> list[FloatArray]:
    """Return the sums over the labelled rows before each period, so that a window is the difference of two."""
    k = adapted.shape[1]
    per_round = np.zeros((len(LabelledSums._fields), len(starts), k))
    for t in range(len(starts) - 1):
        rows = starts[t] + np.flatnonzero(labels[starts[t] : starts[t + 1]] != UNLABELLED)
        chosen = None if weights is None else weights[rows]
        per_round[:, t + 1] = labelled_sums(np.eye(k)[labels[rows]], adapted[rows], chosen)
    return list(np.cumsum(per_round, axis=1))


def _widest(
    sums: list[FloatArray], mean: FloatArray, t: int, n_rounds: int
) -> tuple[Powered, Powered, NDArray[np.bool_]]:
    """Return the estimate of the period alone, and of the widest window around it that agrees with all narrower ones.

    And whether that is wider than the period; all by class.
    """
    n_all, found = np.full(len(mean), np.inf), []
    for width in window_grid(n_rounds):
        first, last = max(0, t - int(width)), min(n_rounds, t + 1 + int(width))
        window = LabelledSums(*(total[last] - total[first] for total in sums))
        # Wider than the period, only all of the model follows a share that moves within the window.
        one = powered(window, mean, n_all, tuned=int(width) == 0)
        found.append(one if window.weight[0] > 0.0 else one._replace(value=np.full(len(mean), np.nan)))
    best, place = widest(Powered(*(np.array(part) for part in zip(*found, strict=True))))
    return found[0], best._replace(value=np.where(place < 0, mean, best.value)), place > 0
