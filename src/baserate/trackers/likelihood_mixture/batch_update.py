"""Updates and predictions of the likelihood mixture from batches of samples, for many keys (compiled).

Samples are counted softly: each by the probability that it is of a class.
"""

import numpy as np

from baserate.compiled import compiled, compiled_within
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.trackers.likelihood_mixture.experts import (
    COUNT,
    EXPERTS,
    LIKELIHOOD,
    MIXTURE,
    SPARE,
    SPARE_1,
    SPARE_2,
    add_counts,
    apply_margin,
    assign_samples,
    average_experts,
    learn_new_mix,
    load_key,
    make_tables,
    next_doubt,
    redistribute_weights,
    restore_birth_value,
    scale_likelihoods,
    update_weights,
)

_BLOCK = 10  # likelihoods multiplied before the product is checked; each is in 1e-20 .. 1 / (least source prior)
_FAR = 1e100  # a product within this factor of 1 can take one more block without over- or underflow


@compiled_within
def _likelihood(
    mixes: FloatArray, proba: FloatArray, inverse: FloatArray, labels: IntArray, i: int, out: FloatArray, row: int
) -> None:
    """Write the likelihood of sample i under each expert to a row of `out`; `inverse` is 1 / source prior."""
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
def _two_likelihoods(mixes: FloatArray, proba: FloatArray, inverse: FloatArray, i: int, per_expert: FloatArray) -> None:
    """Do the same for the unlabelled samples i and i + 1 at once, so that `mixes` is read only once for both."""
    k, m = mixes.shape
    for e in range(m):
        per_expert[SPARE_1, e] = per_expert[SPARE_2, e] = 0.0
    for c in range(0, k - 3, 4):
        a, b = proba[i, c] * inverse[c], proba[i, c + 1] * inverse[c + 1]
        d, f = proba[i, c + 2] * inverse[c + 2], proba[i, c + 3] * inverse[c + 3]
        o, p = proba[i + 1, c] * inverse[c], proba[i + 1, c + 1] * inverse[c + 1]
        q, r = proba[i + 1, c + 2] * inverse[c + 2], proba[i + 1, c + 3] * inverse[c + 3]
        for e in range(m):
            per_expert[SPARE_1, e] += (a * mixes[c, e] + b * mixes[c + 1, e]) + (
                d * mixes[c + 2, e] + f * mixes[c + 3, e]
            )
            per_expert[SPARE_2, e] += (o * mixes[c, e] + p * mixes[c + 1, e]) + (
                q * mixes[c + 2, e] + r * mixes[c + 3, e]
            )
    for c in range(k - k % 4, k):
        a, o = proba[i, c] * inverse[c], proba[i + 1, c] * inverse[c]
        for e in range(m):
            per_expert[SPARE_1, e] += a * mixes[c, e]
            per_expert[SPARE_2, e] += o * mixes[c, e]


@compiled_within
def _likelihoods(
    proba: FloatArray,
    inverse: FloatArray,
    labels: IntArray,
    first: int,
    end: int,
    mixes: FloatArray,
    per_expert: FloatArray,
    logs: FloatArray,
) -> None:
    """Set the row `LIKELIHOOD` to the joint likelihood of the samples `first` to `end`, up to a common factor.

    A few likelihoods are simply multiplied; for more, the logarithms of their products are added up in `logs`.
    """
    m, many = mixes.shape[1], end - first > _BLOCK
    for e in range(m):
        per_expert[LIKELIHOOD, e], logs[e] = 1.0, 0.0
    for start in range(first, end, _BLOCK):
        stop = min(start + _BLOCK, end)
        pairs = stop - (stop - start) % 2 if len(labels) == 0 else start
        for i in range(start, pairs, 2):
            _two_likelihoods(mixes, proba, inverse, i, per_expert)
            for e in range(m):
                per_expert[LIKELIHOOD, e] = (
                    per_expert[LIKELIHOOD, e] * per_expert[SPARE_1, e] * per_expert[SPARE_2, e]
                )  # in the order of single samples
        for i in range(pairs, stop):
            _likelihood(mixes, proba, inverse, labels, i, per_expert, SPARE_1)
            for e in range(m):
                per_expert[LIKELIHOOD, e] *= per_expert[SPARE_1, e]
        if many:
            far = stop == end
            for e in range(m):
                far |= (per_expert[LIKELIHOOD, e] < 1.0 / _FAR) | (per_expert[LIKELIHOOD, e] > _FAR)
            if far:
                for e in range(m):
                    logs[e] += np.log(per_expert[LIKELIHOOD, e])
                    per_expert[LIKELIHOOD, e] = 1.0
    if many:
        scale_likelihoods(logs, per_expert)


