"""Project, normalise, re-weight: the maths that everything shares.

These functions trust their input; `baserate.validation` checks what comes from outside.
"""

from functools import lru_cache

import numpy as np

from baserate.compiled import compiled, compiled_part
from baserate.protocols import FloatArray, IntArray

# Below this a row's total has lost digits to underflow, and is computed again in the log domain.
_TINY = 1e-290
# How far a class mix may be from summing to one and still be one.
_ROUNDING = 1e-13


@lru_cache(maxsize=64)
def one_batch(n: int) -> IntArray:
    """Return where batches start among n rows that are all one batch; nobody changes it."""
    return np.array([0, n])


def normalise(v: FloatArray) -> FloatArray:
    """Scale non-negative vectors (along the last axis) to sum to one; those that do so already are left as they are.

    Examples
    --------
    >>> import numpy as np
    >>> normalise(np.array([1.0, 3.0]))
    array([0.25, 0.75])
    """
    scaled = v / v.max(axis=-1, keepdims=True)  # so that neither huge nor tiny totals overflow or vanish
    there = np.abs(v.sum(axis=-1, keepdims=True) - 1.0) <= _ROUNDING
    return np.where(there, v, scaled / scaled.sum(axis=-1, keepdims=True))


def log_ratio(prior: FloatArray, source_prior: FloatArray) -> FloatArray:
    """Log-offsets that turn probabilities under `source_prior` into probabilities under `prior`."""
    if prior.ndim == 1 and _is_positive(prior):  # nearly always: looking takes less time than allowing for a zero
        return np.asarray(np.log(prior) - np.log(source_prior))
    with np.errstate(divide="ignore"):  # a class ruled out by the prior has the offset -inf
        return np.asarray(np.log(prior) - np.log(source_prior))


@compiled
def _is_positive(v: FloatArray) -> bool:
    """Return whether all numbers are positive."""
    least = np.inf
    for c in range(len(v)):
        least = min(least, v[c])
    return least > 0.0


@compiled
def far_apart(first: FloatArray, second: FloatArray, limit: float) -> bool:
    """Return whether the total variation distance of two class mixes is more than a limit.

    Examples
    --------
    >>> import numpy as np
    >>> far_apart(np.array([0.5, 0.5]), np.array([0.2, 0.8]), 0.25)
    True
    """
    total = 0.0
    for c in range(len(first)):
        total += abs(first[c] - second[c])
    return total > 2.0 * limit


def project(v: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Euclidean projection of each row onto ``{p : sum(p) = 1, lower <= p <= upper}``.

    The projection is ``clip(v - tau, lower, upper)`` for the one ``tau`` at which it sums to one. That sum is piecewise
    linear and falling in ``tau``, with corners at ``v - upper`` and ``v - lower``; the corners are sorted and searched,
    and ``tau`` is exact on the piece that holds it: O(k log k).

    Examples
    --------
    >>> import numpy as np
    >>> project(np.array([[0.9, 0.6, -0.1]]), np.zeros(3), np.ones(3)).round(12)
    array([[0.65, 0.35, 0.  ]])
    >>> project(np.array([[0.9, 0.6, -0.1]]), np.full(3, 0.1), np.ones(3)).round(12)
    array([[0.6, 0.3, 0.1]])
    """
    out = v.copy()  # most are there already: not a bit of them is changed
    if _count_outside(out, lower, upper) > 0:
        _project_rows(out, lower, upper)
    return out


@compiled
def _count_outside(v: FloatArray, lower: FloatArray, upper: FloatArray) -> int:
    """Return the number of rows that are not in the set."""
    outside = 0
    for row in range(len(v)):
        total, inside = 0.0, True
        for c in range(len(lower)):
            total += v[row, c]
            inside = inside and lower[c] <= v[row, c] <= upper[c]
        if not (inside and abs(total - 1.0) <= _ROUNDING):
            outside += 1
    return outside


@compiled
def _project_rows(v: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
    """Project the rows that are not in the set, in place."""
    k = v.shape[1]
    u, corners = np.empty(k), np.empty(2 * k)
    for row in range(len(v)):
        if _count_outside(v[row : row + 1], lower, upper) == 0:
            continue
        # Adding a constant to all classes changes nothing; near zero, the least is lost to rounding.
        top = v[row].max()
        for c in range(k):
            u[c] = v[row, c] - top
            corners[c] = u[c] - upper[c]
            corners[k + c] = u[c] - lower[c]
        corners.sort()
        # Bisection over the sorted corners: the sum is at least one at `low` and at most one at `high`.
        low, high = 0, 2 * k - 1
        while high - low > 1:
            middle = (low + high) // 2
            total = 0.0
            for c in range(k):
                total += min(max(u[c] - corners[middle], lower[c]), upper[c])
            if total >= 1.0:
                low = middle
            else:
                high = middle
        # Between two neighbouring corners the same classes are free, the others rest on a bound.
        between = 0.5 * (corners[low] + corners[high])
        fixed, free_total, free = 0.0, 0.0, 0
        for c in range(k):
            if u[c] - between >= upper[c]:
                fixed += upper[c]
            elif u[c] - between <= lower[c]:
                fixed += lower[c]
            else:
                free_total += u[c]
                free += 1
        tau = (fixed + free_total - 1.0) / free if free > 0 else between
        for c in range(k):
            v[row, c] = min(max(u[c] - tau, lower[c]), upper[c])


@compiled
def reweight(proba: FloatArray, offsets: FloatArray, starts: IntArray) -> FloatArray:
    """Add log-offsets to the log-probabilities of each row, and normalise.

    Rows ``starts[j]:starts[j + 1]`` get the offsets ``offsets[j]``. A row whose every possible class has the offset
    -inf (the prior rules out all that the model holds possible) has no posterior: it is returned as it came.

    Examples
    --------
    >>> import numpy as np
    >>> reweight(np.array([[0.5, 0.5]]), np.log([[0.2, 0.8]]), np.array([0, 1])).round(12)
    array([[0.2, 0.8]])
    """
    n, k = proba.shape
    out = np.empty((n, k))
    factors = np.empty(k)
    for j in range(len(starts) - 1):
        top = offsets[j, 0]
        for c in range(1, k):
            top = max(top, offsets[j, c])
        for c in range(k):
            factors[c] = np.exp(offsets[j, c] - top)
        for i in range(starts[j], starts[j + 1]):
            total = 0.0
            for c in range(k):
                value = proba[i, c] * factors[c]
                out[i, c] = value
                total += value
            if total > _TINY:
                scale = 1.0 / total
                for c in range(k):
                    out[i, c] *= scale
            else:
                _reweight_in_log_domain(proba[i], offsets[j], out[i])
    return out


@compiled_part
def _reweight_in_log_domain(proba: FloatArray, offsets: FloatArray, out: FloatArray) -> None:
    best = -np.inf
    for c in range(len(proba)):
        out[c] = np.log(proba[c]) + offsets[c] if proba[c] > 0.0 else -np.inf
        best = max(best, out[c])
    if best == -np.inf:
        for c in range(len(proba)):
            out[c] = proba[c]
        return
    total = 0.0
    for c in range(len(proba)):
        out[c] = np.exp(out[c] - best)
        total += out[c]
    for c in range(len(proba)):
        out[c] /= total
