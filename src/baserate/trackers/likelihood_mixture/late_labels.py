"""Corrections of the likelihood mixture when labels arrive rounds later (compiled)."""

import numpy as np

from baserate.compiled import compiled
from baserate.protocols import FloatArray, IntArray
from baserate.trackers.likelihood_mixture.batch_update import judge_by_margin, judge_experts, posterior
from baserate.trackers.likelihood_mixture.experts import (
    COUNTED,
    EXPERTS,
    FIRST_RECALLED,
    KEPT,
    MEMORIES,
    MIXTURE,
    RECALLED,
    SWITCHING_RATES,
    load_key,
    make_tables,
)


@compiled
def record_round(
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
    """Return the mixes that experts are judged by, the mix that samples are counted by, and recalled mixes' shares."""
    mixes, per_expert, per_class = make_tables(len(birth))
    logs, inverse, n = np.empty(EXPERTS), 1.0 / source_prior, len(proba)
    load_key(birth, counts, weights, trust, mixes, per_expert, per_class)
    judge_by_margin(counts, margin, proba, inverse, labels, 0, n, mixes, per_expert, per_class)
    judged = mixes.copy()
    judge_experts(weights.copy(), trust.copy(), doubt, proba, inverse, labels, 0, n, mixes, per_expert, per_class, logs)
    return judged, per_class[MIXTURE].copy(), per_expert[COUNTED, FIRST_RECALLED:].copy()


@compiled
def _remaining_share(t: int, now: int, shares: FloatArray, made: IntArray) -> FloatArray:
    """Return the share of a sample of round t that is left in each expert's counts after round `now`, (m,)."""
    held = np.zeros(EXPERTS)
    for e in range(MEMORIES):
        held[e] = KEPT[e] ** (now - t)
    for r in range(RECALLED):
        first, last = made[r]
        if 0 < last < t:
            held[FIRST_RECALLED + r] = shares[r]
        elif first <= t <= last:
            held[FIRST_RECALLED + r] = 1.0
    return held


@compiled
def _correct_weights(
    weights: FloatArray, trust: FloatArray, made: IntArray, t: int, now: int, logs: FloatArray
) -> None:
    """Replace the likelihood of some samples of round t by that of their labels in today's weights.

    The best expert of round t is assumed to be still the best one with the probability that there was no switch since,
    at the largest switching rate, the most cautious one; otherwise the labels say nothing about today. (With the
    probability under each rate, labels that were 20 rounds late did harm: they overruled the rounds since, in which
    another expert had often taken over.) It is one event for all samples of the round: sample by sample, ten labels
    from before a jump would outvote all rounds since. A recalled mix that was made since is not changed.

    Parameters
    ----------
    logs : (m,) array
        Log-likelihood of the labels under each expert, minus that of the unlabelled samples.
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
    stays = (1.0 - SWITCHING_RATES.max()) ** (now - t + 1)
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
    mixture: FloatArray,
    shares: FloatArray,
    source_prior: FloatArray,
    proba: FloatArray,
    labels: IntArray,
) -> None:
    """Replace the class probabilities of some samples of round t by their labels, in counts and weights."""
    k = len(mixture)
    now, since, guess = rounds[0], rounds[1], np.empty(k)
    held, logs = _remaining_share(t, now, shares, made), np.zeros(EXPERTS)
    for i in range(len(labels)):
        posterior(mixture / source_prior, proba[i], guess)
        guessed = np.zeros(EXPERTS)
        for c in range(k):
            more = (1.0 if c == labels[i] else 0.0) - guess[c]
            for e in range(EXPERTS):
                # A negative count could only be rounding.
                counts[c, e] = max(counts[c, e] + held[e] * more, 0.0)
                guessed[e] += mixes[c, e] * proba[i, c] / source_prior[c]
            if since <= t:
                doubted[c] = max(doubted[c] + more, 0.0)
        for e in range(EXPERTS):
            logs[e] += np.log(mixes[labels[i], e] / guessed[e])
    _correct_weights(weights, trust, made, t, now, logs)
