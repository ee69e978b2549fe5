"""Movements that a path of class mixes misses: too small for a shorter window, but seen in all blocks together."""

import numpy as np

from baserate.compiled import compiled
from baserate.protocols import FloatArray, IntArray
from baserate.smoothing.path import Rows
from baserate.smoothing.windows import told

_LEAST = 1e-6  # least share of a path
_BLOCKS = 8  # of a length, in a log, are enough to compare them
_STEPS = 4  # blocks of a length that begin within it
_SURE = 1.5  # standard errors by which squared residuals are larger than chance makes them
_LARGEST = 9.0  # times what chance makes it: a squared residual counts for no more, so that no block decides alone
_OVERLAP = 0.7  # variance of a mean over blocks that overlap so, beside that over those which do not


def missed_movement(rows: Rows, path: FloatArray) -> FloatArray:
    """Return the variance of the true mix around a path, by class; 0 where there is no sign of any.

    A path that follows the mix leaves residuals that are independent of each other. So the squared mean residual of a
    block of rounds is on average the sum of its samples' squares over the square of their number. If the mix moves to
    and fro around the path more slowly than the blocks follow each other, it is larger, by the variance of that
    movement. No single block has to show it: this is a mean over all blocks of 2, 4, 8, ... rounds, up to an eighth of
    the log. Where the path follows the samples, in short windows, it shows too little; limits are wide there.

    Parameters
    ----------
    rows : Rows
    path : (T, k) array

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> share = np.repeat(rng.choice([0.4, 0.6], size=40), 25)  # moves every 25 rounds, by 0.1 up or down
    >>> y = (rng.random((1000, 10)) < share[:, np.newaxis]).astype(int).ravel()
    >>> rows = Rows(np.eye(2)[y], np.ones(10_000, dtype=int), np.arange(0, 10_001, 10))
    >>> bool(0.07 < missed_movement(rows, np.full((1000, 2), 0.5))[0] ** 0.5 < 0.13)
    True
    """
    likelihoods, labelled, starts = rows
    n_rounds, k = path.shape
    mixes = np.maximum(path, _LEAST)
    mixes /= mixes.sum(axis=1, keepdims=True)
    sums, squares = np.zeros((n_rounds + 1, k)), np.zeros((n_rounds + 1, k))
    values, vectors = told(likelihoods, labelled, starts, mixes)
    _sum_residuals(likelihoods, labelled, starts, mixes, values, vectors, sums, squares)
    found, length = np.zeros(k), 2
    while length * _BLOCKS <= n_rounds:
        step = max(1, length // _STEPS)
        first = np.arange(0, n_rounds - length + 1, step)
        n = (starts[first + length] - starts[first])[:, np.newaxis].astype(np.float64)
        by_chance = squares[first + length] - squares[first]  # times n^2, as all here: so blocks are weighted by it
        total = max(float((n**2).sum()), 1.0)
        residual = (sums[first + length] - sums[first]) ** 2
        excess = (np.minimum(residual, _LARGEST * by_chance) - by_chance).sum(axis=0) / total
        error = np.sqrt(2.0 * _OVERLAP * length / step * (by_chance**2).sum(axis=0)) / total
        found = np.where(excess > _SURE * error, np.maximum(found, excess), found)
        length *= 2
    return found


@compiled
def _sum_residuals(
    likelihoods: FloatArray,
    labelled: IntArray,
    starts: IntArray,
    path: FloatArray,
    values: FloatArray,
    vectors: FloatArray,
    sums: FloatArray,
    squares: FloatArray,
) -> None:
    """Sum over the rounds before each round what samples say of the distance of the mix from the path, and squares.

    A sample says it by a Newton step from the path, as `likeliest` takes it for a window; with a label, that is the
    label minus the path.
    """
    n_rounds, k = path.shape
    score, along = np.empty(k), np.empty(k)
    for t in range(n_rounds):
        sums[t + 1], squares[t + 1] = sums[t], squares[t]
        for i in range(starts[t], starts[t + 1]):
            total = 0.0
            for c in range(k):
                score[c] = path[t, c] * likelihoods[i, c]
                total += score[c]
            for c in range(k):
                score[c] = score[c] / total - path[t, c]
            if labelled[i] == 0:
                for c in range(k):
                    score[c] /= np.sqrt(path[t, c])
                for d in range(k):
                    along[d] = score[d]
                    if len(vectors) > 0:
                        along[d] = 0.0
                        for c in range(k):
                            along[d] += vectors[c, d] * score[c]
                    along[d] /= values[d]
                for c in range(k):
                    score[c] = along[c]
                    if len(vectors) > 0:
                        score[c] = 0.0
                        for d in range(k):
                            score[c] += vectors[c, d] * along[d]
                    score[c] *= np.sqrt(path[t, c])
            for c in range(k):
                sums[t + 1, c] += score[c]
                squares[t + 1, c] += score[c] ** 2
