"""Moves of runs: one step of Fisher's scoring for each part of a batch (compiled).

The score of the new samples is divided by the information of all samples of the run. The information of a mix q is
``D^-1/2 R D^-1/2`` with ``D = diag(q)``. R, the *resolution*, says how well the model's outputs tell the classes apart:
the identity if they always do, of rank one if they never do. It is the mean of ``r r'`` over the samples, where r are a
sample's class probabilities, scaled by the roots of its row sums. As R hardly changes with q, it can be averaged over a
run, whose mix moves.
"""

import numpy as np

from baserate.compiled import compiled_part, compiled_within
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.trackers.likelihood_mixture.runs import judge_runs, shift_mixes

THINNED = 16  # samples of a part from which the resolution is estimated
PRIOR = 0.5  # samples of each class that the mix a run is born with counts for (Krichevsky and Trofimov)
CAUTION = 20.0  # samples that perfect resolution counts for, beside that of the outputs
_RIDGE = 1e-9
_BLOCK = 10  # likelihoods multiplied before a logarithm is taken

# A batch is processed in one table with a number for each lane in every row: five for likelihoods and sizes; k rows
# each of class probabilities, scores, roots and limits; k (k + 1) / 2 rows each of products and their Cholesky factor.
_LIKELIHOOD, _PRODUCT, LOG, _SPARE, _KNOWN, ROWS = range(6)


@compiled_part
def make_scratch(k: int, lanes: int) -> FloatArray:
    """Allocate the table in which batches are processed."""
    return np.empty((ROWS + 4 * k + k * (k + 1), lanes))


