"""Compiled work of the likelihood mixture on labels that come late: what a round knew, and what a label changes."""

import numpy as np

from baserate.compiled import compiled
from baserate.protocols import FloatArray, IntArray
from baserate.trackers.likelihood_mixture.experts import (
    EXPERTS,
    FIRST_RECALLED,
    HELD,
    KEPT,
    MEMORIES,
    RECALLED,
    SHARES,
    TOGETHER,
    begin,
    make_room,
)
from baserate.trackers.likelihood_mixture.soft_counts import look, posterior, weigh


@compiled
def note(
    birth: FloatArray,
    counts: FloatArray,
    weights: FloatArray,
    trust: FloatArray,
    doubt: float,
    margin: FloatArray,
    proba: FloatArray,
    source_prior: FloatArray,
    labels: IntArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What the experts are judged by, the mix that samples are counted by, and the known mixes they are counted for."""
    mixes, room, classes = make_room(len(birth))
    logs, inverse, n = np.empty(EXPERTS), 1.0 / source_prior, len(proba)
    begin(birth, counts, weights, trust, mixes, room, classes)
    look(counts, margin, proba, inverse, labels, 0, n, mixes, room, classes)
    judged = mixes.copy()
    weigh(weights.copy(), trust.copy(), doubt, proba, inverse, labels, 0, n, mixes, room, classes, logs)
    return judged, classes[TOGETHER].copy(), room[HELD, FIRST_RECALLED:].copy()


@compiled
def _holds(t: int, now: int, part: FloatArray, made: IntArray) -> FloatArray:
    """(m,) how much of a sample of round t is in each expert's counts after round `now`."""
    held = np.zeros(EXPERTS)
    for e in range(MEMORIES):
        held[e] = KEPT[e] ** (now - t)
    for r in range(RECALLED):
        first, last = made[r]
        if 0 < last < t:
            held[FIRST_RECALLED + r] = part[r]
        elif first <= t <= last:
            held[FIRST_RECALLED + r] = 1.0
    return held


@compiled
def _reweigh(weights: FloatArray, trust: FloatArray, made: IntArray, t: int, now: int, logs: FloatArray) -> None:
    """Put what labels say of the experts of round t in the place of what the samples said, as if it were today.

    The best expert of round t is still the best one with the chance that nothing was dealt out since, of which the
    largest share is the most cautious; otherwise labels from then say nothing of today. (By the chance under each
    share of its own, labels 20 rounds late did harm: the rounds since then, which have often seen another expert take
    over, were not asked.) It is one chance for all samples of the round: sample by sample, ten labels from before a
    jump would outvote all rounds since. A place that another mix has taken since is left alone.

    Parameters
    ----------
    logs : (m,) array
        By how much more the labels are foreseen by each expert than the samples were, as a logarithm.
    """
    asked = np.zeros(EXPERTS, dtype=np.bool_)
    top = -np.inf
    for e in range(EXPERTS):
        asked[e] = e < FIRST_RECALLED or 0 < made[e - FIRST_RECALLED, 1] < t
        if asked[e]:
            top = max(top, logs[e])
    if top == -np.inf:
        return
    means = np.empty(len(trust))
    stays = (1.0 - SHARES.max()) ** (now - t + 1)
    for s in range(len(trust)):
        likely, total = 0.0, 0.0
        for e in range(EXPERTS):
            if asked[e]:
                likely += weights[s, e] * np.exp(logs[e] - top)
                total += weights[s, e]
        means[s] = likely / total
        for e in range(EXPERTS):
            if asked[e]:
                weights[s, e] *= 1.0 - stays + stays * np.exp(logs[e] - top) / means[s]
    mean = (trust * means).sum()
    for s in range(len(trust)):
        trust[s] *= 1.0 - stays + stays * means[s] / mean


@compiled
def correct(
    counts: FloatArray,
    weights: FloatArray,
    trust: FloatArray,
    doubted: FloatArray,
    made: IntArray,
    rounds: IntArray,
    t: int,
    mixes: FloatArray,
    together: FloatArray,
    part: FloatArray,
    source_prior: FloatArray,
    proba: FloatArray,
    labels: IntArray,
) -> None:
    """Count some samples of round t by their labels, and no longer by what they probably were."""
    k = len(together)
    now, since, guess = rounds[0], rounds[1], np.empty(k)
    held, logs = _holds(t, now, part, made), np.zeros(EXPERTS)
    for i in range(len(labels)):
        posterior(together / source_prior, proba[i], guess)
        guessed = np.zeros(EXPERTS)
        for c in range(k):
            more = (1.0 if c == labels[i] else 0.0) - guess[c]
            for e in range(EXPERTS):
                # Below zero only by rounding.
                counts[c, e] = max(counts[c, e] + held[e] * more, 0.0)
                guessed[e] += mixes[c, e] * proba[i, c] / source_prior[c]
            if since <= t:
                doubted[c] = max(doubted[c] + more, 0.0)
        for e in range(EXPERTS):
            logs[e] += np.log(mixes[labels[i], e] / guessed[e])
    _reweigh(weights, trust, made, t, now, logs)
