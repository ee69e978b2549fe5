"""Moves of runs if there are many classes: each class alone, by class probabilities that all runs share (compiled).

A full matrix for each run would take too much time and memory. So a batch's class probabilities under the mean of all
experts are compared with that mean, and the difference is divided by the share of a label that an output tells: the
variance of the class probability beside that of the label. All runs average the same estimates, each since its start.
"""

import numpy as np

from baserate.compiled import compiled_part, compiled_within
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.trackers.likelihood_mixture.experts import COUNT, MIXTURE, SPARE
from baserate.trackers.likelihood_mixture.runs import judge_runs, shift_mixes

_PRIOR = 1.0  # samples that the birth value counts for
_LEAST_TOLD = 0.05  # least share of a label that an output is taken to tell
_THINNED = 16  # samples of a batch from which that share is estimated
_BLOCK = 10  # likelihoods multiplied before a logarithm is taken


@compiled_part
def observe(
    mixes: FloatArray,
    weights: FloatArray,
    birth: float,
    proba: FloatArray,
    inverse: FloatArray,
    labels: IntArray,
    first: int,
    end: int,
) -> float:
    """Judge the runs by the samples `first` to `end`, of which `birth` is the log-likelihood under the birth value.

    Returns the samples' log-likelihood.
    """
    k, source = len(mixes), mixes.shape[1] - 1
    ratios, spare, logs, products = np.empty((source, k)), np.empty(k), np.zeros(source + 1), np.ones(source)
    for c in range(k):
        for e in range(source):
            ratios[e, c] = mixes[c, e] * inverse[c]
    for i in range(first, end):
        label = labels[i] if len(labels) > 0 else UNLABELLED
        for e in range(source):
            products[e] *= mixes[label, e] if label != UNLABELLED else _dot(ratios, e, proba, i, spare)
        if (i - first) % _BLOCK == _BLOCK - 1 or i == end - 1:
            for e in range(source):
                logs[e] += np.log(products[e])
                products[e] = 1.0
    logs[source] = birth
    return judge_runs(weights, logs)


@compiled_within
def _dot(ratios: FloatArray, e: int, proba: FloatArray, i: int, spare: FloatArray) -> float:
    """Return the product of two rows.

    The additions are in an order in which neighbouring ones can be done at the same time: a plain running sum would
    wait for each.
    """
    k = ratios.shape[1]
    n, total = k // 4, 0.0
    for j in range(n):
        spare[j] = (ratios[e, j] * proba[i, j] + ratios[e, n + j] * proba[i, n + j]) + (
            ratios[e, 2 * n + j] * proba[i, 2 * n + j] + ratios[e, 3 * n + j] * proba[i, 3 * n + j]
        )
    for j in range(4 * n, k):
        total += ratios[e, j] * proba[i, j]
    while n >= 32:
        for j in range(n - n % 2, n):
            total += spare[j]
        n //= 2
        for j in range(n):
            spare[j] += spare[n + j]
    for j in range(n):
        total += spare[j]
    return total


