"""Grouping a batch by key."""

from typing import NamedTuple

import numpy as np

from baserate.compiled import compiled
from baserate.protocols import FloatArray, IntArray, Key


class Groups(NamedTuple):
    """A checked batch, sorted by key: key j has the rows ``starts[j]:starts[j + 1]``; row i was row ``order[i]``."""

    keys: list[Key]
    places: IntArray  # indices of the keys in the bank's arrays; new keys follow those that are held
    order: IntArray
    starts: IntArray
    proba: FloatArray
    labels: IntArray | None
    as_given: FloatArray  # before sorting, and before calibration
    uncalibrated: bool  # whether calibration changes nothing


@compiled
def sort_by_key(places: IntArray, index: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the first row of each key, the stable order that sorts rows by key, and where each key starts in it.

    `index` is scratch space with an entry for every place, in any state: an entry counts only if the key that it points
    to points back. So it need not be cleared, and a few rows take little time in a large bank.
    """
    n, n_keys = len(places), 0
    first, key_of_row, sizes = np.empty(n, np.int64), np.empty(n, np.int64), np.zeros(n, np.int64)
    for i in range(n):
        j = index[places[i]]
        if not (0 <= j < n_keys and places[first[j]] == places[i]):
            j = n_keys
            index[places[i]], first[j] = j, i
            n_keys += 1
        key_of_row[i] = j
        sizes[j] += 1
    starts, order = np.zeros(n_keys + 1, np.int64), np.empty(n, np.int64)
    for j in range(n_keys):
        starts[j + 1] = starts[j] + sizes[j]
        sizes[j] = starts[j]
    for i in range(n):
        order[sizes[key_of_row[i]]] = i
        sizes[key_of_row[i]] += 1
    return first[:n_keys].copy(), order, starts
