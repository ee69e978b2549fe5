"""Rehearsal of a correction: its effect on the labelled holdout, re-weighted to the tracked class mix."""

import numpy as np

from baserate.compiled import compiled
from baserate.protocols import FloatArray, IntArray

WEIGHTS = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])
"""Parts of the correction that are tried, from none to all of it."""
HALF = 75.0
"""Effective number of samples at which labels and the model's own probabilities count alike."""
_STEEP = 6  # power with which labels count more from there on
_TOLERATED = 2.0  # standard errors by which a larger part may be worse, near the mix of the holdout
_MORE_ERRORS = (
    0.01  # by which the error rate of a larger part may exceed that of a smaller one, because errors are few and noisy
)
_SHOWN = 3.0  # standard errors by which more than a quarter has to be better, where it moves samples to thin classes
_QUARTER = int(np.flatnonzero(WEIGHTS == 0.25)[0])
_LEAST = 1e-9  # least probability of the true class, so that a single sample does not dominate
_ROUNDING = 1e-6  # differences of losses that are ignored: near the source prior all parts are nearly equal


@compiled
def _losses(
    proba: FloatArray,
    labels: IntArray,
    ratios: FloatArray,
    believed: FloatArray,
    told: FloatArray,
    expected: FloatArray,
) -> None:
    """Set the log loss and the error of each part on each row, and add up those that the model expects.

    `told`, (2, m, n), is by labels. In `expected`, (2, m), a row counts by `believed`, (k,), times its probabilities of
    all classes, and log losses are up to a term that `rehearse` adds.
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
            told[0, j, i] = -np.log(max(own, _LEAST))
            told[1, j, i] = 0.0 if best == y else 1.0
            expected[1, j] += mass - believed[best] * proba[i, best]
            if total > 0.0:
                expected[0, j] += mass * np.log(total)


def belief(effective: float) -> float:
    """Return the share by which the model's own probabilities count in place of labels, from 0 to 1.

    The share is ``1 / (1 + (n / 75)^6)`` if the holdout is worth n samples at the tracked mix: see `effective_samples`.
    """
    return 1.0 / (1.0 + (effective / HALF) ** _STEEP)


def effective_samples(counts: FloatArray, tracked: FloatArray) -> float:
    """Return the number of samples that a holdout is worth at a class mix.

    With n_c samples of class c, re-weighted to the mix q, it is ``1 / sum_c(q_c^2 / n_c)`` (Kish).
    """
    return 1.0 / float((tracked**2 / counts).sum())


def standard_errors(values: FloatArray, labels: IntArray, counts: FloatArray, tracked: FloatArray) -> FloatArray:
    """Return the standard error of the difference of every two re-weighted means, (m, m), given (m, n) values.

    Samples are drawn class by class, so that it is the differences within classes that vary.
    """
    k = len(counts)
    means = np.stack([np.bincount(labels, row, k) / counts for row in values])
    scale = tracked / np.sqrt(counts * np.maximum(counts - 1.0, 1.0))
    within = (values - means[:, labels]) * scale[labels]
    products = within @ within.T
    variances = np.diag(products)
    return np.sqrt(np.maximum(variances + variances[:, np.newaxis] - 2.0 * products, 0.0))


def rehearse(
    proba: FloatArray,
    labels: IntArray,
    counts: FloatArray,
    source_prior: FloatArray,
    tracked: FloatArray,
    *,
    thin: bool = False,
) -> float:
    """Return the largest of `WEIGHTS` that is no worse on the holdout than any smaller one, at the mix `tracked`.

    Samples of class c have the weight ``tracked[c] / counts[c]``. A part of the correction is worse if a smaller one
    has a lower log loss, or an error rate that is lower by more than one point, by more than a tolerance.

    Where the mix rests on few samples, their labels are noisy: of twenty samples of a class, often none is one that the
    correction would put right, though many in the stream are. So the losses are shrunk, by `belief`, towards those
    that the model's own probabilities expect at this mix. And near the mix of the holdout a correction is small, and so
    is the harm that it could do: the tolerance is two standard errors of the difference, times the cube of the share of
    the holdout that its samples are worth.

    If `thin`, more than a quarter of the correction is returned only if its log loss is lower by three standard errors:
    of the parts from a quarter on, the smallest is taken that is not shown to be worse. The rest of a correction adds
    ever less to the likelihood, and decides between classes that look alike. If these have few samples, both their
    tracked shares and the losses here rest on the same few. The rule counts as much as labels do against the model's
    own probabilities.

    Parameters
    ----------
    proba, labels, counts
        The calibrated holdout, and the number of samples of each class in it.
    source_prior, tracked : (k,) arrays
        The correction multiplies by ``(tracked / source_prior) ** weight``.
    thin : bool
        Whether the correction moves samples to classes with few samples in the holdout, of which there are several.
    """
    m, n = len(WEIGHTS), len(proba)
    ratios = (np.maximum(tracked, _LEAST) / source_prior) ** WEIGHTS[:, np.newaxis]
    sums = proba.sum(axis=0)
    believed = np.where(sums > 0.0, tracked / np.maximum(sums, np.finfo(np.float64).tiny), 0.0)
    told, expected = np.empty((2, m, n)), np.zeros((2, m))
    _losses(proba, labels, ratios, believed, told, expected)
    expected[0] -= np.log(ratios) @ (believed * sums)  # of each class, the same for all rows
    effective = effective_samples(counts, tracked)
    share = belief(effective)
    means = (1.0 - share) * (told @ (tracked / counts)[labels]) + share * expected
    if not thin and _largest(means, np.zeros((2, m, m))) == m - 1:
        return float(WEIGHTS[-1])  # mostly so: the standard errors are not needed
    errors = (1.0 - share) * np.stack([standard_errors(row, labels, counts, tracked) for row in told])
    found = _largest(means, _TOLERATED * (effective / n) ** 3 * errors)
    if thin:
        shown = means[0, :found] - means[0, found] > _SHOWN * errors[0, :found, found]
        found = next((j for j in range(_QUARTER, found) if not shown[j]), found)
    return float(WEIGHTS[found])


def _largest(means: FloatArray, tolerance: FloatArray) -> int:
    """Return the largest part's place that is no worse than any smaller one, by means (2, m), tolerances (2, m, m)."""
    for j in range(len(WEIGHTS) - 1, 0, -1):
        more_loss, more_errors = (means[:, j : j + 1] - means[:, :j] - tolerance[:, j, :j]).max(axis=1)
        if more_loss <= _ROUNDING and more_errors <= _MORE_ERRORS:
            return j
    return 0
