"""How runs move: one step of Fisher's scoring for each part of a batch (compiled).

The score of the new samples is divided by the information of all samples of the run. The information of a mix q is
``D^-1/2 R D^-1/2`` with ``D = diag(q)``. R, the *resolution*, says how well the model's outputs tell the classes apart:
the identity if they always do, of rank one if they never do. It is the mean of ``r r'`` over the samples, where r are a
sample's class probabilities, scaled by the roots of its row sums. As R hardly changes with q, it can be averaged over a
run, whose mix moves.
"""

import numpy as np

from baserate.compiled import compiled, compiled_within
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.trackers.likelihood_mixture.runs import judge_runs, shift_mixes

_FIRST_PART = 10  # samples in the first part of a batch; every part is four times as long as the one before
_THINNED = 64  # samples of a part from which the resolution is estimated
_PRIOR = 1.0  # samples that the information of labels counts for, beside that of the outputs
_RIDGE = 1e-9
_BLOCK = 10  # likelihoods multiplied before a logarithm is taken

# A batch is processed in one table with a number for each lane in every row: four rows of likelihoods, then k rows each
# of class probabilities, scores and roots, then k (k + 1) / 2 rows each of products and of their Cholesky factor.
_LIKELIHOOD, _PRODUCT, _LOG, _SPARE, _ROWS = range(5)


@compiled
def make_scratch(k: int, lanes: int) -> FloatArray:
    """Allocate the table in which batches are processed."""
    return np.empty((_ROWS + 3 * k + k * (k + 1), lanes))


@compiled
def observe(
    mixes: FloatArray,
    overlaps: FloatArray,
    sizes: FloatArray,
    weights: FloatArray,
    proba: FloatArray,
    inverse: FloatArray,
    labels: IntArray,
    first: int,
    end: int,
    per_class: FloatArray,
    scratch: FloatArray,
) -> float:
    """Judge the runs by the samples `first` to `end`, and move them; returns the samples' log-likelihood.

    A batch is taken in parts of growing length, so that a run that starts with it can show by the later parts what it
    has learned from the earlier ones.
    """
    k, total, start, size = len(mixes), 0.0, first, _FIRST_PART
    while start < end:
        stop = min(start + size, end)
        if end - stop < size // 2:
            stop = end
        _take_sums(mixes, proba, inverse, labels, start, stop, scratch)
        total += judge_runs(weights, scratch[_LOG])
        thinned = 1 + (stop - start - 1) // (1 + (stop - start - 1) // _THINNED)
        _learn_resolution(overlaps, sizes, stop - start, thinned, k, scratch)
        _move(mixes, overlaps, sizes, stop - start, stop - start, per_class, scratch)
        start, size = stop, 4 * size
    return total


