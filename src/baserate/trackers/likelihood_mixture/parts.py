"""Batches as runs see them: in parts of growing length (compiled)."""

import numpy as np

from baserate.compiled import compiled_part
from baserate.protocols import FloatArray, IntArray
from baserate.trackers.likelihood_mixture import newborn, scoring
from baserate.trackers.likelihood_mixture.runs import judge_runs

_FIRST_PART = 10  # samples in the first part of a batch; every part is four times as long as the one before
_NOTICED = 0.001  # weight of a new run from which its first batch is worth several steps


@compiled_part
def observe(
    mixes: FloatArray,
    overlaps: FloatArray,
    sizes: FloatArray,
    weights: FloatArray,
    proba: FloatArray,
    inverse: FloatArray,
    labels: IntArray,
    first: int,
    end: int,
    per_class: FloatArray,
    s: FloatArray,
) -> float:
    """Judge the runs by the samples `first` to `end`, and move them; returns the samples' log-likelihood.

    A batch is taken in parts of growing length, so that a run can show by the later parts what it has learned from the
    earlier ones. If there are several, a run that begins with the batch is then judged by the whole.
    """
    k, source, total, start, size = len(mixes), len(sizes) - 1, 0.0, first, _FIRST_PART
    new, born = source, 0.0  # stands for none
    for e in range(source):
        if sizes[e] == 0.0 and weights[e] > 0.0:
            new, born = e, weights[e]
    while start < end:
        stop = min(start + size, end)
        if end - stop < size // 2:
            stop = end
        step = 1 + (stop - start - 1) // scoring.THINNED
        scoring.take_sums(mixes, proba, inverse, labels, start, stop, step, s)
        total += judge_runs(weights, s[scoring.LOG])
        n = float(stop - start)
        scoring.learn_resolution(overlaps, sizes, n, 1 + (stop - start - 1) // step, k, s)
        scoring.move(mixes, overlaps, sizes, n, n, scoring.CAUTION, per_class, s)
        start, size = stop, 4 * size
    if new == source or end - first <= _FIRST_PART:
        return total
    others = total + np.log(max(1.0 - weights[new], 1e-300))
    before = total + np.log(max(weights[new], 1e-300)) - np.log(born)
    found = newborn.solve(
        mixes, overlaps, new, others + np.log(_NOTICED / born), before, proba, inverse, labels, first, end, per_class
    )
    if found == -np.inf:
        return total
    for e in range(source + 1):
        s[scoring.LOG, e] = total
    weights[new], s[scoring.LOG, new] = born, max(found, before)
    return judge_runs(weights, s[scoring.LOG])
