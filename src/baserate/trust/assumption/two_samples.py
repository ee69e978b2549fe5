"""Evidence of a stream against label shift, given a labelled holdout that is itself a sample.

Write M[k, j] for the chance that a sample of class k is predicted j, and m[k] for the mean of a test function g over
class k. With the one vector b for which ``M b = m``, the residual ``h = g - b[predicted class]`` has mean zero in every
class, and so under label shift in every round, wherever the class mix goes. For a bet of size a on the stream, and of
sizes ``a v[k] / n[k]`` the other way on the n[k] samples of class k in the holdout,

    W = product over stream (1 + a h)  *  product over holdout (1 - a v[k] h / n[k])

is a product of independent factors of mean one, and hence exceeds 1 / p with a probability of at most p. With v the
class counts that the stream seems to have, ``M^T v = predicted counts``, the first-order terms of b cancel between the
two products: an error in b costs on the stream what it gains on the holdout. So W is computed at the estimated b and v,
with an error of second order. The size a is the one that is optimal if W ends up at 1 / p.
"""

from typing import NamedTuple

import numpy as np

from baserate.compiled import compiled
from baserate.protocols import FloatArray
from baserate.trust.assumption.regions import RANGES

_LEAST_Z = 2.5  # standard errors below which a bet is not computed, because it cannot win what its look costs
_ROUNDING = 1e-9  # least variance; below it, the predicted class explains the test function entirely
_LARGEST_LOSS = 0.9  # of one factor: no possible sample may cost more than this


class Residuals(NamedTuple):
    """Residuals of test functions: minus the part that the predicted class explains; with the holdout's counts.

    Attributes
    ----------
    values : (g, cells) array
        The residuals by cell.
    by_cell : (cells, g) array
        The same the other way round.
    ends : (g, 2) array
        The smallest value of each, at most zero, and the largest, at least zero.
    holdout : (k, cells) array
        Number of samples of each class in each cell.
    sizes : (k,) array
        Number of samples of each class.
    inverse : (k, k) array
        The inverse of M.
    """

    values: FloatArray
    by_cell: FloatArray
    ends: FloatArray
    holdout: FloatArray
    sizes: FloatArray
    inverse: FloatArray


def residuals(values: FloatArray, holdout: FloatArray) -> Residuals:
    """Compute residuals of test functions, (g, cells), given the holdout's counts by class and cell, (k, cells)."""
    k = len(holdout)
    sizes = holdout.sum(axis=1)
    inverse = np.linalg.inv(holdout.reshape(k, k, RANGES).sum(axis=2) / sizes[:, np.newaxis])
    explained = (values @ holdout.T / sizes) @ inverse.T
    left = values - np.repeat(explained, RANGES, axis=1)
    ends = np.stack([np.minimum(left.min(axis=1), 0.0), np.maximum(left.max(axis=1), 0.0)], axis=1)
    return Residuals(
        left, np.ascontiguousarray(left.T), ends, np.ascontiguousarray(holdout), sizes, np.ascontiguousarray(inverse)
    )


def class_ratios(stream: FloatArray, tested: Residuals) -> FloatArray:
    """Return the estimated number of samples of each class in the stream, divided by the holdout's."""
    return np.asarray(stream.reshape(-1, RANGES).sum(axis=1) @ tested.inverse / tested.sizes)


def log_evidence(stream: FloatArray, tested: Residuals, logs: FloatArray) -> FloatArray | None:
    """Return the logarithms of W for each test function, on the sides "too much" and "too little", (g, 2).

    Parameters
    ----------
    stream : (cells,) array
        Number of samples of the stream in each cell.
    tested : Residuals
        The residuals of the test functions.
    logs : (g,) array
        ``log(1 / p)`` of each test function and side.

    Returns
    -------
    array or None
        Minus infinity where the stream does not deviate to that side by two and a half standard errors: such a bet is
        worth little, and may be left out. None if that is so everywhere.
    """
    out = np.empty((len(logs), 2))
    return out if _bet(stream, *tested, logs, out) > 0 else None


@compiled
def _bet(
    stream: FloatArray,
    residual: FloatArray,
    by_cell: FloatArray,
    ends: FloatArray,
    holdout: FloatArray,
    sizes: FloatArray,
    inverse: FloatArray,
    logs: FloatArray,
    out: FloatArray,
) -> int:
    """Write the logarithms of W; return for how many test functions."""
    k, n_cells = holdout.shape
    n_tests, bets = by_cell.shape[1], 0
    ratio, totals, variances = np.zeros(k), np.zeros(n_tests), np.zeros(n_tests)
    for c in range(k):
        predicted = 0.0
        for cell in range(c * RANGES, (c + 1) * RANGES):
            predicted += stream[cell]
        for d in range(k):
            ratio[d] += predicted * inverse[c, d]
    for c in range(k):
        ratio[c] /= sizes[c]
    for cell in range(n_cells):
        seen, spread = stream[cell], stream[cell]
        for c in range(k):
            spread += ratio[c] * ratio[c] * holdout[c, cell]
        for g in range(n_tests):
            totals[g] += seen * by_cell[cell, g]
            variances[g] += spread * by_cell[cell, g] * by_cell[cell, g]
    for g in range(n_tests):
        out[g, 0] = out[g, 1] = -np.inf
        if not (totals[g] ** 2 > _LEAST_Z**2 * variances[g] and variances[g] >= _ROUNDING):
            continue
        bets += 1
        h, low, high = residual[g], ends[g, 0], ends[g, 1]
        side = 0 if totals[g] > 0.0 else 1
        sign = 1.0 - 2.0 * side
        worst = -low if side == 0 else high
        for c in range(k):
            worst = max(worst, ratio[c] * sign * (high if ratio[c] * sign > 0.0 else low))
        bet = sign * min(np.sqrt(2.0 * logs[g] / variances[g]), _LARGEST_LOSS / worst)
        gained = 0.0
        for cell in range(n_cells):
            if stream[cell] > 0.0:
                gained += stream[cell] * np.log1p(bet * h[cell])
            for c in range(k):
                if holdout[c, cell] > 0.0:
                    gained += holdout[c, cell] * np.log1p(-bet * ratio[c] * h[cell])
        out[g, side] = gained
    return bets
