"""LastSighting: the last estimate alone (the local BBSE baseline)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import Evidence, FloatArray, IntArray
from baserate.state.declarations import vectors
from baserate.trackers._tracker import BankedTracker, saved_rows


class State(NamedTuple):
    """Per key: the last estimate (at first the birth value)."""

    last: FloatArray


class LastSighting(BankedTracker, saved_as="last_sighting"):
    """The last estimate, without any averaging.

    It has no delay, and its squared error is the noise of one estimate. O(k) time and memory.

    Parameters
    ----------
    n_classes : int
        Number of classes, at least 2.
    prior : (k,) array, optional
        The prediction before the first update. Default: the source prior inside an adapter, else uniform.

    Examples
    --------
    >>> tracker = LastSighting(2)
    >>> tracker.update([1.0, 0.0])
    >>> tracker.update([0.5, 0.5])
    >>> tracker.predict()
    array([0.5, 0.5])
    """

    saves = saved_rows({"last": vectors("keys", "k")})

    def __init__(self, n_classes: int, *, prior: ArrayLike | None = None) -> None:
        self.n_classes = n_classes
        self.prior = prior
        self._begin()

    def new_state(self, births: FloatArray) -> State:
        """Return the initial state of ``len(births)`` keys."""
        return State(np.array(births))

    def predict_rows(self, state: State, rows: IntArray) -> FloatArray:
        """Return the predictions of some keys, one row each."""
        return state.last[rows]

    def update_rows(self, state: State, rows: IntArray, z: FloatArray, evidence: Evidence | None = None) -> None:
        """Update each of some keys with one estimate, in place; no key twice."""
        state.last[rows] = z
