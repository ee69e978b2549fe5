"""Grids that outputs were rounded to, on the way to a file or through a service.

A stream of rounded outputs differs from a holdout of exact ones, though nothing has happened to the model: ties, zeros
and ones are all new. So the holdout is rounded like the stream, or the stream like the holdout.
"""

import numpy as np
from numpy.typing import NDArray

from baserate.protocols import FloatArray

GRIDS = ("6 decimals", "5 decimals", "4 decimals", "float16", "3 decimals", "2 decimals")
"""Grids, from fine to coarse; grid 0 is none, grid 1 the first of these."""
_DECIMALS = {1: 6, 2: 5, 3: 4, 5: 3, 6: 2}
_NEAR = 1e-4  # of a step of the grid
_SINGLE, _AT_MOST = 6e-8, 0.006  # error of what was kept in single precision; more of a step would take in all rows
_SPREAD = 10  # rows that were normalised after rounding had sums of 1 plus or minus as many steps


def rounded(proba: FloatArray, grid: int) -> FloatArray:
    """Round rows to a grid, and normalise them."""
    if grid == 0:
        return proba
    rows = np.round(proba, _DECIMALS[grid]) if grid in _DECIMALS else proba.astype(np.float16).astype(np.float64)
    # Of many classes, none may be left.
    return np.where(rows.any(axis=1, keepdims=True), normalised(rows), proba)


def normalised(rows: FloatArray) -> FloatArray:
    """Divide rows by their sums, where those are not zero."""
    sums = rows.sum(axis=1, keepdims=True)
    return np.asarray(rows / np.where(sums > 0.0, sums, 1.0))


def on_grids(proba: FloatArray) -> NDArray[np.bool_]:
    """Return for each of `GRIDS` whether all rows are on it, be it before they were normalised.

    Examples
    --------
    >>> on_grids(np.array([[0.25, 0.75], [0.1, 0.9]])), on_grids(np.array([[0.2468, 0.7532]]))
    (array([ True,  True,  True, False,  True,  True]), array([ True,  True,  True, False, False, False]))
    """
    return np.asarray(row_grids(proba).all(axis=0))


def row_grids(proba: FloatArray) -> NDArray[np.bool_]:
    """Return which rows are on each of `GRIDS`, (n, grids)."""
    found = [_on_decimals(proba, 10**decimals) for decimals in _DECIMALS.values()]
    found.insert(GRIDS.index("float16"), _on_float16(proba))
    return np.column_stack(found)


def from_three_grids(on: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return flags of all grids, (n, grids), given those of files that knew only the coarsest three."""
    return np.column_stack([np.zeros((len(on), len(GRIDS) - on.shape[1]), dtype=bool), on])


def coarsest(on: NDArray[np.bool_]) -> int:
    """Return the coarsest of the grids that all rows are on, 0 for none."""
    found = np.flatnonzero(on)
    return int(found[-1]) + 1 if len(found) else 0


def _on_float16(proba: FloatArray) -> NDArray[np.bool_]:
    same = np.abs(proba.astype(np.float16) - proba) <= 1e-9
    # The last column may be what is left of 1.
    return np.asarray(same.sum(axis=1) >= proba.shape[1] - 1)


def _on_decimals(proba: FloatArray, steps: int) -> NDArray[np.bool_]:
    on, near = np.zeros(len(proba), dtype=bool), min(max(_NEAR, _SINGLE * steps), _AT_MOST)
    left = np.arange(len(proba))
    for more in sorted(range(-_SPREAD, _SPREAD + 1), key=abs):
        scaled = proba[left] * (steps + more)
        fits = (np.abs(scaled - np.round(scaled)) <= near).all(axis=1)
        on[left[fits]] = True
        left = left[~fits]
        if len(left) == 0:
            break
    return on
