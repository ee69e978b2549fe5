"""Compiled work of the likelihood mixture on batches: how likely their samples are, of which class, for many keys."""

import numpy as np

from baserate.compiled import compiled, compiled_within
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.trackers.likelihood_mixture.experts import (
    EXPERTS,
    FOUND,
    LIKELY,
    ONE,
    OTHER,
    SPARE,
    TOGETHER,
    begin,
    belongs,
    compare,
    doubted_more,
    end_tolerance,
    judge,
    make_room,
    mean,
    recognise,
    remember,
    share,
    tolerate,
)

_BLOCK = 10  # likelihoods multiplied between looks at the product; each is between 1e-20 and 1 / (least source prior)
_FAR = 1e100  # from 1: a product that goes on from there for one block is still a number


@compiled_within
def _likelihood(
    mixes: FloatArray, proba: FloatArray, inverse: FloatArray, labels: IntArray, i: int, out: FloatArray, row: int
) -> None:
    """Make a row of `out` the likelihood of sample i under each expert; `inverse` is 1 / source prior."""
    k, m = mixes.shape
    label = labels[i] if len(labels) > 0 else UNLABELLED
    if label != UNLABELLED:
        for e in range(m):
            out[row, e] = mixes[label, e]
        return
    for e in range(m):
        out[row, e] = 0.0
    # Four classes at a time, because reading and writing `out` takes longer than the sums.
    for c in range(0, k - 3, 4):
        a, b = proba[i, c] * inverse[c], proba[i, c + 1] * inverse[c + 1]
        d, f = proba[i, c + 2] * inverse[c + 2], proba[i, c + 3] * inverse[c + 3]
        for e in range(m):
            out[row, e] += (a * mixes[c, e] + b * mixes[c + 1, e]) + (d * mixes[c + 2, e] + f * mixes[c + 3, e])
    for c in range(k - k % 4, k):
        a = proba[i, c] * inverse[c]
        for e in range(m):
            out[row, e] += a * mixes[c, e]


@compiled_within
def _two_likelihoods(mixes: FloatArray, proba: FloatArray, inverse: FloatArray, i: int, room: FloatArray) -> None:
    """The same for the samples i and i + 1, of unknown classes: what the experts play is read once for both."""
    k, m = mixes.shape
    for e in range(m):
        room[ONE, e] = room[OTHER, e] = 0.0
    for c in range(0, k - 3, 4):
        a, b = proba[i, c] * inverse[c], proba[i, c + 1] * inverse[c + 1]
        d, f = proba[i, c + 2] * inverse[c + 2], proba[i, c + 3] * inverse[c + 3]
        o, p = proba[i + 1, c] * inverse[c], proba[i + 1, c + 1] * inverse[c + 1]
        q, r = proba[i + 1, c + 2] * inverse[c + 2], proba[i + 1, c + 3] * inverse[c + 3]
        for e in range(m):
            room[ONE, e] += (a * mixes[c, e] + b * mixes[c + 1, e]) + (d * mixes[c + 2, e] + f * mixes[c + 3, e])
            room[OTHER, e] += (o * mixes[c, e] + p * mixes[c + 1, e]) + (q * mixes[c + 2, e] + r * mixes[c + 3, e])
    for c in range(k - k % 4, k):
        a, o = proba[i, c] * inverse[c], proba[i + 1, c] * inverse[c]
        for e in range(m):
            room[ONE, e] += a * mixes[c, e]
            room[OTHER, e] += o * mixes[c, e]


