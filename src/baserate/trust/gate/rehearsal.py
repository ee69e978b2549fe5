"""Rehearsal of a correction: its effect on the labelled holdout, re-weighted to the tracked class mix."""

import numpy as np

from baserate.compiled import compiled
from baserate.protocols import FloatArray, IntArray

WEIGHTS = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])
"""Parts of the correction that are tried, from none to all of it."""
_MORE_ERRORS = (
    0.01  # by which the error rate of a larger part may exceed that of a smaller one, because errors are few and noisy
)
_LEAST = 1e-9  # least probability of the true class, so that a single sample does not dominate
_ROUNDING = 1e-6  # differences of losses that are ignored: near the source prior all parts are nearly equal


@compiled
def _losses(proba: FloatArray, labels: IntArray, ratios: FloatArray, mass: FloatArray, out: FloatArray) -> None:
    """Add the mean log loss and mean error of each part to `out`, (2, m)."""
    m, k = ratios.shape
    for i in range(len(proba)):
        y = labels[i]
        weight = mass[y]
        for j in range(m):
            total, best, top = 0.0, 0, -1.0
            for c in range(k):
                value = proba[i, c] * ratios[j, c]
                total += value
                if value > top:
                    best, top = c, value
            own = proba[i, y] * ratios[j, y] / total if total > 0.0 else 0.0
            out[0, j] -= weight * np.log(max(own, _LEAST))
            if best != y:
                out[1, j] += weight


def rehearse(
    proba: FloatArray, labels: IntArray, counts: FloatArray, source_prior: FloatArray, tracked: FloatArray
) -> float:
    """Return the largest of `WEIGHTS` that is no worse on the holdout than any smaller one, at the mix `tracked`.

    Samples of class c have the weight ``tracked[c] / counts[c]``. A part of the correction is worse if a smaller one
    has a lower log loss, or an error rate that is lower by more than one point.

    Parameters
    ----------
    proba, labels, counts
        The calibrated holdout, and the number of samples of each class in it.
    source_prior, tracked : (k,) arrays
        The correction multiplies by ``(tracked / source_prior) ** weight``.
    """
    ratios = (np.maximum(tracked, _LEAST) / source_prior) ** WEIGHTS[:, np.newaxis]
    means = np.zeros((2, len(WEIGHTS)))
    _losses(proba, labels, ratios, tracked / counts, means)
    for j in range(len(WEIGHTS) - 1, 0, -1):
        more_loss, more_errors = (means[:, j : j + 1] - means[:, :j]).max(axis=1)
        if more_loss <= _ROUNDING and more_errors <= _MORE_ERRORS:
            return float(WEIGHTS[j])
    return float(WEIGHTS[0])
