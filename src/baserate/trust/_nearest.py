"""Distance of rows of log-probabilities to the nearest of some reference rows."""

import numpy as np

from baserate.compiled import compiled, compiled_part
from baserate.protocols import FloatArray, IntArray


@compiled_part
def distance_to_nearest(
    logs: FloatArray, columns: FloatArray, first: int, end: int, left_out: int, room: FloatArray
) -> float:
    """Return the distance to the nearest of the references ``first:end`` except `left_out`; infinite if there is none.

    References that are equal do not count: a row that is equal to one may be that very sample, as where the holdout is
    played back as a stream. No reference is left out if `left_out` is the number of references.

    `room` is scratch space for as many numbers as there are references. Callers write ``int(first)`` for a constant:
    numba would compile it anew for every one.
    """
    totals = room[first:end]
    totals[:] = 0.0
    for c in range(len(logs)):
        value, column = logs[c], columns[c, first:end]
        for r in range(len(totals)):
            gap = value - column[r]
            totals[r] += gap * gap
    nearest = np.inf
    for r in range(len(totals)):
        if 0.0 < totals[r] < nearest and first + r != left_out:
            nearest = totals[r]
    return float(np.sqrt(nearest))


@compiled
def distances_to_nearest(
    logs: FloatArray, columns: FloatArray, firsts: IntArray, ends: IntArray, left_out: IntArray
) -> FloatArray:
    """Return the same for each of some rows, (n,)."""
    room, out = np.empty(columns.shape[1]), np.empty(len(logs))
    for i in range(len(logs)):
        out[i] = distance_to_nearest(logs[i], columns, firsts[i], ends[i], left_out[i], room)
    return out
