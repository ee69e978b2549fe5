"""Least squares under non-negativity, by an active-set method (Lawson and Hanson 1974)."""

import numpy as np

from baserate.compiled import compiled, compiled_part
from baserate.protocols import FloatArray, IntArray

_DUST = 1e-14  # a pivot below this share of its diagonal entry is rounding error


@compiled
def minimise_quadratic(matrix: FloatArray, linear: FloatArray, x: FloatArray) -> None:
    """Minimise ``x' matrix x / 2 - linear' x`` over ``x >= 0``, in place.

    The matrix must be symmetric, positive definite and without negative entries. The entries of `x` that are positive
    on entry are the initial guess of those that are positive at the minimum; the better the guess, the fewer steps. A
    step frees or fixes one entry, and takes O(k s) time with s positive entries; the first one takes O(s^3).

    Examples
    --------
    >>> import numpy as np
    >>> x = np.ones(2)
    >>> minimise_quadratic(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1.0, -1.0]), x)
    >>> x
    array([0.5, 0. ])
    """
    k = len(linear)
    free = np.empty(k, dtype=np.int64)
    factor = np.empty((k, k))
    z = np.empty(k)
    size = 0
    for c in range(k):
        if x[c] > 0.0:
            free[size] = c
            _add_column(matrix, free, factor, size)
            size += 1
    entered = -1
    for _ in range(10 * k + 20):  # about 2 k are enough; the limit guards against endless loops by rounding
        _solve(factor, free, linear, size, z)
        step, out = 1.0, -1
        for a in range(size):
            c = free[a]
            if z[a] <= 0.0 and x[c] <= step * (x[c] - z[a]):
                step, out = x[c] / (x[c] - z[a]) if x[c] > 0.0 else 0.0, a
        if out >= 0:
            left = free[out]
            for a in range(size):
                x[free[a]] = max(x[free[a]] + step * (z[a] - x[free[a]]), 0.0)
            x[left] = 0.0
            if left == entered:
                return  # it was freed for a gain within rounding
            _drop_column(free, factor, size, out)
            size -= 1
            continue
        for a in range(size):
            x[free[a]] = z[a]
        entered = _steepest(matrix, linear, x, free[:size])
        if entered < 0:
            return
        free[size] = entered
        _add_column(matrix, free, factor, size)
        size += 1


@compiled_part
def _steepest(matrix: FloatArray, linear: FloatArray, x: FloatArray, free: IntArray) -> int:
    """Return the entry at zero whose increase lowers the objective most steeply, or -1 if none does."""
    pull = np.zeros(len(x))
    for c in free:
        for j in range(len(x)):
            pull[j] += matrix[c, j] * x[c]
    best, wanted = 0.0, -1
    for j in range(len(x)):
        gain = linear[j] - pull[j]
        if x[j] == 0.0 and gain > best and gain > 1e-13 * (abs(linear[j]) + pull[j]):
            best, wanted = gain, j
    return wanted


@compiled_part
def _add_column(matrix: FloatArray, free: IntArray, factor: FloatArray, last: int) -> None:
    """Extend the Cholesky factor by the last free entry; it is upper triangular, so that loops run along rows."""
    c = free[last]
    column = np.empty(last)
    for a in range(last):
        column[a] = matrix[c, free[a]]
    pivot = matrix[c, c]
    for a in range(last):
        column[a] /= factor[a, a]
        for b in range(a + 1, last):
            column[b] -= column[a] * factor[a, b]
        factor[a, last] = column[a]
        pivot -= column[a] * column[a]
    factor[last, last] = np.sqrt(max(pivot, _DUST * matrix[c, c]))


@compiled_part
def _drop_column(free: IntArray, factor: FloatArray, size: int, out: int) -> None:
    """Remove one entry from the Cholesky factor; rotations of neighbouring rows make it triangular again."""
    for a in range(out, size - 1):
        free[a] = free[a + 1]
    for a in range(size):
        for b in range(max(out, a - 1), size - 1):
            factor[a, b] = factor[a, b + 1]
    for a in range(out, size - 1):
        length = np.hypot(factor[a, a], factor[a + 1, a])
        cosine, sine = factor[a, a] / length, factor[a + 1, a] / length
        for b in range(a, size - 1):
            upper, lower = factor[a, b], factor[a + 1, b]
            factor[a, b] = cosine * upper + sine * lower
            factor[a + 1, b] = cosine * lower - sine * upper


@compiled_part
def _solve(factor: FloatArray, free: IntArray, linear: FloatArray, size: int, z: FloatArray) -> None:
    """Solve for the free entries, with the Cholesky factor."""
    for a in range(size):
        z[a] = linear[free[a]]
    for a in range(size):
        z[a] /= factor[a, a]
        for b in range(a + 1, size):
            z[b] -= factor[a, b] * z[a]
    for a in range(size - 1, -1, -1):
        for b in range(a + 1, size):
            z[a] -= factor[a, b] * z[b]
        z[a] /= factor[a, a]
