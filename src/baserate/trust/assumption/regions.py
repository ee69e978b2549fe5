"""Regions of a model's outputs, and the test functions on them: the share of a stream in each region.

A cell is a predicted class and a range of a score. There are two scores: doubt, one minus the largest probability, and
strangeness, the distance of a row to the nearest of some reference rows of the holdout. No range depends on the samples
that are tested, because that would invalidate the test.
"""

from typing import NamedTuple

import numpy as np

from baserate.compiled import compiled, compiled_part
from baserate.protocols import FloatArray, IntArray
from baserate.trust._nearest import distance_to_nearest, distances_to_nearest

DOUBT_EDGES = np.array([0.0003, 0.003, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5])
"""Boundaries of the ranges of doubt."""
RANGES = len(DOUBT_EDGES) + 1
GRADED = -1
"""Stands for an edge: the test function that grows with the range, from 0 to 1."""
EVERY = -1
"""Stands for a class: any predicted class."""
DOUBT_GRADES = np.array([0.0, 0.001, 0.005, 0.02, 0.06, 0.15, 0.27, 0.42, 0.6]) / 0.6  # about the middles of the ranges
EVEN_GRADES = np.arange(RANGES) / (RANGES - 1.0)
_CLASS_EDGES = (GRADED, 1, 3, 4, 5)
_QUANTILES = np.array(
    [0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98]
)  # of strangeness, which are the boundaries of its ranges
_FLOOR = 1e-4  # least probability before the logarithm, for distances: smaller ones count as equal
LEAST_LOG = float(np.log(_FLOOR)) - 1e-9
"""A number just below all logarithms in references."""
FLOOR = 1e-8
"""The same for directions, for which differences between small probabilities matter."""
LIMIT = 1.0
"""Largest absolute score along a direction; larger ones are clipped."""


class Regions(NamedTuple):
    """The test functions on the cells.

    Attributes
    ----------
    values : (g, k * RANGES) array
        Value of each test function on each cell, between 0 and 1.
    weights : (g,) array
        The share of the error probability that is spent on each; they sum to one.
    classes, edges : (g,) arrays of int
        A function is 1 where this class is predicted with a score above this edge; see `EVERY`, `GRADED`.
    """

    values: FloatArray
    weights: FloatArray
    classes: IntArray
    edges: IntArray


def regions(n_classes: int, grades: FloatArray) -> Regions:
    """Make the test functions for k classes; half of the error probability goes to single classes."""
    predicted = np.repeat(np.arange(n_classes), RANGES)
    profiles = {edge: (np.arange(RANGES) > edge).astype(np.float64) for edge in range(RANGES - 1)} | {GRADED: grades}
    overall = [(EVERY, edge) for edge in profiles]
    single = [(c, edge) for c in range(n_classes) for edge in _CLASS_EDGES]
    values = [np.tile(profiles[e], n_classes) * ((c == EVERY) | (predicted == c)) for c, e in overall + single]
    weights = np.repeat([0.5 / len(overall), 0.5 / len(single)], [len(overall), len(single)])
    classes, edges = np.array(overall + single).T
    return Regions(np.array(values), weights, classes.copy(), edges.copy())


class References(NamedTuple):
    """Reference rows of the holdout, as logarithms, sorted by predicted class.

    Attributes
    ----------
    columns : (k, m) array
        Logarithms of probabilities; each reference is a column, so that a new row is compared with many at a time.
    starts : (k + 1,) array of int
        The references predicted as class c are ``starts[c]:starts[c + 1]``.
    """

    columns: FloatArray
    starts: IntArray


def references(proba: FloatArray) -> References:
    """Make references of rows."""
    predicted = proba.argmax(axis=1)
    order = np.argsort(predicted, kind="stable")
    sizes = np.bincount(predicted, minlength=proba.shape[1])
    columns = np.ascontiguousarray(np.log(np.maximum(proba[order], _FLOOR)).T)
    return References(columns, np.concatenate([[0], np.cumsum(sizes)]))


@compiled_part
def _predicted(row: FloatArray) -> int:
    best = 0
    for c in range(1, len(row)):
        if row[c] > row[best]:
            best = c
    return best


def strangeness_edges(compared_with: References) -> FloatArray:
    """Return boundaries of the ranges of strangeness: quantiles of each reference's distance to others of its class."""
    columns, starts = compared_with
    sizes = np.diff(starts)
    firsts, ends = np.repeat(starts[:-1], sizes), np.repeat(starts[1:], sizes)
    found = distances_to_nearest(np.ascontiguousarray(columns.T), columns, firsts, ends, np.arange(len(firsts)))
    finite = found[np.isfinite(found)]
    return np.quantile(finite, _QUANTILES) if len(finite) else EVEN_GRADES[1:]


@compiled_part
def _level(score: float, edges: FloatArray) -> int:
    level = 0
    while level < len(edges) and score > edges[level]:
        level += 1
    return level


@compiled_part
def _count(largest: float, c: int, strange: float, edges: FloatArray, counts: FloatArray) -> None:
    first = c * RANGES + _level(1.0 - largest, edges[0])
    second = c * RANGES + _level(strange, edges[1])
    for window in range(counts.shape[1]):
        counts[0, window, first] += 1.0
        counts[1, window, second] += 1.0


@compiled
def count_cells(
    proba: FloatArray, columns: FloatArray, starts: IntArray, edges: FloatArray, counts: FloatArray
) -> None:
    """Add a batch to the counts of cells, (score, window, cell)."""
    logs, room = np.empty(proba.shape[1]), np.empty(columns.shape[1])
    for i in range(len(proba)):
        c = _predicted(proba[i])
        for j in range(len(logs)):
            logs[j] = np.log(max(proba[i, j], _FLOOR))
        strange = distance_to_nearest(logs, columns, starts[c], starts[c + 1], columns.shape[1], room)
        _count(proba[i, c], c, strange, edges, counts)


@compiled
def add_rows(
    proba: FloatArray,
    columns: FloatArray,
    starts: IntArray,
    edges: FloatArray,
    counts: FloatArray,
    slopes: FloatArray,
    centres: FloatArray,
    explained: FloatArray,
    sums: FloatArray,
    seen: FloatArray,
    since: FloatArray,
    moments: FloatArray,
) -> None:
    """Add a round to the counts of cells, as `count_cells` does, and to the sums of `Directions`, in one pass."""
    k = proba.shape[1]
    logs, floored, room = np.empty(k), np.empty(k), np.empty(columns.shape[1])
    floor = np.log(_FLOOR)
    for i in range(len(proba)):
        c = _predicted(proba[i])
        score = -centres[c]
        for j in range(k):
            logs[j] = np.log(max(proba[i, j], FLOOR))
            floored[j] = max(logs[j], floor)
            score += slopes[c, j] * logs[j]
            sums[c, j] += logs[j]
        seen[c] += 1.0
        since[c] += 1.0
        residual = min(max(score, -LIMIT), LIMIT) - explained[c]
        power = 1.0
        for m in range(len(moments)):
            power *= residual
            moments[m] += power
        strange = distance_to_nearest(floored, columns, starts[c], starts[c + 1], columns.shape[1], room)
        _count(proba[i, c], c, strange, edges, counts)
