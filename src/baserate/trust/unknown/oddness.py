"""How odd a row of probabilities is, among those of a holdout: in doubt, or unlike any that was laid aside."""

from typing import NamedTuple

import numpy as np

from baserate.compiled import compiled
from baserate.protocols import FloatArray, IntArray
from baserate.trust._nearest import distance_to_nearest

_FLOOR = 1e-4  # of probabilities, before the logarithm: smaller ones are all alike


class Odd(NamedTuple):
    """What oddness is measured by.

    Attributes
    ----------
    columns : (k, m) array
        Logarithms of the probabilities that were laid aside; a row is a column here, as in `References`.
    doubts, distances : (n,) arrays
        Of the holdout, ascending: one minus the largest probability, and the distance of the logarithms to the nearest
        other row that was laid aside.
    """

    columns: FloatArray
    doubts: FloatArray
    distances: FloatArray


@compiled
def _nearest(logs: FloatArray, columns: FloatArray, itself: IntArray, out: FloatArray) -> None:
    room = np.empty(columns.shape[1])
    for i in range(len(logs)):
        out[i] = distance_to_nearest(logs[i], columns, 0, columns.shape[1], itself[i], room)


def _scores(proba: FloatArray, columns: FloatArray, itself: IntArray) -> tuple[FloatArray, FloatArray]:
    distances = np.empty(len(proba))
    _nearest(np.log(np.maximum(proba, _FLOOR)), columns, itself, distances)
    return 1.0 - proba.max(axis=1), distances


def odd_among(proba: FloatArray, aside: IntArray) -> tuple[Odd, FloatArray]:
    """Learn from a holdout, of which some rows are laid aside; the oddness of each of its rows, too.

    Oddness is from 0 to 2: the share of the holdout that is less in doubt, and the share that is less far from others.
    """
    columns = np.ascontiguousarray(np.log(np.maximum(proba[aside], _FLOOR)).T)
    itself = np.full(len(proba), -1)
    itself[aside] = np.arange(len(aside))  # a row that was laid aside is near to itself, which says nothing
    doubts, distances = _scores(proba, columns, itself)
    odd = Odd(columns, np.sort(doubts), np.sort(distances))
    return odd, _ranks(doubts, distances, odd)


def _ranks(doubts: FloatArray, distances: FloatArray, odd: Odd) -> FloatArray:
    both = np.searchsorted(odd.doubts, doubts) + np.searchsorted(odd.distances, distances)
    return np.asarray(both / len(odd.doubts), dtype=np.float64)


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
    """Count rows in `seen`, (clear or odd, predicted class); gives the sum of their weights, and that of the squares.

    The last row has a weight of one, and each row before it `fade` times that of the next.
    """
    n, k = proba.shape
    logs, room = np.empty(k), np.empty(columns.shape[1])
    total, squares = 0.0, 0.0
    for i in range(n):
        predicted = 0
        for c in range(k):
            logs[c] = np.log(max(proba[i, c], _FLOOR))
            if proba[i, c] > proba[i, predicted]:
                predicted = c
        distance = distance_to_nearest(logs, columns, 0, columns.shape[1], -1, room)
        less_in_doubt = np.searchsorted(doubts, 1.0 - proba[i, predicted])
        rank = (less_in_doubt + np.searchsorted(distances, distance)) / len(doubts)
        weight = fade ** (n - 1 - i)
        seen[1 if rank > limit else 0, predicted] += weight
        total += weight
        squares += weight * weight
    return total, squares
