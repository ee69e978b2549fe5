"""Corrections of the likelihood mixture when labels arrive rounds later (compiled)."""

import numpy as np

from baserate.compiled import compiled
from baserate.protocols import FloatArray, IntArray
from baserate.trackers.likelihood_mixture.diagonal import correct_counts
from baserate.trackers.likelihood_mixture.experts import (
    BIRTH,
    EXPERTS,
    FIRST_RECALLED,
    JUDGED,
    KEPT,
    MEMORIES,
    RECALLED,
    SWITCHING_RATES,
    make_tables,
    set_birth,
)
from baserate.trackers.likelihood_mixture.likelihoods import posterior
from baserate.trackers.likelihood_mixture.runs import FULL
from baserate.trackers.likelihood_mixture.scoring import correct_scores
from baserate.trackers.likelihood_mixture.state import Note, State


def read_record(record: FloatArray, t: int, source_prior: FloatArray) -> Note:
    """Return the record of round t that `batch_update.update` has written, as a note."""
    judged, run_mixes, mixture = np.split(record[:-1], [EXPERTS, record.shape[1] - 1], axis=1)
    shares = record[-1, FIRST_RECALLED:EXPERTS]
    return Note(
        t,
        np.ascontiguousarray(judged),
        np.ascontiguousarray(mixture[:, 0]),
        shares.copy(),
        np.ascontiguousarray(run_mixes),
        source_prior,
    )


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
) -> float:
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

    Returns
    -------
    float
        The same under the weighted experts.
    """
    asked = np.zeros(EXPERTS, dtype=np.bool_)
    top = -np.inf
    for e in range(EXPERTS):
        asked[e] = e < FIRST_RECALLED or 0 < made[e - FIRST_RECALLED, 1] < t
        if asked[e]:
            top = max(top, logs[e])
    if top == -np.inf:
        return top
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
    return float(np.log(mean)) + top


@compiled
def _correct_run_weights(
    weights: FloatArray, arms: FloatArray, began: IntArray, t: int, now: int, logs: FloatArray, by_experts: float
) -> None:
    """Do the same for the weights of runs that held the samples, of the birth value, and of the two arms."""
    source, top = len(weights) - 1, -np.inf
    asked = np.zeros(len(weights), dtype=np.bool_)
    for e in range(source + 1):
        # Large batches leave some without weight until the next round.
        asked[e] = (e == source or 0 < began[e] <= t) and weights[e] > 0.0
        if asked[e]:
            top = max(top, logs[e])
    if top == -np.inf or by_experts == -np.inf:
        return
    likely, total, stays = 0.0, 0.0, (1.0 - SWITCHING_RATES.max()) ** (now - t + 1)
    for e in range(source + 1):
        if asked[e]:
            likely += weights[e] * np.exp(logs[e] - top)
            total += weights[e]
    mean = likely / total
    for e in range(source + 1):
        if asked[e]:
            told = weights[e] * np.exp(logs[e] - top) / likely * total
            weights[e] = (1.0 - stays) * weights[e] + stays * told
    ahead = np.exp(min(max(np.log(mean) + top - by_experts, -700.0), 700.0))
    arms[1] *= 1.0 - stays + stays * ahead / (arms[0] + arms[1] * ahead)
    arms[0] = 1.0 - arms[1]


def correct_round(state: State, note: Note, proba: FloatArray, labels: IntArray) -> None:
    """Replace the class probabilities of some samples of a round by their labels, in the state of one key."""
    if len(labels) == 0:
        return
    s, note = state, Note(*note)  # out of a file it comes as a list
    _correct(
        s.births, s.counts, s.weights, s.trust, s.doubted, s.made, s.rounds,
        s.run_mixes, s.overlaps, s.sizes, s.began, s.run_weights, s.arms,
        note.t, note.mixes, note.mixture, note.shares, note.run_mixes, note.source_prior, proba, labels,
    )  # fmt: skip


@compiled
def _correct(
    birth: FloatArray,
    counts: FloatArray,
    weights: FloatArray,
    trust: FloatArray,
    doubted: FloatArray,
    made: IntArray,
    rounds: IntArray,
    run_mixes: FloatArray,
    overlaps: FloatArray,
    sizes: FloatArray,
    began: IntArray,
    run_weights: FloatArray,
    arms: FloatArray,
    t: int,
    mixes: FloatArray,
    mixture: FloatArray,
    shares: FloatArray,
    run_mixes_then: FloatArray,
    source_prior: FloatArray,
    proba: FloatArray,
    labels: IntArray,
) -> None:
    """Replace the class probabilities of some samples of round t by their labels, in counts, runs and weights."""
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
    by_experts = _correct_weights(weights, trust, made, t, now, logs)
    if len(sizes) == 0:
        return
    run_logs = np.zeros(len(sizes))
    for i in range(len(labels)):
        row = proba[i] / source_prior
        for e in range(len(sizes)):
            run_logs[e] += np.log(run_mixes_then[labels[i], e] / (run_mixes_then[:, e] * row).sum())
    _correct_run_weights(run_weights, arms, began, t, now, run_logs, by_experts)
    _correct_runs(run_mixes, overlaps, sizes, began, birth, t, source_prior, proba, labels)


@compiled
def _correct_runs(
    mixes: FloatArray,
    overlaps: FloatArray,
    sizes: FloatArray,
    began: IntArray,
    birth: FloatArray,
    t: int,
    source_prior: FloatArray,
    proba: FloatArray,
    labels: IntArray,
) -> None:
    """Replace the class probabilities of some samples of round t by their labels, in the runs that hold them."""
    k, m = mixes.shape
    _, _, per_class = make_tables(k)
    set_birth(birth, per_class)
    per_class[JUDGED] = per_class[BIRTH]
    holds, told = np.zeros(m), np.zeros(k)
    for e in range(m - 1):
        holds[e] = 1.0 if 0 < began[e] <= t else 0.0
    for i in range(len(labels)):
        told[labels[i]] += 1.0
    if k <= FULL:
        correct_scores(mixes, overlaps, sizes, holds, told, proba, 1.0 / source_prior, per_class)
    else:
        correct_counts(mixes, overlaps, sizes, holds, told, per_class)
