"""Counting the rows of many streams (compiled): cells of the check, pairs of neighbours, and the accuracy's window."""

import numpy as np
from numpy.typing import NDArray

from baserate.compiled import compiled
from baserate.protocols import FloatArray, IntArray
from baserate.trust.accuracy import count_window
from baserate.trust.assumption.cells import find_cells
from baserate.trust.dependence import STEEPEST

_LOWEST, _HIGHEST = STEEPEST


@compiled
def count_cells(
    rows: FloatArray,
    starts: IntArray,
    most: int,
    places: IntArray,
    columns: FloatArray,
    edges: FloatArray,
    cells: NDArray[np.int32],
    whole: NDArray[np.int32],
    alarmed: NDArray[np.bool_],
    windows: IntArray,
) -> None:
    """Count the cells of rows, in `whole` of streams that had an alarm.

    Of a stream with twice as many rows as `most` or more, only some from all over are counted.
    """
    room, n_windows = np.empty(columns.shape[1]), cells.shape[1]
    for j in range(len(places)):
        place, n = places[j], starts[j + 1] - starts[j]
        stride = n // most if n >= 2 * most else 1
        for i in range(starts[j], starts[j + 1], stride):
            first, second = find_cells(rows[i], columns, edges, room)
            for w in range(n_windows):
                cells[place, w, first] += 1
                cells[place, w, second] += 1
            if alarmed[j]:
                whole[place, first] += 1
                whole[place, second] += 1
        for w in range(n_windows):
            windows[place, 0, w] += (n + stride - 1) // stride


@compiled
def count_pairs(
    rows: FloatArray,
    starts: IntArray,
    most: int,
    places: IntArray,
    last: FloatArray,
    pairs: FloatArray,
    collected: IntArray,
) -> None:
    """Count neighbours of the same predicted class among the first rows of each stream."""
    k = rows.shape[1]
    for j in range(len(places)):
        place, n = places[j], starts[j + 1] - starts[j]
        n = most if n >= 2 * most else n
        for i in range(starts[j], starts[j] + n):
            predicted = 0
            for c in range(1, k):
                if rows[i, c] > rows[i, predicted]:
                    predicted = c
            largest = rows[i, predicted]
            sure = _HIGHEST if largest >= 1.0 else np.log(largest) - np.log1p(-largest)
            sure = min(max(sure, _LOWEST), _HIGHEST)
            if last[place, 0] == predicted:
                before = last[place, 1]
                pairs[place, predicted, 0] += 1.0
                pairs[place, predicted, 1] += before + sure
                pairs[place, predicted, 2] += before * sure
                pairs[place, predicted, 3] += before * before + sure * sure
            last[place, 0], last[place, 1] = predicted, sure
        collected[place] += n


@compiled
def count_windows(
    rows: FloatArray,
    adapted: FloatArray,
    mixes: FloatArray,
    starts: IntArray,
    labels: IntArray,
    predicted: IntArray,
    weights: FloatArray,
    window: int,
    alike: float,
    places: IntArray,
    part: IntArray,
    sizes: FloatArray,
    confidence: FloatArray,
    outputs: FloatArray,
    priors: FloatArray,
    labelled: FloatArray,
) -> None:
    """Count rows for the accuracy of each stream: see `AccuracyEstimate.take_in`."""
    for j in range(len(places)):
        at = places[j]
        part[at] = count_window(
            part[at], sizes[at], confidence[at], outputs[at], priors[at], labelled[at], rows, adapted,
            mixes[j : j + 1], starts[j : j + 2], labels, predicted, weights, window, alike,
        )  # fmt: skip
