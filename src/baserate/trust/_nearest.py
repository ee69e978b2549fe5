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
    # Indices without a sign, because numba would look at that of each.
    low, high, k = np.uint64(first), np.uint64(end), len(logs)
    # Four classes at a time, because reading and writing `room` takes longer than the sums.
    for c in range(0, k - 3, 4):
        a, b, d, e = logs[c], logs[c + 1], logs[c + 2], logs[c + 3]
        for r in range(low, high):
            total = room[r] if c > 0 else 0.0
            total += (a - columns[c, r]) ** 2
            total += (b - columns[c + 1, r]) ** 2
            total += (d - columns[c + 2, r]) ** 2
            room[r] = total + (e - columns[c + 3, r]) ** 2
    for c in range(k - k % 4, k):
        a = logs[c]
        for r in range(low, high):
            room[r] = (room[r] if c > 0 else 0.0) + (a - columns[c, r]) ** 2
    if first <= left_out < end:
        room[left_out] = 0.0
    least = np.inf
    for r in range(low, high):
        least = room[r] if 0.0 < room[r] < least else least
    return float(np.sqrt(least))


@compiled
def distances_to_nearest(
    logs: FloatArray, columns: FloatArray, firsts: IntArray, ends: IntArray, left_out: IntArray
) -> FloatArray:
    """Return the same for each of some rows, (n,)."""
    room, out = np.empty(columns.shape[1]), np.empty(len(logs))
    for i in range(len(logs)):
        out[i] = distance_to_nearest(logs[i], columns, firsts[i], ends[i], left_out[i], room)
    return out