@compiled
def posterior(ratio: FloatArray, proba: FloatArray, out: FloatArray) -> None:
    """Write the class probabilities of one sample to `out`; `ratio` is the class mix divided by the source prior."""
    total = 0.0
    for c in range(len(ratio)):
        out[c] = ratio[c] * proba[c]
        total += out[c]
    total = 1.0 / total
    for c in range(len(ratio)):
        out[c] *= total


@compiled_within
def _count_classes(
    proba: FloatArray, inverse: FloatArray, labels: IntArray, first: int, end: int, per_class: FloatArray
) -> None:
    """Set the row `COUNT`: the expected number of samples of each class from `first` to `end`, under `MIXTURE`."""
    k = len(inverse)
    for c in range(k):
        per_class[SPARE, c] = per_class[MIXTURE, c] * inverse[c]
        per_class[COUNT, c] = 0.0
    for i in range(first, end):
        if len(labels) == 0 or labels[i] == UNLABELLED:
            total = 0.0
            for c in range(k):
                total += per_class[SPARE, c] * proba[i, c]
            total = 1.0 / total
            for c in range(k):
                per_class[COUNT, c] += per_class[SPARE, c] * proba[i, c] * total
        else:
            per_class[COUNT, labels[i]] += 1.0


@compiled_within
def judge_by_margin(
    counts: FloatArray,
    margin: FloatArray,
    proba: FloatArray,
    inverse: FloatArray,
    labels: IntArray,
    first: int,
    end: int,
    mixes: FloatArray,
    per_expert: FloatArray,
    per_class: FloatArray,
) -> None:
    """Replace the mix of each expert by the one it is judged by in a batch; see `apply_margin`."""
    if margin.max() > 0.0:
        average_experts(mixes, per_expert, per_class)
        _count_classes(proba, inverse, labels, first, end, per_class)
        apply_margin(counts, margin, mixes, per_expert, per_class)


@compiled_within
def judge_experts(
    weights: FloatArray,
    trust: FloatArray,
    doubt: float,
    proba: FloatArray,
    inverse: FloatArray,
    labels: IntArray,
    first: int,
    end: int,
    mixes: FloatArray,
    per_expert: FloatArray,
    per_class: FloatArray,
    logs: FloatArray,
) -> float:
    """Update the experts' weights by the likelihood of a batch, and set `MIXTURE`; returns the doubt after it."""
    _likelihoods(proba, inverse, labels, first, end, mixes, per_expert, logs)
    restore_birth_value(mixes, per_class)
    doubt = next_doubt(doubt, per_expert)
    update_weights(weights, trust, per_expert)
    assign_samples(doubt, per_expert)
    average_experts(mixes, per_expert, per_class)
    return doubt


@compiled_within
def _predict(
    birth: FloatArray, seen: int, mixes: FloatArray, per_expert: FloatArray, per_class: FloatArray, out: FloatArray
) -> None:
    """Write the prediction to `out`: the birth value itself before the first round, then the mean of the experts."""
    if seen == 0:
        out[:] = birth
    else:
        average_experts(mixes, per_expert, per_class)
        out[:] = per_class[MIXTURE]


@compiled
def predict(
    births: FloatArray, counts: FloatArray, weights: FloatArray, trust: FloatArray, rounds: IntArray, rows: IntArray
) -> FloatArray:
    """Return the predictions of some keys, one row each."""
    out = np.empty((len(rows), births.shape[1]))
    mixes, per_expert, per_class = make_tables(births.shape[1])
    for j in range(len(rows)):
        row = rows[j]
        load_key(births[row], counts[row], weights[row], trust[row], mixes, per_expert, per_class)
        _predict(births[row], rounds[row, 0], mixes, per_expert, per_class, out[j])
    return out