@compiled_within
def _take_sums(
    mixes: FloatArray, proba: FloatArray, inverse: FloatArray, labels: IntArray, start: int, stop: int, s: FloatArray
) -> None:
    """Set the log-likelihood of some samples, and the sums of their class probabilities and of products of these.

    Products are summed over one of every `_THINNED` samples only, if there are more.
    """
    k, m = mixes.shape
    posterior, score, outer = _ROWS, _ROWS + k, _ROWS + 3 * k
    step = 1 + (stop - start - 1) // _THINNED
    for e in range(m):
        s[_PRODUCT, e], s[_LOG, e] = 1.0, 0.0
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
                s[_LOG, e] += np.log(s[_PRODUCT, e])
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
def _learn_resolution(overlaps: FloatArray, sizes: FloatArray, n: int, taken: int, k: int, scratch: FloatArray) -> None:
    """Average the products of class probabilities, of which `taken` were summed, over all samples of a run.

    Where these hold less of a class than all n samples do, the rest counts as certain. Otherwise a rare class of which
    no sample was taken would seem to be one that outputs cannot tell, and its few samples would count for many.
    """
    m, score, outer, share = len(sizes), _ROWS + k, _ROWS + 3 * k, 1.0 / taken
    for e in range(m):
        scratch[_SPARE, e] = n / (sizes[e] + n)
    if taken < n:
        for c in range(k):
            for e in range(m):
                scratch[_PRODUCT, e] = taken * scratch[score + c, e] / n
            for d in range(k):
                j = outer + (c * (c + 1) // 2 + d if d <= c else d * (d + 1) // 2 + c)
                for e in range(m):
                    scratch[_PRODUCT, e] -= scratch[j, e]
            j = outer + c * (c + 1) // 2 + c
            for e in range(m):
                scratch[j, e] += max(scratch[_PRODUCT, e], 0.0)
    for j in range(len(overlaps)):
        for e in range(m):
            overlaps[j, e] += scratch[_SPARE, e] * (share * scratch[outer + j, e] - overlaps[j, e])


@compiled_within
def _move(
    mixes: FloatArray,
    overlaps: FloatArray,
    sizes: FloatArray,
    scored: float,
    new: float,
    per_class: FloatArray,
    s: FloatArray,
) -> None:
    """Move every run by its score divided by its information, and count `new` more samples.

    The score is that of `scored` samples; it holds sums of class probabilities, which are `scored` times the mix where
    the likelihood is largest.
    """
    k, m = mixes.shape
    work, score, root = _ROWS, _ROWS + k, _ROWS + 2 * k
    factor = _ROWS + 3 * k + k * (k + 1) // 2
    for e in range(m):
        sizes[e] += new
        s[_SPARE, e] = 1.0 / max(sizes[e], 1.0)
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
            s[score + c, e] = (s[score + c, e] - scored * mixes[c, e]) / s[root + c, e]
    # Cholesky's factorisation of the resolution, row by row, and at once the forward substitution of the score. The
    # diagonal holds the inverse.
    row = factor
    for c in range(k):
        other = factor
        for d in range(c + 1):
            for e in range(m):
                s[row + d, e] = overlaps[row - factor + d, e] * s[work + c, e] * s[work + d, e]
            if d == c:
                for e in range(m):
                    s[row + d, e] += _PRIOR * s[_SPARE, e] + _RIDGE
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
            s[score + c, e] *= s[root + c, e] * s[_SPARE, e]
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
    score, outer = _ROWS + k, _ROWS + 3 * k
    for e in range(m):
        s[_LOG, e] = 0.0
    for j in range(k * (k + 1) // 2):
        for e in range(m):
            s[outer + j, e] = 0.0
    for c in range(k):
        j = outer + c * (c + 1) // 2 + c
        for e in range(m):
            s[_LOG, e] += frequencies[c] * np.log(mixes[c, e])
            s[score + c, e] = s[j, e] = frequencies[c]
    found = judge_runs(weights, s[_LOG])
    _learn_resolution(overlaps, sizes, 1, 1, k, s)
    _move(mixes, overlaps, sizes, 1.0, 1.0, per_class, s)
    return found


@compiled_within
def correct_scores(
    mixes: FloatArray,
    overlaps: FloatArray,
    sizes: FloatArray,
    holds: FloatArray,
    told: FloatArray,
    then: FloatArray,
    proba: FloatArray,
    inverse: FloatArray,
    per_class: FloatArray,
) -> None:
    """Replace the class probabilities of some samples by their labels, in the runs that hold them.

    The scores are those under the mixes of now; products of class probabilities were averaged under those of then.

    Parameters
    ----------
    holds : (m,) array
        One for runs that hold the samples, zero for others.
    told : (k,) array
        How many of the samples are of each class.
    then : (k, m) array
        The mix of each run at the beginning of the samples' round.
    """
    k, m = mixes.shape
    score, none = _ROWS + k, np.empty(0, dtype=np.int64)
    s = make_scratch(k, m)
    _take_sums(then, proba, inverse, none, 0, len(proba), s)
    for e in range(m):
        if holds[e] > 0.0:
            _correct_resolution(overlaps[:, e], max(sizes[e], 1.0), told, len(proba), s[_ROWS + 3 * k :, e])
    _take_sums(mixes, proba, inverse, none, 0, len(proba), s)
    for c in range(k):
        for e in range(m):
            s[score + c, e] = holds[e] * (told[c] - s[score + c, e])
    _move(mixes, overlaps, sizes, 0.0, 0.0, per_class, s)


@compiled_within
def _correct_resolution(overlaps: FloatArray, size: float, told: FloatArray, n: int, outer: FloatArray) -> None:
    """Replace the products of n samples' class probabilities, summed in `outer`, by their labels in one run's mean.

    If they cannot have been a part of the mean, because only some samples of their round were, or under mixes that had
    moved since its beginning, labels take the place of n average samples. The mean stays one of products either way.
    """
    scale, j = n / (1 + (n - 1) // (1 + (n - 1) // _THINNED)), 0
    new = np.empty(len(overlaps))
    for c in range(len(told)):
        for d in range(c + 1):
            new[j] = overlaps[j] + ((told[c] if c == d else 0.0) - scale * outer[j]) / size
            j += 1
    if _is_mean_of_products(new, len(told), 1.0 / size + _RIDGE):
        for j in range(len(overlaps)):
            overlaps[j] = max(new[j], 0.0)
        return
    kept = max(1.0 - n / size, 0.0)
    for j in range(len(overlaps)):
        overlaps[j] *= kept
    for c in range(len(told)):
        overlaps[c * (c + 1) // 2 + c] += (1.0 - kept) * told[c] / n


@compiled_within
def _is_mean_of_products(overlaps: FloatArray, k: int, ridge: float) -> bool:
    """Check that products are in [0, 1], and that the resolution has a Cholesky factor, up to rounding."""
    if overlaps.min() < -1e-12 or overlaps.max() > 1.0:
        return False
    scale, factor, j = np.full(k, 1e-12), np.zeros((k, k)), 0
    for c in range(k):
        for d in range(c + 1):
            factor[c, d] = overlaps[j]
            scale[c] += overlaps[j]
            scale[d] += overlaps[j] if d < c else 0.0
            j += 1
    if scale.min() <= 0.0:
        return False
    for c in range(k):
        for d in range(c + 1):
            value = factor[c, d] / np.sqrt(scale[c] * scale[d]) + (ridge if c == d else 0.0)
            for b in range(d):
                value -= factor[c, b] * factor[d, b]
            if d < c:
                factor[c, d] = value / factor[d, d]
            elif value < 0.5 * ridge:
                return False
            else:
                factor[c, c] = np.sqrt(value)
    return True
