"""Likelihoods of batches under the experts of the likelihood mixture, and soft counts of their classes (compiled).

Samples are counted softly: each by the probability that it is of a class.
"""

import numpy as np

from baserate.compiled import compiled, compiled_within
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.trackers.likelihood_mixture.experts import (
    COUNT,
    LIKELIHOOD,
    MIXTURE,
    SPARE,
    SPARE_1,
    SPARE_2,
    scale_likelihoods,
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
def batch_likelihoods(
    proba: FloatArray,
    inverse: FloatArray,
    labels: IntArray,
    first: int,
    end: int,
    mixes: FloatArray,
    per_expert: FloatArray,
    logs: FloatArray,
) -> float:
    """Set the row `LIKELIHOOD` to the joint likelihood of the samples `first` to `end`, up to a common factor.

    A few likelihoods are simply multiplied; for more, the logarithms of their products are added up in `logs`. Returns
    the logarithm of the factor.
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
    return scale_likelihoods(logs, per_expert) if many else 0.0


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
def count_classes(
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
