"""The mixture of a holdout's classes that is nearest to a stream's counts in cells.

Distances are measured by the covariance of the difference: that of the stream's shares, and that of the classes' shares
in the holdout. It is a diagonal matrix D less as many products of vectors as there are classes, and one more:
``D - V' V``. So its inverse takes the elimination of a matrix with a row for each class, and not one for each cell. All
shares sum to one; in that one direction, in which nothing can differ, a variance is made up.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baserate.marginals.active_set import minimise_quadratic
from baserate.protocols import FloatArray

LEAST = 1e-6
"""Share of a class below which the nearest mixture does without it."""
_PASSES = 3  # the covariance depends on the mix, and the mix on the covariance
_THIN = 20.0  # samples of a class, below which its share is taken to be the largest one possible
_COMMON = 0.1  # share of a class in a cell, from which on few rows in that cell mean that the class is rare
_RIDGE = 1e-9  # for classes that are the same in all cells
_DUST = 1e-12  # added to matrices, as a share, so that each has an inverse
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
    n, mix = float(counts.sum()), start.copy()
    shares = counts / n
    differences, most = shares - of.means, np.zeros(len(mix))
    for c in of.thin.nonzero()[0]:
        most[c] = _room(shares, n, of.smooth[c])
    for _ in range(_PASSES):
        pulls = _pulls(differences, of, mix, most, n)
        products = pulls @ differences.T
        mix = least(products, mix)
    residual, chi2 = shares - mix @ of.means, max(float(mix @ products @ mix), 0.0)
    z, errors = np.zeros(len(of.contrasts)), np.zeros(len(of.contrasts))
    if len(z) > 0:
        left = of.contrasts - _fitted(of, mix, pulls)
        variance = _variances(left, of, mix, most, n)
        errors = np.sqrt(np.maximum(variance, 1e-300))
        told = variance > _UNTOLD * _variances(of.contrasts, of, mix, most, n)
        z[told] = (of.contrasts @ residual)[told] / errors[told]
    return Nearest(mix, residual, chi2, z, errors)


def least(products: FloatArray, guess: FloatArray) -> FloatArray:
    """Return the shares of classes for which ``mix' products mix`` is least; they sum to one.

    `products` are those of the differences from each class, by the inverse of the covariance. The guess may be changed.
    """
    mix = guess
    # With ``E = mix' H mix`` the distance, a mix that need not sum to one has the least of ``E + w (1 - sum)^2``
    # in the direction of the nearest one that does, for any w.
    widest = float(products.diagonal().max())
    widest = widest if widest > 0.0 else 1.0
    matrix = 0.5 * (products + products.T) + widest
    matrix.ravel()[:: len(mix) + 1] += _RIDGE * widest
    linear = np.full(len(mix), widest)
    everywhere: FloatArray = np.linalg.solve(matrix, linear).astype(np.float64, copy=False)
    if everywhere.min() > 0.0:
        mix = everywhere
    elif len(mix) == 2:
        mix = (everywhere > 0.0).astype(np.float64)  # one of two is not needed, so that all is of the other
    else:  # some class is not needed; first files often do without this, which takes long to compile
        minimise_quadratic(matrix, linear, mix)
    return np.asarray(mix / mix.sum())


def _room(shares: FloatArray, n: float, smooth: FloatArray) -> float:
    """Return the largest share that a thin class can have, by the cells it is usually in.

    Where little is known of a class, the nearest mixture has too little of it, and would seem more certain than it is.
    """
    common = smooth >= _COMMON
    at_most = (shares + 3.0 * np.sqrt(shares / n) + 1.0 / n)[common] / smooth[common]
    return min(1.0, float(at_most.min(initial=1.0)))


def _pulls(differences: FloatArray, of: System, mix: FloatArray, most: FloatArray, n: float) -> FloatArray:
    """Return the inverse of the covariance at a mix times the differences from each class, (k, cells)."""
    k, weights = len(mix), np.maximum(mix, most) ** 2 * of.unsure
    expected = mix @ of.smooth
    scale = 1.0 / np.sqrt(expected / n + weights @ of.smooth)
    rows, sure = np.empty((k + 1, len(scale))), np.empty((k + 1, 1))
    sure[:k, 0], sure[k] = np.sqrt(weights), np.sqrt(1.0 / n)
    rows[:k], rows[k] = of.smooth, expected
    rows *= sure * scale
    scaled = differences * scale
    left = sure / (weights.sum() + 1.0 / n) * sure.T - rows @ rows.T  # the direction in which all shares grow
    left.ravel()[:: k + 2] += 1.0 + _DUST
    return np.asarray((scaled + (scaled @ rows.T) @ np.linalg.solve(left, rows)) * scale)


def _fitted(of: System, mix: FloatArray, pulls: FloatArray) -> FloatArray:
    """Return the part of each contrast that the mix has been fitted to.

    It moves as much of each class as it can in the place of the first one.
    A class that others make up says nothing of its own.
    """
    used = (mix > LEAST).nonzero()[0]
    first, others = used[0], used[1:]
    moves = pulls[others] - pulls[first]
    apart = of.means[first] - of.means[others]
    own = moves @ apart.T
    own.ravel()[:: len(others) + 1] += max(_DUST * own.diagonal().max(initial=0.0), 1e-300)
    return np.asarray((of.contrasts @ apart.T) @ np.linalg.solve(own, moves))


def _variances(contrasts: FloatArray, of: System, mix: FloatArray, most: FloatArray, n: float) -> FloatArray:
    """Return the variance of each contrast."""
    means, squares = contrasts @ of.smooth.T, contrasts**2 @ of.smooth.T
    of_stream = (squares - means * means) @ (np.maximum(mix, most) ** 2 * of.unsure)
    return np.asarray(of_stream + (squares @ mix - (means @ mix) ** 2) / n)
