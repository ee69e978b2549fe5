"""The mixture of a holdout's classes that is nearest to a stream's counts in cells (compiled).

Distances are measured by the covariance of the difference: that of the stream's shares, and that of the classes' shares
in the holdout. It is a diagonal matrix D less as many products of vectors as there are classes, and one more:
``D - V' V``. So its inverse takes the elimination of a matrix with a row for each class, and not one for each cell. All
shares sum to one; in that one direction, in which nothing can differ, a variance is made up.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baserate.compiled import compiled, compiled_part
from baserate.marginals.active_set import minimise_quadratic
from baserate.protocols import FloatArray, IntArray

LEAST = 1e-6
"""Share of a class below which the nearest mixture does without it."""
_PASSES = 3  # the covariance depends on the mix, and the mix on the covariance
_THIN = 20.0  # samples of a class, below which its share is taken to be the largest one possible
_COMMON = 0.1  # share of a class in a cell, from which on few rows in that cell mean that the class is rare
_RIDGE = 1e-9  # for classes that are the same in all cells
_DUST = 1e-12  # a pivot below this share of the largest entry is rounding error
_UNTOLD = 1e-4  # of a contrast's variance, below which the class mix explains all of it


class System(NamedTuple):
    """Shares of the classes in one system of cells.

    Attributes
    ----------
    means, smooth : (k, cells) arrays
        Each class's shares, and the same with pseudo-samples, for the covariance.
    unsure : (k,) array
        The variance of a class's shares, relative to that of a single sample.
    thin : (k,) array of bool
        Classes with few samples.
    contrasts : (c, cells) array
        Sums of cells to look at; none: all cells together.
    """

    means: FloatArray
    smooth: FloatArray
    unsure: FloatArray
    thin: NDArray[np.bool_]
    contrasts: FloatArray


class Nearest(NamedTuple):
    """The nearest mixture: its shares, the difference, and its statistic.

    Attributes
    ----------
    mix : (k,) array
    residual : (cells,) array
    chi2 : float
    z, errors : (c,) arrays
        Contrasts in standard errors, and the standard errors.
    """

    mix: FloatArray
    residual: FloatArray
    chi2: float
    z: FloatArray
    errors: FloatArray


def system(counts: FloatArray, pooled: float, even: float, few: float, contrasts: FloatArray) -> System:
    """Make a system of cells of the holdout's counts, (k, cells).

    `pooled` and `even` are pseudo-samples of each class, spread as the whole holdout is and, per cell, evenly. A class
    with fewer samples than `few` is hardly relied on at all: its shares are not yet normal.
    """
    cells = counts.shape[1]
    sizes = np.maximum(counts.sum(axis=1), 1.0)
    total = (counts.sum(axis=0) + 0.5) / (counts.sum() + 0.5 * cells)
    smooth = (counts + pooled * total + even) / (counts.sum(axis=1) + pooled + even * cells)[:, np.newaxis]
    return System(counts / sizes[:, np.newaxis], smooth, (1.0 + (few / sizes) ** 2) / sizes, sizes < _THIN, contrasts)


def covariance(of: System, mix: FloatArray, n: float) -> FloatArray:
    """Return the covariance of the difference between a stream of n samples and a mixture, (cells, cells)."""
    weights = mix**2 * of.unsure
    shares = mix @ of.smooth
    found = -(of.smooth.T * weights) @ of.smooth - np.outer(shares, shares) / n
    found[np.diag_indices(len(shares))] += shares / n + weights @ of.smooth
    return np.asarray(found)


def nearest(counts: FloatArray, of: System, start: FloatArray) -> Nearest:
    """Return the mixture of classes that is nearest to a stream's counts, (cells,)."""
    mix, residual = start.copy(), np.empty(len(counts))
    z, errors = np.zeros(len(of.contrasts)), np.zeros(len(of.contrasts))
    chi2 = _approach(np.ascontiguousarray(counts), *of, mix, residual, z, errors)
    return Nearest(mix, residual, chi2, z, errors)


