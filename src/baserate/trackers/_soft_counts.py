"""Compiled work of the likelihood mixture on batches: how likely their samples are, of which class, for many keys."""

import numpy as np

from baserate.compiled import compiled
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.trackers._experts import doubted_more, excused, judge, mean, plays, recognise, remember, say, share

_BLOCK = 10  # likelihoods multiplied between logarithms; each is between about 1e-20 and 1 / (least source prior)


@compiled
def _likelihoods(
    mixes: FloatArray, proba: FloatArray, source_prior: FloatArray, labels: IntArray, each: FloatArray
) -> FloatArray:
    """(m,) log-likelihood of a batch under each expert; row i of `each`, if it has rows, becomes that of sample i."""
    k, m = mixes.shape
    logs, product, likely, inverse = np.zeros(m), np.ones(m), np.empty(m), 1.0 / source_prior
    for i in range(len(proba)):
        label = labels[i] if len(labels) > 0 else UNLABELLED
        if label == UNLABELLED:
            likely[:] = 0.0
            # Four classes at a time, because reading and writing `likely` takes longer than the sums.
            for c in range(0, k - 3, 4):
                a, b = proba[i, c] * inverse[c], proba[i, c + 1] * inverse[c + 1]
                d, f = proba[i, c + 2] * inverse[c + 2], proba[i, c + 3] * inverse[c + 3]
                for e in range(m):
                    likely[e] += (a * mixes[c, e] + b * mixes[c + 1, e]) + (d * mixes[c + 2, e] + f * mixes[c + 3, e])
            for c in range(k - k % 4, k):
                a = proba[i, c] * inverse[c]
                for e in range(m):
                    likely[e] += a * mixes[c, e]
        else:
            for e in range(m):
                likely[e] = mixes[label, e]
        for e in range(m):
            product[e] *= likely[e]
        if len(each) > 0:
            each[i] = np.log(likely)
        if i % _BLOCK == _BLOCK - 1 or i == len(proba) - 1:
            for e in range(m):
                logs[e] += np.log(product[e])
                product[e] = 1.0
    return logs


@compiled
def posterior(ratio: FloatArray, proba: FloatArray, out: FloatArray) -> None:
    """What one sample is, where `ratio` is the class mix over the source's."""
    total = 0.0
    for c in range(len(ratio)):
        out[c] = ratio[c] * proba[c]
        total += out[c]
    total = 1.0 / total
    for c in range(len(ratio)):
        out[c] *= total


@compiled
def _soft_counts(ratio: FloatArray, proba: FloatArray, labels: IntArray) -> FloatArray:
    """(k,) how many samples of each class a batch has, where `ratio` is the class mix over the source's."""
    k = len(ratio)
    found, one = np.zeros(k), np.empty(k)
    for i in range(len(proba)):
        label = labels[i] if len(labels) > 0 else UNLABELLED
        if label == UNLABELLED:
            posterior(ratio, proba[i], one)
            for c in range(k):
                found[c] += one[c]
        else:
            found[label] += 1.0
    return found


@compiled
def look(
    mixes: FloatArray,
    counts: FloatArray,
    weights: FloatArray,
    trust: FloatArray,
    slack: FloatArray,
    proba: FloatArray,
    source_prior: FloatArray,
    labels: IntArray,
) -> FloatArray:
    """(k, m) what each expert is judged by in a batch."""
    if slack.max() == 0.0:
        return mixes
    weight, together = say(weights, trust), np.empty(len(mixes))
    mean(mixes, weight, together)
    return excused(mixes, counts, weight, slack, _soft_counts(together / source_prior, proba, labels))


@compiled
def weigh(
    mixes: FloatArray,
    judged: FloatArray,
    weights: FloatArray,
    trust: FloatArray,
    doubt: float,
    proba: FloatArray,
    source_prior: FloatArray,
    labels: IntArray,
) -> tuple[float, FloatArray, FloatArray]:
    """Judge the experts by a batch, in place; gives the doubt after it, and their weights and class mix together."""
    logs = _likelihoods(judged, proba, source_prior, labels, np.empty((0, 0)))
    doubt = doubted_more(doubt, say(weights, trust), logs)
    judge(weights, trust, logs)
    weight, together = say(weights, trust), np.empty(len(mixes))
    mean(mixes, weight, together)
    return doubt, weight, together


@compiled
def _predict(
    birth: FloatArray, mixes: FloatArray, weights: FloatArray, trust: FloatArray, seen: int, out: FloatArray
) -> None:
    if seen == 0:
        out[:] = birth
    else:
        mean(mixes, say(weights, trust), out)


