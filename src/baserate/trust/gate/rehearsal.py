"""Rehearsal of a correction: its effect on the labelled holdout, re-weighted to the tracked class mix."""

import numpy as np

from baserate.compiled import compiled
from baserate.protocols import FloatArray, IntArray

WEIGHTS = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])
"""Parts of the correction that are tried, from none to all of it."""
HALF = 30.0
"""Effective number of samples at which labels and the model's own probabilities count alike."""
_MORE_ERRORS = (
    0.01  # by which the error rate of a larger part may exceed that of a smaller one, because errors are few and noisy
)
_LEAST = 1e-9  # least probability of the true class, so that a single sample does not dominate
_ROUNDING = 1e-6  # differences of losses that are ignored: near the source prior all parts are nearly equal


@compiled
def _losses(
    proba: FloatArray, labels: IntArray, ratios: FloatArray, told: FloatArray, believed: FloatArray, out: FloatArray
) -> None:
    """Add the log loss and the error of each part to `out`, (2, m), up to terms that all parts share.

    A row counts by `told`, (k,), for its label, and by `believed`, (k,), times its probabilities for every class.
    """
    m, k = ratios.shape
    for i in range(len(proba)):
        y = labels[i]
        mass = 0.0
        for c in range(k):
            mass += believed[c] * proba[i, c]
        for j in range(m):
            total, best, top = 0.0, 0, -1.0
            for c in range(k):
                value = proba[i, c] * ratios[j, c]
                total += value
                if value > top:
                    best, top = c, value
            own = proba[i, y] * ratios[j, y] / total if total > 0.0 else 0.0
            out[0, j] -= told[y] * np.log(max(own, _LEAST))
            out[1, j] += mass - believed[best] * proba[i, best]
            if total > 0.0:
                out[0, j] += mass * np.log(total)
            if best != y:
                out[1, j] += told[y]


def belief(counts: FloatArray, tracked: FloatArray) -> float:
    """Return the share by which the model's own probabilities count in place of labels, from 0 to 1.

    Re-weighted to the class mix q, a holdout with n_c samples of class c is worth ``n = 1 / sum_c(q_c^2 / n_c)``
    samples (Kish). The share is ``1 / (1 + (n / 30)^2)``.
    """
    effective = 1.0 / float((tracked**2 / counts).sum())
    return 1.0 / (1.0 + (effective / HALF) ** 2)


def rehearse(
    proba: FloatArray, labels: IntArray, counts: FloatArray, source_prior: FloatArray, tracked: FloatArray
) -> float:
    """Return the largest of `WEIGHTS` that is no worse on the holdout than any smaller one, at the mix `tracked`.

    Samples of class c have the weight ``tracked[c] / counts[c]``. A part of the correction is worse if a smaller one
    has a lower log loss, or an error rate that is lower by more than one point.

    Where the mix rests on few samples, their labels are noisy: of twenty samples of a class, often none is one that the
    correction would put right, though many in the stream are. So the losses are shrunk, by `belief`, towards those
    that the model's own probabilities expect at this mix.

    Parameters
    ----------
    proba, labels, counts
        The calibrated holdout, and the number of samples of each class in it.
    source_prior, tracked : (k,) arrays
        The correction multiplies by ``(tracked / source_prior) ** weight``.
    """
    ratios = (np.maximum(tracked, _LEAST) / source_prior) ** WEIGHTS[:, np.newaxis]
    share = belief(counts, tracked)
    sums = proba.sum(axis=0)
    believed = np.where(sums > 0.0, share * tracked / np.maximum(sums, np.finfo(np.float64).tiny), 0.0)
    means = np.zeros((2, len(WEIGHTS)))
    _losses(proba, labels, ratios, (1.0 - share) * tracked / counts, believed, means)
    means[0] -= np.log(ratios) @ (believed * sums)  # of each class, the same for all rows
    for j in range(len(WEIGHTS) - 1, 0, -1):
        more_loss, more_errors = (means[:, j : j + 1] - means[:, :j]).max(axis=1)
        if more_loss <= _ROUNDING and more_errors <= _MORE_ERRORS:
            return float(WEIGHTS[j])
    return float(WEIGHTS[0])