@compiled_part
def take_sums(
    mixes: FloatArray,
    proba: FloatArray,
    inverse: FloatArray,
    labels: IntArray,
    start: int,
    stop: int,
    step: int,
    s: FloatArray,
) -> None:
    """Set the log-likelihood of some samples, and the sums of their class probabilities and of products of these.

    Products are summed over every `step`-th sample.
    """
    k, m = mixes.shape
    posterior, score, outer = ROWS, ROWS + k, ROWS + 4 * k
    for e in range(m):
        s[_PRODUCT, e], s[LOG, e] = 1.0, 0.0
    for j in range(k):
        for e in range(m):
            s[score + j, e] = 0.0
    for j in range(k * (k + 1) // 2):
        for e in range(m):
            s[outer + j, e] = 0.0
    for i in range(start, stop):
        label = labels[i] if len(labels) > 0 else UNLABELLED
        if label != UNLABELLED:
            for e in range(m):
                s[_PRODUCT, e] *= mixes[label, e]
                s[score + label, e] += 1.0 / mixes[label, e]
        else:
            _set_likelihood(mixes, proba, inverse, i, s)
            for e in range(m):
                s[_PRODUCT, e] *= s[_LIKELIHOOD, e]
                s[_LIKELIHOOD, e] = 1.0 / s[_LIKELIHOOD, e]
            for c in range(k):
                a = proba[i, c] * inverse[c]
                for e in range(m):
                    s[score + c, e] += a * s[_LIKELIHOOD, e]
        if (i - start) % step == 0:
            if label != UNLABELLED:
                j = label * (label + 1) // 2 + label
                for e in range(m):
                    s[outer + j, e] += 1.0
            else:
                j = outer
                for c in range(k):
                    a = proba[i, c] * inverse[c]
                    for e in range(m):
                        s[posterior + c, e] = a * mixes[c, e] * s[_LIKELIHOOD, e]
                    for d in range(c + 1):
                        for e in range(m):
                            s[j, e] += s[posterior + c, e] * s[posterior + d, e]
                        j += 1
        if (i - start) % _BLOCK == _BLOCK - 1 or i == stop - 1:
            for e in range(m):
                s[LOG, e] += np.log(s[_PRODUCT, e])
                s[_PRODUCT, e] = 1.0
    for c in range(k):
        for e in range(m):
            s[score + c, e] *= mixes[c, e]


@compiled_within
def _set_likelihood(mixes: FloatArray, proba: FloatArray, inverse: FloatArray, i: int, s: FloatArray) -> None:
    """Set the row `_LIKELIHOOD`: the likelihood of the unlabelled sample i under each run."""
    k, m = mixes.shape
    for e in range(m):
        s[_LIKELIHOOD, e] = 0.0
    # Four classes at a time, because reading and writing takes longer than the sums.
    for c in range(0, k - 3, 4):
        a, b = proba[i, c] * inverse[c], proba[i, c + 1] * inverse[c + 1]
        d, f = proba[i, c + 2] * inverse[c + 2], proba[i, c + 3] * inverse[c + 3]
        for e in range(m):
            s[_LIKELIHOOD, e] += (a * mixes[c, e] + b * mixes[c + 1, e]) + (d * mixes[c + 2, e] + f * mixes[c + 3, e])
    for c in range(k - k % 4, k):
        a = proba[i, c] * inverse[c]
        for e in range(m):
            s[_LIKELIHOOD, e] += a * mixes[c, e]


@compiled_within
def learn_resolution(overlaps: FloatArray, sizes: FloatArray, n: float, taken: int, k: int, s: FloatArray) -> None:
    """Average the products of class probabilities, of which `taken` were summed, over all samples of a run."""
    m, outer, share = len(sizes), ROWS + 4 * k, 1.0 / taken
    for e in range(m):
        s[_SPARE, e] = n / (sizes[e] + n)
    for j in range(len(overlaps)):
        for e in range(m):
            overlaps[j, e] += s[_SPARE, e] * (share * s[outer + j, e] - overlaps[j, e])


@compiled_part
def move(
    mixes: FloatArray,
    overlaps: FloatArray,
    sizes: FloatArray,
    scored: float,
    new: float,
    caution: float,
    per_class: FloatArray,
    s: FloatArray,
) -> None:
    """Move every run by its score divided by its information, and count `new` more samples.

    The score is that of `scored` samples; it holds sums of class probabilities, which are `scored` times the mix where
    the likelihood is largest.
    """
    k, m = mixes.shape
    work, score, root, most = ROWS, ROWS + k, ROWS + 2 * k, ROWS + 3 * k
    factor = ROWS + 4 * k + k * (k + 1) // 2
    for e in range(m):
        sizes[e] += new
        s[_SPARE, e] = 1.0 / max(sizes[e], 1.0)
        s[_KNOWN, e] = sizes[e] / (sizes[e] + caution)
    # Row sums of the products, of which the resolution has the roots divided out.
    for c in range(k):
        for e in range(m):
            s[work + c, e] = 1e-12
    j = 0
    for c in range(k):
        for d in range(c):
            for e in range(m):
                s[work + c, e] += overlaps[j, e]
                s[work + d, e] += overlaps[j, e]
            j += 1
        for e in range(m):
            s[work + c, e] += overlaps[j, e]
        j += 1
    for c in range(k):
        for e in range(m):
            s[work + c, e] = 1.0 / np.sqrt(s[work + c, e])
            s[root + c, e] = np.sqrt(mixes[c, e])
            s[score + c, e] -= scored * mixes[c, e]
            s[most + c, e] = mixes[c, e] + 2.0 * max(s[score + c, e], 0.0) * s[_SPARE, e]
            s[score + c, e] /= s[root + c, e]
    # Cholesky's factorisation of the resolution, row by row, and at once the forward substitution of the score. The
    # diagonal holds the inverse.
    row = factor
    for c in range(k):
        other = factor
        for d in range(c + 1):
            for e in range(m):
                s[row + d, e] = s[_KNOWN, e] * overlaps[row - factor + d, e] * s[work + c, e] * s[work + d, e]
            if d == c:
                for e in range(m):
                    s[row + d, e] += 1.0 - s[_KNOWN, e] + PRIOR * k * s[_SPARE, e] + _RIDGE
            for b in range(d):
                for e in range(m):
                    s[row + d, e] -= s[row + b, e] * s[other + b, e]
            if d < c:
                for e in range(m):
                    s[row + d, e] *= s[other + d, e]
                    s[score + c, e] -= s[row + d, e] * s[score + d, e]
            else:
                for e in range(m):
                    s[row + d, e] = 1.0 / np.sqrt(max(s[row + d, e], _RIDGE))
                    s[score + c, e] *= s[row + d, e]
            other += d + 1
        row += c + 1
    for c in range(k - 1, -1, -1):
        row -= c + 1
        for e in range(m):
            s[score + c, e] *= s[row + c, e]
        for d in range(c):
            for e in range(m):
                s[score + d, e] -= s[row + d, e] * s[score + c, e]
    for c in range(k):
        for e in range(m):
            # A rare class is hardly told by the outputs until it is less rare: at most twice the share that it has, and
            # twice the step of expectation-maximisation.
            s[score + c, e] = min(s[score + c, e] * s[root + c, e] * s[_SPARE, e], s[most + c, e])
    shift_mixes(mixes, sizes, s[score : score + k], per_class)


@compiled_within
def observe_frequencies(
    mixes: FloatArray,
    overlaps: FloatArray,
    sizes: FloatArray,
    weights: FloatArray,
    frequencies: FloatArray,
    per_class: FloatArray,
    s: FloatArray,
) -> float:
    """Judge and move the runs by one labelled sample that is split among the classes; returns its log-likelihood."""
    k, m = mixes.shape
    score, outer = ROWS + k, ROWS + 4 * k
    for e in range(m):
        s[LOG, e] = 0.0
    for j in range(k * (k + 1) // 2):
        for e in range(m):
            s[outer + j, e] = 0.0
    for c in range(k):
        j = outer + c * (c + 1) // 2 + c
        for e in range(m):
            s[LOG, e] += frequencies[c] * np.log(mixes[c, e])
            s[score + c, e] = s[j, e] = frequencies[c]
    found = judge_runs(weights, s[LOG])
    learn_resolution(overlaps, sizes, 1.0, 1, k, s)
    move(mixes, overlaps, sizes, 1.0, 1.0, CAUTION, per_class, s)
    return found


@compiled_within
def correct_scores(
    mixes: FloatArray,
    overlaps: FloatArray,
    sizes: FloatArray,
    holds: FloatArray,
    told: FloatArray,
    proba: FloatArray,
    inverse: FloatArray,
    per_class: FloatArray,
) -> None:
    """Replace the class probabilities of some samples by their labels, in the runs that hold them.

    Parameters
    ----------
    holds : (m,) array
        One for runs that hold the samples, zero for others.
    told : (k,) array
        How many of the samples are of each class.
    """
    k, m = mixes.shape
    score, n, s = ROWS + k, len(proba), make_scratch(k, m)
    take_sums(mixes, proba, inverse, np.empty(0, dtype=np.int64), 0, n, 1 + (n - 1) // THINNED, s)
    for c in range(k):
        for e in range(m):
            s[score + c, e] = holds[e] * (told[c] - s[score + c, e])
    # The resolution is a mean of products: labels take the place of so many average samples, and it stays one.
    for e in range(m):
        part = holds[e] * min(n / max(sizes[e], 1.0), 1.0)
        for j in range(len(overlaps)):
            overlaps[j, e] *= 1.0 - part
        for c in range(k):
            overlaps[c * (c + 1) // 2 + c, e] += part * told[c] / n
    move(mixes, overlaps, sizes, 0.0, 0.0, CAUTION, per_class, s)