@compiled_within
def _likelihoods(
    proba: FloatArray,
    inverse: FloatArray,
    labels: IntArray,
    first: int,
    end: int,
    mixes: FloatArray,
    room: FloatArray,
    logs: FloatArray,
) -> None:
    """Likelihood of the samples `first` to `end` together under each expert, up to a factor.

    Few likelihoods can be multiplied as they are; the products of more are added up in `logs`.
    """
    m, many = mixes.shape[1], end - first > _BLOCK
    for e in range(m):
        room[LIKELY, e], logs[e] = 1.0, 0.0
    for start in range(first, end, _BLOCK):
        stop = min(start + _BLOCK, end)
        pairs = stop - (stop - start) % 2 if len(labels) == 0 else start
        for i in range(start, pairs, 2):
            _two_likelihoods(mixes, proba, inverse, i, room)
            for e in range(m):
                room[LIKELY, e] = room[LIKELY, e] * room[ONE, e] * room[OTHER, e]  # in the order of single samples
        for i in range(pairs, stop):
            _likelihood(mixes, proba, inverse, labels, i, room, ONE)
            for e in range(m):
                room[LIKELY, e] *= room[ONE, e]
        if many:
            far = stop == end
            for e in range(m):
                far |= (room[LIKELY, e] < 1.0 / _FAR) | (room[LIKELY, e] > _FAR)
            if far:
                for e in range(m):
                    logs[e] += np.log(room[LIKELY, e])
                    room[LIKELY, e] = 1.0
    if many:
        compare(logs, room)


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


@compiled_within
def _count(proba: FloatArray, inverse: FloatArray, labels: IntArray, first: int, end: int, classes: FloatArray) -> None:
    """How many samples of each class there are from `first` to `end`, under the mix that the experts play together."""
    k = len(inverse)
    for c in range(k):
        classes[SPARE, c] = classes[TOGETHER, c] * inverse[c]
        classes[FOUND, c] = 0.0
    for i in range(first, end):
        if len(labels) == 0 or labels[i] == UNLABELLED:
            total = 0.0
            for c in range(k):
                total += classes[SPARE, c] * proba[i, c]
            total = 1.0 / total
            for c in range(k):
                classes[FOUND, c] += classes[SPARE, c] * proba[i, c] * total
        else:
            classes[FOUND, labels[i]] += 1.0


@compiled_within
def look(
    counts: FloatArray,
    margin: FloatArray,
    proba: FloatArray,
    inverse: FloatArray,
    labels: IntArray,
    first: int,
    end: int,
    mixes: FloatArray,
    room: FloatArray,
    classes: FloatArray,
) -> None:
    """Put what each expert is judged by in a batch in the place of what it plays."""
    if margin.max() > 0.0:
        mean(mixes, room, classes)
        _count(proba, inverse, labels, first, end, classes)
        tolerate(counts, margin, mixes, room, classes)


@compiled_within
def weigh(
    weights: FloatArray,
    trust: FloatArray,
    doubt: float,
    proba: FloatArray,
    inverse: FloatArray,
    labels: IntArray,
    first: int,
    end: int,
    mixes: FloatArray,
    room: FloatArray,
    classes: FloatArray,
    logs: FloatArray,
) -> float:
    """Judge the experts by a batch, in place; gives the doubt after it. They then play again what they do."""
    _likelihoods(proba, inverse, labels, first, end, mixes, room, logs)
    end_tolerance(mixes, classes)
    doubt = doubted_more(doubt, room)
    judge(weights, trust, room)
    belongs(doubt, room)
    mean(mixes, room, classes)
    return doubt


@compiled_within
def _predict(
    birth: FloatArray, seen: int, mixes: FloatArray, room: FloatArray, classes: FloatArray, out: FloatArray
) -> None:
    """The birth value to the last bit if nothing was seen, else what the experts play together."""
    if seen == 0:
        out[:] = birth
    else:
        mean(mixes, room, classes)
        out[:] = classes[TOGETHER]