@compiled
def _approach(
    counts: FloatArray,
    means: FloatArray,
    smooth: FloatArray,
    unsure: FloatArray,
    thin: NDArray[np.bool_],
    contrasts: FloatArray,
    mix: FloatArray,
    residual: FloatArray,
    z: FloatArray,
    errors: FloatArray,
) -> float:
    """Write the nearest mixture, the difference and the contrasts; return chi2."""
    k, cells = means.shape
    n, table, rows = 0.0, np.empty((2 * k + 1, 2 * k + 1)), np.empty((cells, 2 * k + 1))
    for j in range(cells):
        n += counts[j]
    shares, scale, most = counts / n, np.empty(cells), np.zeros(k)
    for c in range(k):
        if thin[c]:
            most[c] = _room(shares, n, smooth[c])
    matrix, linear = np.empty((k, k)), np.empty(k)
    for _ in range(_PASSES):
        _relate(shares, n, means, smooth, unsure, mix, most, scale, rows, table)
        # With ``E = mix' H mix`` the distance, a mix that need not sum to one has the least of ``E + w (1 - sum)^2``
        # in the direction of the nearest one that does, for any w.
        widest = 0.0
        for a in range(k):
            widest = max(widest, -table[k + 1 + a, k + 1 + a])
        widest = widest if widest > 0.0 else 1.0
        for a in range(k):
            linear[a] = widest
            for b in range(a, k):
                matrix[a, b] = matrix[b, a] = widest - table[k + 1 + a, k + 1 + b]
            matrix[a, a] += _RIDGE * widest
        minimise_quadratic(matrix, linear, mix)
        total = 0.0
        for c in range(k):
            total += mix[c]
        for c in range(k):
            mix[c] /= total
    for j in range(cells):
        residual[j] = shares[j]
        for c in range(k):
            residual[j] -= mix[c] * means[c, j]
    chi2 = 0.0
    for a in range(k):
        for b in range(k):
            chi2 -= mix[a] * mix[b] * table[k + 1 + min(a, b), k + 1 + max(a, b)]
    if len(contrasts) > 0:
        _compare(n, means, smooth, unsure, contrasts, mix, most, scale, rows, table, residual, z, errors)
    return max(chi2, 0.0)


@compiled_part
def _room(shares: FloatArray, n: float, smooth: FloatArray) -> float:
    """Return the largest share that a thin class can have, by the cells it is usually in.

    Where little is known of a class, the nearest mixture has too little of it, and would seem more certain than it is.
    """
    most = 1.0
    for j in range(len(shares)):
        if smooth[j] >= _COMMON:
            most = min(most, (shares[j] + 3.0 * np.sqrt(shares[j] / n) + 1.0 / n) / smooth[j])
    return most


@compiled_part
def _relate(
    shares: FloatArray,
    n: float,
    means: FloatArray,
    smooth: FloatArray,
    unsure: FloatArray,
    mix: FloatArray,
    most: FloatArray,
    scale: FloatArray,
    rows: FloatArray,
    table: FloatArray,
) -> None:
    """Relate the differences of all classes' shares to the stream's, by the inverse of the covariance at a mix.

    Parameters
    ----------
    scale : (cells,) array
        Becomes ``1 / sqrt(D)``.
    rows : (cells, 2 k + 1) array
        Becomes V, and the stream's shares less each class's, in units of the scale.
    table : (2 k + 1, 2 k + 1) array
        Becomes, above its diagonal: the factor of what is left of the identity without ``V' V``; and, in the last k
        rows and columns, minus the products of the classes' differences.
    """
    k, cells = means.shape
    size, root = 2 * k + 1, np.sqrt(1.0 / n)
    weights, sure = np.empty(k), np.empty(k + 1)
    for c in range(k):
        weights[c] = max(mix[c], most[c]) ** 2 * unsure[c]
        sure[c] = np.sqrt(weights[c])
    sure[k] = root
    length = 1.0 / n
    for c in range(k):
        length += weights[c]
    for j in range(cells):
        expected, spread = 0.0, 0.0
        for c in range(k):
            expected += mix[c] * smooth[c, j]
            spread += weights[c] * smooth[c, j]
        scale[j] = 1.0 / np.sqrt(expected / n + spread)
        for c in range(k):
            rows[j, c] = sure[c] * smooth[c, j] * scale[j]
            rows[j, k + 1 + c] = (shares[j] - means[c, j]) * scale[j]
        rows[j, k] = root * expected * scale[j]
    table[:] = 0.0
    for a in range(k + 1):
        table[a, a] = 1.0
        for b in range(a, k + 1):
            table[a, b] += sure[a] * sure[b] / length  # the direction in which all shares grow
    for j in range(0, cells - 3, 4):  # four at a time, because reading and writing the table takes longer than the sums
        for a in range(size):
            w, x, y, z = rows[j, a], rows[j + 1, a], rows[j + 2, a], rows[j + 3, a]
            for b in range(a, size):
                table[a, b] -= (w * rows[j, b] + x * rows[j + 1, b]) + (y * rows[j + 2, b] + z * rows[j + 3, b])
    for j in range(cells - cells % 4, cells):
        for a in range(size):
            x = rows[j, a]
            for b in range(a, size):
                table[a, b] -= x * rows[j, b]
    for a in range(k + 1):
        scaled = 1.0 / np.sqrt(max(table[a, a], _DUST))
        for b in range(a, size):
            table[a, b] *= scaled
        for i in range(a + 1, size):
            x = table[a, i]
            for b in range(i, size):
                table[i, b] -= x * table[a, b]


