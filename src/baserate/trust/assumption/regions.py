"""Regions of a model's outputs, and the test functions on them: how much of a stream is in a region.

A cell is a predicted class and a range of a score. There are two scores: doubt, one minus the largest probability, and
strangeness, how far a row is from all of some rows that were laid aside. None of the ranges is chosen by looking at the
samples that are tested with, because what they have chosen they could not test.
"""

from typing import NamedTuple

import numpy as np

from baserate.compiled import compiled
from baserate.protocols import FloatArray, IntArray
from baserate.trust._nearest import distance_to_nearest

DOUBT_EDGES = np.array([0.0003, 0.003, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5])
"""Where one range of doubt ends and the next begins."""
RANGES = len(DOUBT_EDGES) + 1
GRADED = -1
"""In the place of an edge: the test function that grows with the range, from 0 to 1."""
EVERY = -1
"""In the place of a class: whatever is predicted."""
DOUBT_GRADES = np.array([0.0, 0.001, 0.005, 0.02, 0.06, 0.15, 0.27, 0.42, 0.6]) / 0.6  # about the middles of the ranges
EVEN_GRADES = np.arange(RANGES) / (RANGES - 1.0)
_CLASS_EDGES = (GRADED, 1, 3, 4, 5)
_QUANTILES = np.array([0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98])  # of strangeness, where its ranges end
_FLOOR = 1e-4  # of probabilities, before the logarithm: smaller ones are all alike to distances
FLOOR = 1e-8
"""The same to directions, to which it matters how small the small ones are."""
LIMIT = 1.0
"""Scores along a direction are cut off here."""


class Regions(NamedTuple):
    """What is tested.

    Attributes
    ----------
    values : (g, k * RANGES) array
        Each test function on each cell, between 0 and 1.
    weights : (g,) array
        The share of the error probability that is spent on each; they sum to one.
    classes, edges : (g,) arrays of int
        A function is one where a class is predicted with a score above an edge; see `EVERY`, `GRADED`.
    """

    values: FloatArray
    weights: FloatArray
    classes: IntArray
    edges: IntArray


def regions(n_classes: int, grades: FloatArray) -> Regions:
    """For k classes; half of the error probability goes to all classes together, half to single ones."""
    predicted = np.repeat(np.arange(n_classes), RANGES)
    profiles = {edge: (np.arange(RANGES) > edge).astype(np.float64) for edge in range(RANGES - 1)} | {GRADED: grades}
    overall = [(EVERY, edge) for edge in profiles]
    single = [(c, edge) for c in range(n_classes) for edge in _CLASS_EDGES]
    values = [np.tile(profiles[e], n_classes) * ((c == EVERY) | (predicted == c)) for c, e in overall + single]
    weights = np.repeat([0.5 / len(overall), 0.5 / len(single)], [len(overall), len(single)])
    classes, edges = np.array(overall + single).T
    return Regions(np.array(values), weights, classes.copy(), edges.copy())


class References(NamedTuple):
    """Rows that were laid aside, as logarithms, sorted by predicted class.

    Attributes
    ----------
    columns : (k, m) array
        Logarithms of probabilities; a row is a column here, so that a new one is compared with many at a time.
    starts : (k + 1,) array of int
        Those of class c are ``starts[c]:starts[c + 1]``.
    """

    columns: FloatArray
    starts: IntArray


def references(proba: FloatArray) -> References:
    """Lay rows aside."""
    predicted = proba.argmax(axis=1)
    order = np.argsort(predicted, kind="stable")
    sizes = np.bincount(predicted, minlength=proba.shape[1])
    columns = np.ascontiguousarray(np.log(np.maximum(proba[order], _FLOOR)).T)
    return References(columns, np.concatenate([[0], np.cumsum(sizes)]))


@compiled
def _predicted(row: FloatArray) -> int:
    best = 0
    for c in range(1, len(row)):
        if row[c] > row[best]:
            best = c
    return best


def strangeness_edges(laid_aside: References) -> FloatArray:
    """Ranges of strangeness that the references, each among the others of its class, are spread over."""
    columns, starts = laid_aside
    room = np.empty(columns.shape[1])
    found = [
        distance_to_nearest(columns[:, r].copy(), columns, starts[c], starts[c + 1], r, room)
        for c in range(len(starts) - 1)
        for r in range(starts[c], starts[c + 1])
    ]
    finite = np.array([value for value in found if np.isfinite(value)])
    return np.quantile(finite, _QUANTILES) if len(finite) else EVEN_GRADES[1:]


@compiled
def _level(score: float, edges: FloatArray) -> int:
    level = 0
    while level < len(edges) and score > edges[level]:
        level += 1
    return level


@compiled
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
    """Add a batch to the counts of its cells, (score, window, cell)."""
    logs, room = np.empty(proba.shape[1]), np.empty(columns.shape[1])
    for i in range(len(proba)):
        c = _predicted(proba[i])
        for j in range(len(logs)):
            logs[j] = np.log(max(proba[i, j], _FLOOR))
        _count(proba[i, c], c, distance_to_nearest(logs, columns, starts[c], starts[c + 1], -1, room), edges, counts)


@compiled
def take_rows(
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
    """Take in a round at once: what `count_cells` does, and the part of `Directions` that every row has a part in."""
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
        _count(proba[i, c], c, distance_to_nearest(floored, columns, starts[c], starts[c + 1], -1, room), edges, counts)
