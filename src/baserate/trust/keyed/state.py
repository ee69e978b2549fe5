"""The state of many streams' trust signals: its arrays, and what a state file may hold of them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baserate.protocols import FloatArray, IntArray
from baserate.state.declarations import LONGEST, Array, Fields, flags, floats, ints
from baserate.trust.assumption.hull import MOST_EVIDENCE, WINDOWS
from baserate.trust.assumption.rounding import GRIDS, from_three_grids
from baserate.trust.prediction_powered import LabelledSums

PARTS = 4
"""Parts of the window that a stream's accuracy is estimated over; two of them are a full one."""


class State(NamedTuple):
    """State of each stream; all arrays have a leading axis of streams."""

    rows: IntArray
    """Number of rows, and of rounds."""
    cells: NDArray[np.int32]
    """Rows in each cell of the outputs, in each window of the check; no cells where nothing is tested."""
    whole: NDArray[np.int32]
    """The same over the whole stream, of a key that has had an alarm: the windows begin anew with each."""
    whole_looks: IntArray
    """Number of looks at that."""
    windows: IntArray
    """For each window, its number of rows, and how often it began anew."""
    looks: IntArray
    """Number of looks of the check at all rows since the last alarm."""
    on_grid: NDArray[np.bool_]
    """Whether all rows have been on each of the grids that outputs are rounded to."""
    evidence: FloatArray
    """Logarithms of the evidence: since the last alarm, and until the first one or of the whole stream."""
    alarms: IntArray
    """Round of the last alarm (-1 for none), for how many rounds it lasts, and the round in which the check began."""
    last: FloatArray
    """Predicted class (-1 for none) and log-odds of the last row."""
    pairs: FloatArray
    """Of neighbours of the same predicted class: their number, and sums of both, of products and of squares."""
    collected: IntArray
    """Rows since these sums began."""
    likeness: FloatArray
    """Products of neighbours about their class's mean, their variance, and the number of pairs, as they fade."""
    dependent: NDArray[np.bool_]
    """Whether neighbours are too much alike."""
    rehearsed: FloatArray
    """The part of the correction that the last rehearsal left."""
    part: IntArray
    """The part of the accuracy's window that is being filled."""
    sizes: FloatArray
    """Rows in each part of the window."""
    confidence: FloatArray
    """Sums of the largest adapted probabilities."""
    outputs: FloatArray
    """Sums of the calibrated probabilities."""
    priors: FloatArray
    """Sums of the class mixes that were used."""
    labelled: FloatArray
    """Sums over labelled rows: see `LabelledSums`."""


def new_state(n: int, k: int, n_cells: int) -> State:
    """Return the state of n streams without rows."""
    state = State(
        rows=np.zeros((n, 2), dtype=np.int64),
        cells=np.zeros((n, len(WINDOWS), n_cells), dtype=np.int32),
        whole=np.zeros((n, n_cells), dtype=np.int32),
        whole_looks=np.zeros(n, dtype=np.int64),
        windows=np.zeros((n, 2, len(WINDOWS)), dtype=np.int64),
        looks=np.zeros(n, dtype=np.int64),
        on_grid=np.ones((n, len(GRIDS)), dtype=bool),
        evidence=np.zeros((n, 2)),
        alarms=np.zeros((n, 3), dtype=np.int64),
        last=np.zeros((n, 2)),
        pairs=np.zeros((n, k, 4)),
        collected=np.zeros(n, dtype=np.int64),
        likeness=np.zeros((n, 3)),
        dependent=np.zeros(n, dtype=bool),
        rehearsed=np.ones(n),
        part=np.zeros(n, dtype=np.int64),
        sizes=np.zeros((n, PARTS)),
        confidence=np.zeros((n, PARTS)),
        outputs=np.zeros((n, PARTS, k)),
        priors=np.zeros((n, PARTS, k)),
        labelled=np.zeros((n, PARTS, len(LabelledSums._fields))),
    )
    state.alarms[:, 0] = -1
    state.last[:, 0] = -1.0
    return state


def with_all_grids(saved: dict[str, Any]) -> dict[str, Any]:
    """Return the arrays of a file that knew only three grids as they are saved now."""
    return {**saved, "on_grid": from_three_grids(np.asarray(saved["on_grid"]))} if saved else saved


def saved_arrays(n_cells: int) -> Fields:
    """Return what a state file may hold; sizes are named ``"keys"`` and ``"k"``."""
    specs: dict[str, Any] = {
        "rows": ints("keys", 2, low=0),
        "cells": Array("i4", ("keys", len(WINDOWS), n_cells), 0),
        "whole": Array("i4", ("keys", n_cells), 0),
        "whole_looks": ints("keys", low=0, high=200),
        "windows": ints("keys", 2, len(WINDOWS), low=0),
        "looks": ints("keys", low=0, high=200),
        "on_grid": flags("keys", len(GRIDS)),
        "evidence": floats("keys", 2, low=0.0, high=MOST_EVIDENCE),
        "alarms": ints("keys", 3, low=-1),
        "last": floats("keys", 2, low=-10.0, high=LONGEST),
        "pairs": floats("keys", "k", 4),
        "collected": ints("keys", low=0),
        "likeness": floats("keys", 3, low=-100.0 * LONGEST, high=100.0 * LONGEST),
        "dependent": flags("keys"),
        "rehearsed": floats("keys", low=0.0, high=1.0),
        "part": ints("keys", low=0, high=PARTS - 1),
        "sizes": floats("keys", PARTS, low=0.0, high=LONGEST),
        "confidence": floats("keys", PARTS, low=0.0),
        "outputs": floats("keys", PARTS, "k", low=0.0),
        "priors": floats("keys", PARTS, "k", low=0.0),
        "labelled": floats("keys", PARTS, len(LabelledSums._fields), low=0.0),
    }
    return Fields(specs, optional=("whole", "whole_looks"))