@compiled
def update(
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
    predictions: FloatArray,
) -> None:
    """Update some keys with a batch each, one after the other; `labels` is empty if no label is known.

    If `predictions` has rows, row j becomes the prediction of key ``rows[j]`` before batch j.
    """
    mixes, per_expert, per_class = make_tables(births.shape[1])
    logs, inverse = np.empty(EXPERTS), 1.0 / source_prior
    for j in range(len(rows)):
        row, first, end = rows[j], starts[j], starts[j + 1]
        load_key(births[row], counts[row], weights[row], trust[row], mixes, per_expert, per_class)
        if len(predictions) > 0:
            _predict(births[row], rounds[row, 0], mixes, per_expert, per_class, predictions[j])
        if first == end:
            continue
        t = rounds[row, 0] + 1
        judge_by_margin(counts[row], margin, proba, inverse, labels, first, end, mixes, per_expert, per_class)
        now = judge_experts(
            weights[row], trust[row], doubt[row], proba, inverse, labels, first, end, mixes, per_expert, per_class, logs
        )
        # Classes are counted with the new weights: experts that predicted the batch well know best what it holds.
        _count_classes(proba, inverse, labels, first, end, per_class)
        add_counts(counts[row], per_expert, per_class)
        doubt[row], rounds[row, 1] = learn_new_mix(
            counts[row], doubted[row], now, made[row], rounds[row, 1], t, per_class
        )
        rounds[row, 0] = t
        redistribute_weights(weights[row], trust[row], made[row], t, per_expert)


@compiled
def update_with_frequencies(
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
    """Update some keys with class frequencies, one row each; a row counts as one labelled sample split by class."""
    mixes, per_expert, per_class = make_tables(births.shape[1])
    logs, m = np.empty(EXPERTS), EXPERTS
    for j in range(len(rows)):
        row = rows[j]
        t = rounds[row, 0] + 1
        load_key(births[row], counts[row], weights[row], trust[row], mixes, per_expert, per_class)
        per_class[COUNT] = frequencies[j]
        apply_margin(counts[row], margin, mixes, per_expert, per_class)
        logs[:] = 0.0
        for c in range(counts.shape[1]):
            for e in range(m):
                logs[e] += frequencies[j, c] * np.log(mixes[c, e])
        scale_likelihoods(logs, per_expert)
        now = next_doubt(doubt[row], per_expert)
        update_weights(weights[row], trust[row], per_expert)
        assign_samples(now, per_expert)
        add_counts(counts[row], per_expert, per_class)
        doubt[row], rounds[row, 1] = learn_new_mix(
            counts[row], doubted[row], now, made[row], rounds[row, 1], t, per_class
        )
        rounds[row, 0] = t
        redistribute_weights(weights[row], trust[row], made[row], t, per_expert)


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
    """Return, for each of n >= 2 samples, the prediction after a batch of the others; recalled mixes do not change.

    The others are counted under the mix from before the batch: with the mix after it, sample i would influence its own
    prediction through the class probabilities of the others.
    """
    n, k = proba.shape
    mixes, per_expert, per_class = make_tables(k)
    unknown, inverse = np.empty(0, dtype=np.int64), 1.0 / source_prior
    load_key(birth, counts, weights, trust, mixes, per_expert, per_class)
    average_experts(mixes, per_expert, per_class)
    ratio = per_class[MIXTURE] * inverse
    _count_classes(proba, inverse, unknown, 0, n, per_class)
    every = per_class[COUNT].copy()
    per_class[COUNT] = 0.0  # the margin is applied to what the memories have found, without the batch
    apply_margin(counts, margin, mixes, per_expert, per_class)
    logs, each = np.zeros(EXPERTS), np.empty((n, EXPERTS))
    for i in range(n):
        _likelihood(mixes, proba, inverse, unknown, i, each, i)
        each[i] = np.log(each[i])
        logs += each[i]
    out, one = np.empty((n, k)), np.empty(k)
    for i in range(n):
        then_counts, then_weights, then_trust = counts.copy(), weights.copy(), trust.copy()
        load_key(birth, then_counts, then_weights, then_trust, mixes, per_expert, per_class)
        scale_likelihoods(logs - each[i], per_expert)
        update_weights(then_weights, then_trust, per_expert)
        posterior(ratio, proba[i], one)
        for c in range(k):
            per_class[COUNT, c] = max(every[c] - one[c], 0.0)
        assign_samples(np.inf, per_expert)
        add_counts(then_counts, per_expert, per_class)
        redistribute_weights(then_weights, then_trust, made, seen + 1, per_expert)
        load_key(birth, then_counts, then_weights, then_trust, mixes, per_expert, per_class)
        average_experts(mixes, per_expert, per_class)
        out[i] = per_class[MIXTURE]
    return out