@compiled
def predict(
    births: FloatArray, counts: FloatArray, weights: FloatArray, trust: FloatArray, rounds: IntArray, rows: IntArray
) -> FloatArray:
    """Predictions of some keys."""
    out = np.empty((len(rows), births.shape[1]))
    mixes, room, classes = make_room(births.shape[1])
    for j in range(len(rows)):
        row = rows[j]
        begin(births[row], counts[row], weights[row], trust[row], mixes, room, classes)
        _predict(births[row], rounds[row, 0], mixes, room, classes, out[j])
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
    margin: FloatArray,
    proba: FloatArray,
    source_prior: FloatArray,
    labels: IntArray,
    starts: IntArray,
    played: FloatArray,
) -> None:
    """Take in a batch for each of some keys, in order; `labels` has no entries where none is known.

    Row j of `played`, if it has rows, becomes what is predicted before batch j.
    """
    mixes, room, classes = make_room(births.shape[1])
    logs, inverse = np.empty(EXPERTS), 1.0 / source_prior
    for j in range(len(rows)):
        row, first, end = rows[j], starts[j], starts[j + 1]
        begin(births[row], counts[row], weights[row], trust[row], mixes, room, classes)
        if len(played) > 0:
            _predict(births[row], rounds[row, 0], mixes, room, classes, played[j])
        if first == end:
            continue
        t = rounds[row, 0] + 1
        look(counts[row], margin, proba, inverse, labels, first, end, mixes, room, classes)
        now = weigh(
            weights[row], trust[row], doubt[row], proba, inverse, labels, first, end, mixes, room, classes, logs
        )
        # The experts that foresaw the batch know best what its samples are.
        _count(proba, inverse, labels, first, end, classes)
        remember(counts[row], room, classes)
        doubt[row], rounds[row, 1] = recognise(counts[row], doubted[row], now, made[row], rounds[row, 1], t, classes)
        rounds[row, 0] = t
        share(weights[row], trust[row], made[row], t, room)


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
    margin: FloatArray,
    frequencies: FloatArray,
) -> None:
    """Take in class frequencies, one row for each of some keys, as if of one labelled sample cut into pieces."""
    mixes, room, classes = make_room(births.shape[1])
    logs, m = np.empty(EXPERTS), EXPERTS
    for j in range(len(rows)):
        row = rows[j]
        t = rounds[row, 0] + 1
        begin(births[row], counts[row], weights[row], trust[row], mixes, room, classes)
        classes[FOUND] = frequencies[j]
        tolerate(counts[row], margin, mixes, room, classes)
        logs[:] = 0.0
        for c in range(counts.shape[1]):
            for e in range(m):
                logs[e] += frequencies[j, c] * np.log(mixes[c, e])
        compare(logs, room)
        now = doubted_more(doubt[row], room)
        judge(weights[row], trust[row], room)
        belongs(now, room)
        remember(counts[row], room, classes)
        doubt[row], rounds[row, 1] = recognise(counts[row], doubted[row], now, made[row], rounds[row, 1], t, classes)
        rounds[row, 0] = t
        share(weights[row], trust[row], made[row], t, room)


@compiled
def predict_left_out(
    birth: FloatArray,
    counts: FloatArray,
    weights: FloatArray,
    trust: FloatArray,
    made: IntArray,
    seen: int,
    margin: FloatArray,
    proba: FloatArray,
    source_prior: FloatArray,
) -> FloatArray:
    """For each of n >= 2 samples, what is predicted after a batch of the others; recalled mixes stay as they are.

    The others are counted under the mix from before the batch: what sample i says about the experts must not come back
    to it by way of what the others are.
    """
    n, k = proba.shape
    mixes, room, classes = make_room(k)
    unknown, inverse = np.empty(0, dtype=np.int64), 1.0 / source_prior
    begin(birth, counts, weights, trust, mixes, room, classes)
    mean(mixes, room, classes)
    ratio = classes[TOGETHER] * inverse
    _count(proba, inverse, unknown, 0, n, classes)
    every = classes[FOUND].copy()
    classes[FOUND] = 0.0  # it is judged by what the memories have found, without the batch
    tolerate(counts, margin, mixes, room, classes)
    logs, each = np.zeros(EXPERTS), np.empty((n, EXPERTS))
    for i in range(n):
        _likelihood(mixes, proba, inverse, unknown, i, each, i)
        each[i] = np.log(each[i])
        logs += each[i]
    out, one = np.empty((n, k)), np.empty(k)
    for i in range(n):
        then_counts, then_weights, then_trust = counts.copy(), weights.copy(), trust.copy()
        begin(birth, then_counts, then_weights, then_trust, mixes, room, classes)
        compare(logs - each[i], room)
        judge(then_weights, then_trust, room)
        posterior(ratio, proba[i], one)
        for c in range(k):
            classes[FOUND, c] = max(every[c] - one[c], 0.0)
        belongs(np.inf, room)
        remember(then_counts, room, classes)
        share(then_weights, then_trust, made, seen + 1, room)
        begin(birth, then_counts, then_weights, then_trust, mixes, room, classes)
        mean(mixes, room, classes)
        out[i] = classes[TOGETHER]
    return out