@compiled_part
def _compare(
    n: float,
    means: FloatArray,
    smooth: FloatArray,
    unsure: FloatArray,
    contrasts: FloatArray,
    mix: FloatArray,
    most: FloatArray,
    scale: FloatArray,
    rows: FloatArray,
    table: FloatArray,
    residual: FloatArray,
    z: FloatArray,
    errors: FloatArray,
) -> None:
    """Write contrasts in standard errors, and the standard errors, given that the mix was fitted."""
    k, cells = means.shape
    used, size = np.empty(k, dtype=np.int64), 0
    for c in range(k):
        if mix[c] > LEAST:
            used[size] = c
            size += 1
    factor, pull, moved, left = np.zeros((k, k)), np.empty(k), np.empty(k + 1), np.empty(cells)
    _factorise(used, size, table, k + 1, factor)
    for i in range(len(contrasts)):
        # The part of the contrast that the mix has been fitted to: as much of each class in the place of the first.
        for a in range(1, size):
            pull[a] = 0.0
            for j in range(cells):
                pull[a] -= contrasts[i, j] * (means[used[a], j] - means[used[0], j])
        _solve(factor, size, pull)
        pull[0] = 0.0
        for a in range(1, size):
            pull[0] -= pull[a]
        for b in range(k, -1, -1):
            moved[b] = 0.0
            for a in range(size):
                moved[b] -= pull[a] * table[b, k + 1 + used[a]]
            for a in range(b + 1, k + 1):
                moved[b] -= table[b, a] * moved[a]
            moved[b] /= table[b, b]
        for j in range(cells):
            found = 0.0
            for a in range(size):
                found += pull[a] * rows[j, k + 1 + used[a]]
            for b in range(k + 1):
                found += moved[b] * rows[j, b]
            left[j] = contrasts[i, j] - found * scale[j]
        variance = _variance(left, n, smooth, unsure, mix, most)
        z[i], errors[i] = 0.0, np.sqrt(max(variance, 1e-300))
        if variance > _UNTOLD * _variance(contrasts[i], n, smooth, unsure, mix, most):
            for j in range(cells):
                z[i] += contrasts[i, j] * residual[j]
            z[i] /= errors[i]


@compiled_part
def _factorise(used: IntArray, size: int, table: FloatArray, first: int, factor: FloatArray) -> None:
    """Factorise the products of differences of the classes that are used from the first of them."""
    origin, widest = first + used[0], 0.0
    for a in range(1, size):
        own = first + used[a]
        for b in range(a, size):
            other = first + used[b]
            factor[a, b] = table[origin, own] + table[origin, other] - table[own, other] - table[origin, origin]
        widest = max(widest, factor[a, a])
    for a in range(1, size):
        # A class that others make up says nothing of its own.
        scaled = 1.0 / np.sqrt(factor[a, a]) if factor[a, a] > _DUST * widest else 0.0
        for b in range(a, size):
            factor[a, b] *= scaled
        for i in range(a + 1, size):
            for b in range(i, size):
                factor[i, b] -= factor[a, i] * factor[a, b]


@compiled_part
def _solve(factor: FloatArray, size: int, x: FloatArray) -> None:
    """Solve for the classes that are used but the first, in place."""
    for a in range(1, size):
        x[a] = x[a] / factor[a, a] if factor[a, a] > 0.0 else 0.0
        for b in range(a + 1, size):
            x[b] -= factor[a, b] * x[a]
    for a in range(size - 1, 0, -1):
        for b in range(a + 1, size):
            x[a] -= factor[a, b] * x[b]
        x[a] = x[a] / factor[a, a] if factor[a, a] > 0.0 else 0.0


@compiled_part
def _variance(
    contrast: FloatArray, n: float, smooth: FloatArray, unsure: FloatArray, mix: FloatArray, most: FloatArray
) -> float:
    """Return the variance of a contrast."""
    of_stream, squares, mean = 0.0, 0.0, 0.0
    for c in range(len(mix)):
        own_mean, own_squares = 0.0, 0.0
        for j in range(len(contrast)):
            own_mean += contrast[j] * smooth[c, j]
            own_squares += contrast[j] * contrast[j] * smooth[c, j]
        of_stream += max(mix[c], most[c]) ** 2 * unsure[c] * (own_squares - own_mean * own_mean)
        squares += mix[c] * own_squares
        mean += mix[c] * own_mean
    return of_stream + (squares - mean * mean) / n