@compiled
def predict(
    births: FloatArray, counts: FloatArray, weights: FloatArray, trust: FloatArray, rounds: IntArray, rows: IntArray
) -> FloatArray:
    """Predictions of some keys; of a key that has seen nothing, its birth value to the last bit."""
    out = np.empty((len(rows), births.shape[1]))
    for j in range(len(rows)):
        row = rows[j]
        mixes = plays(births[row], counts[row])
        _predict(births[row], mixes, weights[row], trust[row], rounds[row, 0], out[j])
    return out


@compiled
def take_in(
    births: FloatArray,
    counts: FloatArray,
    weights: FloatArray,
    trust: FloatArray,
    doubted: FloatArray,
    doubt: FloatArray,
    made: IntArray,
    rounds: IntArray,
    rows: IntArray,
    slack: FloatArray,
    proba: FloatArray,
    source_prior: FloatArray,
    labels: IntArray,
    starts: IntArray,
    played: FloatArray,
) -> None:
    """Take in a batch for each of some keys, in order; `labels` has no entries where none is known.

    Row j of `played`, if it has rows, becomes what is predicted before batch j.
    """
    for j in range(len(rows)):
        row, begin, end = rows[j], starts[j], starts[j + 1]
        mixes, t = plays(births[row], counts[row]), rounds[row, 0] + 1
        if len(played) > 0:
            _predict(births[row], mixes, weights[row], trust[row], t - 1, played[j])
        if begin == end:
            continue
        batch, known = proba[begin:end], labels[begin:end] if len(labels) > 0 else labels
        judged = look(mixes, counts[row], weights[row], trust[row], slack, batch, source_prior, known)
        doubt[row], weight, together = weigh(
            mixes, judged, weights[row], trust[row], doubt[row], batch, source_prior, known
        )
        # The experts that foresaw the batch know best what its samples are.
        found = _soft_counts(together / source_prior, batch, known)
        remember(counts[row], found)
        doubt[row], rounds[row, 1] = recognise(
            counts[row], weight, doubted[row], doubt[row], made[row], rounds[row, 1], t, found
        )
        rounds[row, 0] = t
        share(weights[row], trust[row], made[row], t)


@compiled
def take_in_frequencies(
    births: FloatArray,
    counts: FloatArray,
    weights: FloatArray,
    trust: FloatArray,
    doubted: FloatArray,
    doubt: FloatArray,
    made: IntArray,
    rounds: IntArray,
    rows: IntArray,
    slack: FloatArray,
    frequencies: FloatArray,
) -> None:
    """Take in class frequencies, one row for each of some keys, as if of one labelled sample cut into pieces."""
    for j in range(len(rows)):
        row, logs = rows[j], np.zeros(counts.shape[2])
        mixes, t = plays(births[row], counts[row]), rounds[row, 0] + 1
        judged = excused(mixes, counts[row], say(weights[row], trust[row]), slack, frequencies[j])
        for c in range(judged.shape[0]):
            for e in range(judged.shape[1]):
                logs[e] += frequencies[j, c] * np.log(judged[c, e])
        doubt[row] = doubted_more(doubt[row], say(weights[row], trust[row]), logs)
        judge(weights[row], trust[row], logs)
        remember(counts[row], frequencies[j])
        doubt[row], rounds[row, 1] = recognise(
            counts[row],
            say(weights[row], trust[row]),
            doubted[row],
            doubt[row],
            made[row],
            rounds[row, 1],
            t,
            frequencies[j],
        )
        rounds[row, 0] = t
        share(weights[row], trust[row], made[row], t)


@compiled
def predict_left_out(
    birth: FloatArray,
    counts: FloatArray,
    weights: FloatArray,
    trust: FloatArray,
    made: IntArray,
    seen: int,
    slack: FloatArray,
    proba: FloatArray,
    source_prior: FloatArray,
) -> FloatArray:
    """For each of n >= 2 samples, what is predicted after a batch of the others; recalled mixes stay as they are.

    The others are counted under the mix from before the batch: what sample i says about the experts must not come back
    to it by way of what the others are.
    """
    n, k = proba.shape
    m, unknown = counts.shape[1], np.empty(0, dtype=np.int64)
    mixes, each, together = plays(birth, counts), np.empty((n, m)), np.empty(k)
    judged = excused(mixes, counts, say(weights, trust), slack, np.zeros(k))
    logs = _likelihoods(judged, proba, source_prior, unknown, each)
    mean(mixes, say(weights, trust), together)
    ratio = together / source_prior
    found = _soft_counts(ratio, proba, unknown)
    out, one = np.empty((n, k)), np.empty(k)
    for i in range(n):
        posterior(ratio, proba[i], one)
        for c in range(k):
            one[c] = max(found[c] - one[c], 0.0)
        then_counts, then_weights, then_trust = counts.copy(), weights.copy(), trust.copy()
        judge(then_weights, then_trust, logs - each[i])
        remember(then_counts, one)
        share(then_weights, then_trust, made, seen + 1)
        mean(plays(birth, then_counts), say(then_weights, then_trust), out[i])
    return out
