"""Cells of a model's outputs in which a stream is counted, and the counts of a labelled holdout.

There are two systems of cells. The first are neighbourhoods of outputs, found by k-means of the holdout's
log-probabilities. The second are the predicted class and a range of its probability. A row is in one cell of each.
"""

from typing import NamedTuple

import numpy as np

from baserate.compiled import compiled, compiled_within
from baserate.protocols import FloatArray, IntArray

RANGES = 6
"""Ranges of confidence of each predicted class; fewer if there are many classes."""
FLOOR = 1e-3
"""Least probability before the logarithm: what is smaller is alike, also if it was rounded to 3 decimals."""
_FEW, _MANY, _MANY_CLASSES = 16, 40, 20  # neighbourhoods, and the number of classes from which on there are more
_PASSES = 12
_MOST_ROWS = 4000  # of the holdout that neighbourhoods are found with
_MOST_GROUPS = 60  # predicted classes beyond that share their cells
_MOST = 240  # cells of the second system
_OWN = 24  # predictions of a class from which on it has ranges of its own


class Cells(NamedTuple):
    """Where the cells are.

    Attributes
    ----------
    centres : (m, k) array
        The middle of each neighbourhood, as log-probabilities.
    edges : (k, ranges - 1) array
        The boundaries of the ranges of confidence, by predicted class.
    """

    centres: FloatArray
    edges: FloatArray

    @property
    def columns(self) -> FloatArray:
        """The centres, (k, m), so that a row is compared with many at a time."""
        return np.ascontiguousarray(self.centres.T)


def groups(n_classes: int) -> int:
    """Return how many groups of predicted classes have cells of their own."""
    return min(n_classes, _MOST_GROUPS)


def n_cells(cells: Cells) -> int:
    """Return the number of cells of both systems together."""
    return len(cells.centres) + groups(len(cells.edges)) * (int(cells.edges.shape[1]) + 1)


def fit_cells(proba: FloatArray) -> Cells:
    """Find cells of the rows of a holdout; the same rows give the same cells."""
    k = proba.shape[1]
    logs = np.log(np.maximum(proba[:: max(1, len(proba) // _MOST_ROWS)], FLOOR))
    centres = _neighbourhoods(logs, _MANY if k >= _MANY_CLASSES else _FEW)
    ranges = min(RANGES, _MOST // groups(k))
    shares = np.arange(1, ranges) / ranges
    predicted, largest = proba.argmax(axis=1), proba.max(axis=1)
    together = np.quantile(largest, shares)
    own = [largest[predicted == c] for c in range(k)]
    return Cells(centres, np.array([np.quantile(rows, shares) if len(rows) >= _OWN else together for rows in own]))


def _neighbourhoods(logs: FloatArray, most: int) -> FloatArray:
    """Return at most so many centres, by k-means from centres that were drawn far apart (k-means++)."""
    rng = np.random.default_rng(0)
    centres = logs[[rng.integers(len(logs))]]
    apart = ((logs - centres[0]) ** 2).sum(axis=1)
    while len(centres) < most and apart.max() > 1e-9:
        centres = np.vstack([centres, logs[rng.choice(len(logs), p=apart / apart.sum())]])
        apart = np.minimum(apart, ((logs - centres[-1]) ** 2).sum(axis=1))
    for _ in range(_PASSES):
        squares = (centres**2).sum(axis=1) - 2.0 * logs @ centres.T
        nearest = squares.argmin(axis=1)
        sizes = np.bincount(nearest, minlength=len(centres))
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, logs)
        centres = np.where(sizes[:, np.newaxis] > 0, sums / np.maximum(sizes, 1)[:, np.newaxis], centres)
    return np.ascontiguousarray(centres)


def holdout_counts(proba: FloatArray, labels: IntArray, cells: Cells) -> FloatArray:
    """Count a holdout by class and cell, (k, cells)."""
    counts, columns = np.zeros((proba.shape[1], n_cells(cells))), cells.columns
    for c in range(len(counts)):
        add_to_cells(np.ascontiguousarray(proba[labels == c]), columns, cells.edges, counts[c : c + 1])
    return counts


@compiled_within
def find_cells(row: FloatArray, columns: FloatArray, edges: FloatArray, room: FloatArray) -> tuple[int, int]:
    """Return the two cells of a row; `columns` are the centres, (k, m), and `room` is scratch space for m numbers."""
    k, m = columns.shape
    predicted = 0
    for j in range(m):
        room[j] = 0.0
    for c in range(k):
        log = np.log(max(row[c], FLOOR))
        if row[c] > row[predicted]:
            predicted = c
        for j in range(m):
            room[j] += (log - columns[c, j]) ** 2
    nearest = 0
    for j in range(1, m):
        if room[j] < room[nearest]:
            nearest = j
    level, ranges = 0, edges.shape[1] + 1
    while level < ranges - 1 and row[predicted] > edges[predicted, level]:
        level += 1
    return nearest, m + (predicted % min(k, _MOST_GROUPS)) * ranges + level


@compiled
def add_to_cells(proba: FloatArray, columns: FloatArray, edges: FloatArray, counts: FloatArray) -> None:
    """Add each row to the counts of its two cells, (windows, cells); `columns` are the centres, (k, m)."""
    room = np.empty(columns.shape[1])
    for i in range(len(proba)):
        first, second = find_cells(proba[i], columns, edges, room)
        for window in range(len(counts)):
            counts[window, first] += 1.0
            counts[window, second] += 1.0
