"""Compiled work of the likelihood mixture: experts that are decayed soft counts, judged by a batch's likelihood.

The experts are the last, contiguous axis of every array, so that the inner loops run over several of them at a time.
"""

import numpy as np

from baserate.compiled import compiled
from baserate.protocols import UNLABELLED, FloatArray, IntArray

LONGEST = (
    21  # the longest finite memory is 2^21 rounds; then there are 24 experts, which processors like better than 23
)
EXPERTS = LONGEST + 3
"""The birth value, memories of 1, 2, 4, ..., 2^21 rounds, and everything ever seen."""
SHARES = np.array([0.2, 0.02, 0.0])
"""How often the best expert may change, as rates per round; zero stands for 1 / t."""

# What is left after a round of what an expert remembers. The first expert remembers nothing, so that it does not matter
# there, and the last one everything.
KEPT = np.concatenate([np.zeros(1), 1.0 - 0.5 ** np.arange(LONGEST + 1), np.ones(1)])

_FLOOR = 1e-6  # a class that the birth value rules out may come all the same
_BLOCK = 8  # likelihoods multiplied between logarithms; each is between about 1e-20 and 1 / (least source prior)


@compiled
def _mixes(birth: FloatArray, counts: FloatArray) -> FloatArray:
    """(k, m) what each expert plays: its counts and one sample's worth of the birth value."""
    k, m = counts.shape
    total = 0.0
    for c in range(k):
        total += max(birth[c], _FLOOR)
    sizes = np.ones(m)
    for c in range(k):
        for e in range(m):
            sizes[e] += counts[c, e]
    mixes = np.empty((k, m))
    for c in range(k):
        pseudo = max(birth[c], _FLOOR) / total
        for e in range(m):
            mixes[c, e] = (counts[c, e] + pseudo) / sizes[e]
    return mixes


@compiled
def _played(weights: FloatArray, trust: FloatArray) -> FloatArray:
    """(m,) the weight of each expert, whatever the share."""
    m = weights.shape[1]
    total = np.zeros(m)
    for s in range(len(trust)):
        for e in range(m):
            total[e] += trust[s] * weights[s, e]
    return total


@compiled
def _mean(mixes: FloatArray, played: FloatArray, out: FloatArray) -> None:
    """The class mix that the experts play together."""
    k, m = mixes.shape
    total = 0.0
    for c in range(k):
        out[c] = 0.0
        for e in range(m):
            out[c] += played[e] * mixes[c, e]
        total += out[c]
    for c in range(k):
        out[c] /= total


@compiled
def _judge(weights: FloatArray, trust: FloatArray, logs: FloatArray) -> None:
    """Bayes' rule for experts, and for shares; `logs` are log-likelihoods up to a constant.

    None of the sums can vanish: a share of each weight, 1 / t or more, was dealt out to all.
    """
    m = len(logs)
    top = logs.max()
    total = 0.0
    for s in range(len(trust)):
        evidence = 0.0
        for e in range(m):
            weights[s, e] *= np.exp(logs[e] - top)
            evidence += weights[s, e]
        for e in range(m):
            weights[s, e] /= evidence
        trust[s] *= evidence
        total += trust[s]
    for s in range(len(trust)):
        trust[s] /= total


@compiled
def _share(weights: FloatArray, trust: FloatArray, t: int) -> None:
    """Another expert, or another share, may be the best one from now on; t rounds were seen."""
    m = weights.shape[1]
    rare = 1.0 / (t + 1.0)
    for s in range(len(trust)):
        share = SHARES[s] if SHARES[s] > 0.0 else rare
        for e in range(m):
            weights[s, e] = (1.0 - share) * weights[s, e] + share / m
        trust[s] = (1.0 - rare) * trust[s] + rare / len(trust)


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
            for c in range(k):
                row = proba[i, c] * inverse[c]
                for e in range(m):
                    likely[e] += row * mixes[c, e]
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
def _posterior(ratio: FloatArray, proba: FloatArray, out: FloatArray) -> None:
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
            _posterior(ratio, proba[i], one)
            for c in range(k):
                found[c] += one[c]
        else:
            found[label] += 1.0
    return found


