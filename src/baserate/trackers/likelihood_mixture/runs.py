"""Runs of the likelihood mixture: experts that start at different rounds and forget nothing since (compiled).

A run plays (nearly) the class mix that is likeliest given all samples since its start: see `scoring`.
Runs are the last, contiguous axis of every array, as in `experts`; the last of them is not a run, but the birth value.
"""

import numpy as np

from baserate.compiled import compiled_within
from baserate.protocols import FloatArray, IntArray
from baserate.trackers.likelihood_mixture.experts import BIRTH, JUDGED, KNOWN, MIXTURE

FULL = 32
"""Largest number of classes for which every run keeps how well it tells each pair of classes apart."""
LANES = 8
"""Seven runs and the birth value: as many as fit into one vector register of common processors."""
FEW_LANES = 3
"""Two runs and the birth value, for more classes than that."""

_HAZARD = 0.05  # a run of age a ends in a round with probability _HAZARD / (a + 1)
_RETURNS = 0.25  # then the mix is the birth value again with this probability, and else a new one
_YOUNG = 10.0  # samples that the youngest run must have before the next one starts
_SPARED = 0.003  # weight that a run has at least when it is decided which one to drop
_FARTHEST = 1e12  # a mix is not moved by more, before it is normalised
_ARM_CHANGES = 0.00003  # probability per round that the other of mixture and runs becomes the better one


@compiled_within
def open_round(
    mixes: FloatArray, sizes: FloatArray, began: IntArray, weights: FloatArray, per_class: FloatArray, t: int
) -> None:
    """Allow for a change of the class mix in round t: every run may end, and a new one starts.

    The hazard falls with a run's age, so that what a lasting mix loses to others in all rounds is bounded by a power of
    the number of rounds. If every lane is taken, the run goes whose weight and distance from its neighbours, in parts
    of its age, are smallest; the next younger one gets its weight.
    """
    source = len(sizes) - 1
    ended, youngest, free = weights[source] * _HAZARD / (t + 1.0), 0, -1
    weights[source] -= ended
    for e in range(source):
        if began[e] == 0:
            free = e
            continue
        ending = weights[e] * _HAZARD / (t - began[e] + 1.0)
        weights[e] -= ending
        ended += ending
        if began[e] > began[youngest]:
            youngest = e
    if began[youngest] == 0 or sizes[youngest] >= _YOUNG:
        if free < 0:
            free = _least_needed(began, weights, t, source)
            younger = -1
            for e in range(source):
                if began[e] > began[free] and (younger < 0 or began[e] < began[younger]):
                    younger = e
            if younger >= 0:
                weights[younger] += weights[free]
            else:
                ended += weights[free]
            weights[free] = 0.0
        youngest = free
        sizes[youngest] = 0.0
        for c in range(len(mixes)):
            mixes[c, youngest] = 0.5 * per_class[BIRTH, c] + 0.5 / len(mixes)
    if sizes[youngest] == 0.0:
        began[youngest] = t
    if t == 1:
        weights[source] = weights[youngest] = 0.5
        return
    weights[source] += _RETURNS * ended
    weights[youngest] += (1.0 - _RETURNS) * ended


@compiled_within
def _least_needed(began: IntArray, weights: FloatArray, t: int, source: int) -> int:
    """Return the lane of the run that is dropped for a new one."""
    least, found = np.inf, 0
    for e in range(source):
        older, younger = 0, t
        for other in range(source):
            if began[other] < began[e]:
                older = max(older, began[other])
            elif began[other] > began[e]:
                younger = min(younger, began[other])
        needed = (weights[e] + _SPARED) * (younger - older) / (t - began[e] + 1.0)
        if needed < least:
            least, found = needed, e
    return found


@compiled_within
def set_judged(judged: FloatArray, mixes: FloatArray, per_class: FloatArray) -> None:
    """Let the birth value's lane be judged by the mix that the expert of the birth value is judged by."""
    source = mixes.shape[1] - 1
    for c in range(len(mixes)):
        per_class[JUDGED, c] = judged[c, KNOWN]
        mixes[c, source] = judged[c, KNOWN]


@compiled_within
def restore_birth(mixes: FloatArray, per_class: FloatArray) -> None:
    """Let the birth value's lane play the birth value."""
    source = mixes.shape[1] - 1
    for c in range(len(mixes)):
        mixes[c, source] = per_class[BIRTH, c]


@compiled_within
def judge_runs(weights: FloatArray, logs: FloatArray) -> float:
    """Apply Bayes' rule to the runs by their log-likelihoods; returns that of the samples under the runs' mean."""
    top, total = -np.inf, 0.0
    for e in range(len(weights)):
        if weights[e] > 0.0:
            top = max(top, logs[e])
    for e in range(len(weights)):
        weights[e] *= np.exp(min(logs[e] - top, 0.0))
        total += weights[e]
    for e in range(len(weights)):
        weights[e] /= total
    return float(np.log(total)) + top


@compiled_within
def shift_mixes(mixes: FloatArray, sizes: FloatArray, by: FloatArray, per_class: FloatArray) -> None:
    """Add differences, (k, m), to the mixes of the runs, which stay positive: a fall is damped near zero.

    Every class keeps half a sample's worth of the mix that the run was born with. The birth value's lane stays.
    """
    k, m = mixes.shape
    source = m - 1
    for c in range(k):
        birth = 0.25 * per_class[BIRTH, c] + 0.25 / k
        for e in range(m):
            q, more = mixes[c, e], by[c, e]
            # Only a state that no samples lead to makes it as large, or not a number.
            moved = max(q + more, 0.1 * q) if abs(more) < _FARTHEST else q
            mixes[c, e] = max(moved, birth / (sizes[e] + 1.0))
    for e in range(source):
        total = 0.0
        for c in range(k):
            total += mixes[c, e]
        total = 1.0 / total
        for c in range(k):
            mixes[c, e] *= total
    for c in range(k):
        mixes[c, source] = per_class[JUDGED, c]
    sizes[source] = 0.0


@compiled_within
def average_runs(mixes: FloatArray, weights: FloatArray, arms: FloatArray, per_class: FloatArray) -> None:
    """Replace the row `MIXTURE` by its mean with the runs' weighted mean, by the weights of these two arms."""
    total, source = 0.0, len(weights) - 1
    for c in range(len(mixes)):
        mean = weights[source] * per_class[BIRTH, c]
        for e in range(source):
            mean += weights[e] * mixes[c, e]
        per_class[MIXTURE, c] = arms[0] * per_class[MIXTURE, c] + arms[1] * mean
        total += per_class[MIXTURE, c]
    for c in range(len(mixes)):
        per_class[MIXTURE, c] /= total


@compiled_within
def weigh_arms(arms: FloatArray, mixture: float, runs: float) -> float:
    """Apply Bayes' rule to the mixture and the runs by the log-likelihoods of a batch; returns that under both."""
    top = max(mixture, runs)
    found = top + np.log(arms[0] * np.exp(mixture - top) + arms[1] * np.exp(runs - top))
    arms[1] /= arms[1] + arms[0] * np.exp(min(max(mixture - runs, -700.0), 700.0))
    arms[0] = 1.0 - arms[1]
    return float(found)


@compiled_within
def share_arms(arms: FloatArray) -> None:
    """Allow for a change of the better arm."""
    arms[1] += _ARM_CHANGES * (0.5 - arms[1])
    arms[0] = 1.0 - arms[1]