@compiled_part
def count(
    mixes: FloatArray,
    overlaps: FloatArray,
    sizes: FloatArray,
    proba: FloatArray,
    inverse: FloatArray,
    labels: IntArray,
    first: int,
    end: int,
    per_class: FloatArray,
) -> None:
    """Move the runs by the classes of a batch as counted in `COUNT` under `MIXTURE`."""
    k, m = mixes.shape
    n, source = end - first, m - 1
    _set_squares(proba, inverse, labels, first, end, per_class)
    gains, steps, unknown, by = np.empty(source), np.empty(source), np.empty(source), np.zeros((k, m))
    share = 1.0 / n
    for e in range(source):
        gains[e] = n / (sizes[e] + n)
        steps[e] = gains[e] / (1.0 + _PRIOR * gains[e] * share)
        unknown[e] = _PRIOR / (sizes[e] + n)
    for c in range(k):
        mean, square, counted = per_class[MIXTURE, c], per_class[SPARE, c] * share, per_class[COUNT, c] * share
        moved = counted - mean
        for e in range(source):
            squares = overlaps[c, e] + gains[e] * (square - overlaps[c, e])
            found = overlaps[k + c, e] + gains[e] * (counted - overlaps[k + c, e])
            overlaps[c, e], overlaps[k + c, e] = squares, found
            # The share of a label that an output tells: the variance of the class probability beside that of the label.
            label = max(found * (1.0 - found), 1e-12)
            told = min(max(squares - found * found + unknown[e] * label, _LEAST_TOLD * label), label)
            # A rare class may be told by none of the samples that were looked at: at most twice the share that it has,
            # and twice the step that takes its class probabilities for labels.
            apart = mean - mixes[c, e]
            most = mixes[c, e] + 2.0 * max(steps[e] * (apart + moved), 0.0)
            by[c, e] = min(steps[e] * (apart + moved * label / told), most)
    for e in range(source):
        sizes[e] += n
    shift_mixes(mixes, sizes, by, per_class)


@compiled_within
def _set_squares(
    proba: FloatArray, inverse: FloatArray, labels: IntArray, first: int, end: int, per_class: FloatArray
) -> None:
    """Set the row `SPARE`: sums of squares of the class probabilities under `MIXTURE`, estimated from some samples."""
    k, step = len(inverse), 1 + (end - first - 1) // _THINNED
    scale = (end - first) / (1 + (end - first - 1) // step)
    ratio, joint = np.empty((1, k)), np.empty(k)
    for c in range(k):
        ratio[0, c] = per_class[MIXTURE, c] * inverse[c]
        per_class[SPARE, c] = 0.0
    for i in range(first, end, step):
        if len(labels) > 0 and labels[i] != UNLABELLED:
            per_class[SPARE, labels[i]] += scale
            continue
        total = 1.0 / _dot(ratio, 0, proba, i, joint)
        for c in range(k):
            r = ratio[0, c] * proba[i, c] * total
            per_class[SPARE, c] += scale * r * r


@compiled_within
def observe_frequencies(
    mixes: FloatArray,
    overlaps: FloatArray,
    sizes: FloatArray,
    weights: FloatArray,
    frequencies: FloatArray,
    per_class: FloatArray,
) -> float:
    """Judge and move the runs by one labelled sample that is split among the classes; returns its log-likelihood."""
    k, m = mixes.shape
    logs, by = np.zeros(m), np.empty((k, m))
    for c in range(k):
        for e in range(m):
            logs[e] += frequencies[c] * np.log(mixes[c, e])
            by[c, e] = (frequencies[c] - mixes[c, e]) / (sizes[e] + 1.0 + _PRIOR)
            overlaps[c, e] += (frequencies[c] - overlaps[c, e]) / (sizes[e] + 1.0)
            overlaps[k + c, e] += (frequencies[c] - overlaps[k + c, e]) / (sizes[e] + 1.0)
    found = judge_runs(weights, logs)
    for e in range(m):
        sizes[e] += 1.0
    shift_mixes(mixes, sizes, by, per_class)
    return found


@compiled_within
def correct_counts(
    mixes: FloatArray,
    overlaps: FloatArray,
    sizes: FloatArray,
    holds: FloatArray,
    told: FloatArray,
    per_class: FloatArray,
) -> None:
    """Let labels take the place of as many average samples, in the runs that hold theirs; see `correct_scores`."""
    k, m = mixes.shape
    by, n = np.empty((k, m)), told.sum()
    for c in range(k):
        for e in range(m):
            part = holds[e] * min(n / max(sizes[e], 1.0), 1.0)
            overlaps[c, e] += part * (told[c] / n - overlaps[c, e])
            overlaps[k + c, e] += part * (told[c] / n - overlaps[k + c, e])
            by[c, e] = holds[e] * (told[c] - n * mixes[c, e]) / (sizes[e] + _PRIOR)
    shift_mixes(mixes, sizes, by, per_class)
