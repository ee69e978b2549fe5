"""The last sighting alone (the local BBSE baseline)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import Evidence, FloatArray, IntArray
from baserate.trackers._tracker import BankedTracker


class State(NamedTuple):
    """Per key: the last sighting (the birth value before any)."""

    last: FloatArray


class LastSighting(BankedTracker, saved_as="last_sighting"):
    """The last sighting, as it is.

    Never late and never averaged: its squared error is the noise of one sighting. O(k) time and memory.

    Parameters
    ----------
    n_classes : int
        Number of classes, at least 2.
    prior : (k,) array, optional
        What is predicted before the first sighting. Default: the source marginal inside an adapter, else uniform.

    Examples
    --------
    >>> tracker = LastSighting(2)
    >>> tracker.update([1.0, 0.0])
    >>> tracker.update([0.5, 0.5])
    >>> tracker.predict()
    array([0.5, 0.5])
    """

    def __init__(self, n_classes: int, *, prior: ArrayLike | None = None) -> None:
        self.n_classes = n_classes
        self.prior = prior
        self._begin()

    def new_state(self, births: FloatArray) -> State:
        """State of ``len(births)`` keys that have seen nothing yet."""
        return State(np.array(births))

    def predict_rows(self, state: State, rows: IntArray) -> FloatArray:
        """Predictions of some keys, one row each."""
        return state.last[rows]

    def update_rows(self, state: State, rows: IntArray, z: FloatArray, evidence: Evidence | None = None) -> None:
        """Take in one sighting for each of some keys, in place; no key twice."""
        state.last[rows] = z
