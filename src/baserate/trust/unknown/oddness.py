"""Oddness of a row of probabilities: low confidence, or a large distance from the rows of a holdout."""

from typing import NamedTuple

import numpy as np

from baserate.compiled import compiled, compiled_part
from baserate.protocols import FloatArray, IntArray
from baserate.trust._nearest import distance_to_nearest, distances_to_nearest

_FLOOR = 1e-4  # least probability before the logarithm: differences between smaller ones are ignored
_FIRST = 0  # of the references
LEAST_LOG = float(np.log(_FLOOR)) - 1e-9
"""A number just below all logarithms in a scale."""


class OddnessScale(NamedTuple):
    """Reference rows, and the scores of the holdout to rank new rows by.

    Attributes
    ----------
    columns : (k, m) array
        Logarithms of the probabilities of the reference rows; each reference is a column.
    doubts, distances : (n,) arrays
        Scores of the holdout, ascending: one minus the largest probability, and the distance of the logarithms to the
        nearest other reference.
    """

    columns: FloatArray
    doubts: FloatArray
    distances: FloatArray


def _scores(proba: FloatArray, columns: FloatArray, itself: IntArray) -> tuple[FloatArray, FloatArray]:
    every = np.full(len(proba), columns.shape[1])
    logs = np.log(np.maximum(proba, _FLOOR))
    return 1.0 - proba.max(axis=1), distances_to_nearest(logs, columns, np.zeros_like(every), every, itself)


def fit_oddness(proba: FloatArray, references: IntArray) -> tuple[OddnessScale, FloatArray]:
    """Fit the scale to a holdout, some rows of which are references; return it, and the oddness of each row.

    Oddness is from 0 to 2: the share of the holdout with more confidence, plus the share with a smaller distance.
    """
    columns = np.ascontiguousarray(np.log(np.maximum(proba[references], _FLOOR)).T)
    itself = np.full(len(proba), len(references))
    itself[references] = np.arange(len(references))  # a reference is not compared with itself
    doubts, distances = _scores(proba, columns, itself)
    odd = OddnessScale(columns, np.sort(doubts), np.sort(distances))
    return odd, _ranks(doubts, distances, odd)


def _ranks(doubts: FloatArray, distances: FloatArray, odd: OddnessScale) -> FloatArray:
    both = np.searchsorted(odd.doubts, doubts) + np.searchsorted(odd.distances, distances)
    return np.asarray(both / len(odd.doubts), dtype=np.float64)


@compiled_part
def _count_less(ascending: FloatArray, value: float) -> int:
    """Return how many numbers are less than a value, as ``np.searchsorted`` would, which takes long to compile."""
    first, end = 0, len(ascending)
    while first < end:
        middle = (first + end) // 2
        if ascending[middle] < value:
            first = middle + 1
        else:
            end = middle
    return first


@compiled
def count_odd(
    proba: FloatArray,
    columns: FloatArray,
    doubts: FloatArray,
    distances: FloatArray,
    limit: float,
    fade: float,
    seen: FloatArray,
) -> tuple[float, float]:
    """Add rows to the counts `seen`, (clear or odd, predicted class); return the sums of weights and of their squares.

    The last row has a weight of one, and each row before it `fade` times that of the next.
    """
    n, k = proba.shape
    logs, room = np.empty(k), np.empty(columns.shape[1])
    total, squares = 0.0, 0.0
    for i in range(n):
        predicted, odd = 0, 0
        for c in range(1, k):
            if proba[i, c] > proba[i, predicted]:
                predicted = c
        rank = _count_less(doubts, 1.0 - proba[i, predicted])
        if (rank + len(distances)) / len(doubts) > limit:  # else no distance makes the row odd
            for c in range(k):
                logs[c] = np.log(max(proba[i, c], _FLOOR))
            distance = distance_to_nearest(logs, columns, int(_FIRST), columns.shape[1], columns.shape[1], room)
            odd = 1 if (rank + _count_less(distances, distance)) / len(doubts) > limit else 0
        weight = fade ** (n - 1 - i)
        seen[odd, predicted] += weight
        total += weight
        squares += weight * weight
    return total, squares
