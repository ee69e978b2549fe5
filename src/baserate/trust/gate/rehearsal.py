"""What a correction would do to the holdout, if that had the class mix the stream seems to have."""

import numpy as np

from baserate.compiled import compiled
from baserate.protocols import FloatArray, IntArray

WEIGHTS = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])
"""Parts of the correction that are tried; the first is none, the last all of it."""
_MORE_ERRORS = 0.01  # that a larger part may make than a smaller one: errors are few, and chance moves them
_LEAST = 1e-9  # probability of the true class: a single sample may not decide
_ROUNDING = 1e-6  # of losses: at a mix that is nearly the source all parts of the correction are alike


@compiled
def _losses(proba: FloatArray, labels: IntArray, ratios: FloatArray, mass: FloatArray, out: FloatArray) -> None:
    """Mean log loss and mean error of each part, (2, m)."""
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
    """The largest of `WEIGHTS` that the holdout does not speak against, at the class mix `tracked`.

    Samples of class c count with ``tracked[c] / counts[c]``. A part of the correction is spoken against if a smaller
    one has a smaller log loss, or an error rate that is smaller by more than one point.

    Parameters
    ----------
    proba, labels, counts
        The holdout, calibrated, and how many samples of each class it has.
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