@compiled
def _remember(counts: FloatArray, found: FloatArray) -> None:
    k, m = counts.shape
    for c in range(k):
        for e in range(1, m):
            counts[c, e] = KEPT[e] * counts[c, e] + found[c]


@compiled
def predict(
    births: FloatArray, counts: FloatArray, weights: FloatArray, trust: FloatArray, seen: IntArray, rows: IntArray
) -> FloatArray:
    """Predictions of some keys; of a key that has seen nothing, its birth value to the last bit."""
    out = np.empty((len(rows), births.shape[1]))
    for j in range(len(rows)):
        row = rows[j]
        if seen[row] == 0:
            out[j] = births[row]
        else:
            _mean(_mixes(births[row], counts[row]), _played(weights[row], trust[row]), out[j])
    return out


@compiled
def take_in(
    births: FloatArray,
    counts: FloatArray,
    weights: FloatArray,
    trust: FloatArray,
    seen: IntArray,
    rows: IntArray,
    proba: FloatArray,
    source_prior: FloatArray,
    labels: IntArray,
    starts: IntArray,
) -> None:
    """Take in a batch for each of some keys; `labels` has no entries where none is known."""
    none, together = np.empty((0, 0)), np.empty(births.shape[1])
    for j in range(len(rows)):
        row, begin, end = rows[j], starts[j], starts[j + 1]
        if begin == end:
            continue
        batch, known = proba[begin:end], labels[begin:end] if len(labels) > 0 else labels
        mixes = _mixes(births[row], counts[row])
        _judge(weights[row], trust[row], _likelihoods(mixes, batch, source_prior, known, none))
        # The experts that foresaw the batch know best what its samples are.
        _mean(mixes, _played(weights[row], trust[row]), together)
        _remember(counts[row], _soft_counts(together / source_prior, batch, known))
        seen[row] += 1
        _share(weights[row], trust[row], seen[row])


@compiled
def take_in_frequencies(
    births: FloatArray,
    counts: FloatArray,
    weights: FloatArray,
    trust: FloatArray,
    seen: IntArray,
    rows: IntArray,
    frequencies: FloatArray,
) -> None:
    """Take in class frequencies, one row for each of some keys, as if of one labelled sample cut into pieces."""
    for j in range(len(rows)):
        row, logs = rows[j], np.zeros(counts.shape[2])
        mixes = _mixes(births[row], counts[row])
        for c in range(mixes.shape[0]):
            for e in range(mixes.shape[1]):
                logs[e] += frequencies[j, c] * np.log(mixes[c, e])
        _judge(weights[row], trust[row], logs)
        _remember(counts[row], frequencies[j])
        seen[row] += 1
        _share(weights[row], trust[row], seen[row])


@compiled
def predict_left_out(
    birth: FloatArray,
    counts: FloatArray,
    weights: FloatArray,
    trust: FloatArray,
    seen: int,
    proba: FloatArray,
    source_prior: FloatArray,
) -> FloatArray:
    """For each of n >= 2 samples, what is predicted after a batch of the others.

    The others are counted under the mix from before the batch: what sample i says about the experts must not come back
    to it by way of what the others are.
    """
    n, k = proba.shape
    m, unknown = counts.shape[1], np.empty(0, dtype=np.int64)
    mixes, each, together = _mixes(birth, counts), np.empty((n, m)), np.empty(k)
    logs = _likelihoods(mixes, proba, source_prior, unknown, each)
    _mean(mixes, _played(weights, trust), together)
    ratio = together / source_prior
    found = _soft_counts(ratio, proba, unknown)
    out, one = np.empty((n, k)), np.empty(k)
    for i in range(n):
        _posterior(ratio, proba[i], one)
        for c in range(k):
            one[c] = max(found[c] - one[c], 0.0)
        then_counts, then_weights, then_trust = counts.copy(), weights.copy(), trust.copy()
        _judge(then_weights, then_trust, logs - each[i])
        _remember(then_counts, one)
        _share(then_weights, then_trust, seen + 1)
        _mean(_mixes(birth, then_counts), _played(then_weights, then_trust), out[i])
    return out
