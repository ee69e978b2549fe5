"""Follow the history: the mean of all estimates (FTH of Wu et al. 2021)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from baserate.compiled import compiled
from baserate.protocols import Evidence, FloatArray, IntArray
from baserate.state.declarations import ints, vectors
from baserate.trackers._tracker import BankedTracker, saved_rows


class State(NamedTuple):
    """Per key: the mean so far (at first the birth value) and the number of updates."""

    mean: FloatArray
    seen: IntArray


@compiled
def _update(mean: FloatArray, seen: IntArray, rows: IntArray, z: FloatArray) -> None:
    for j in range(len(rows)):
        row = rows[j]
        seen[row] += 1
        weight = 1.0 / seen[row]
        for c in range(z.shape[1]):
            mean[row, c] = (1.0 - weight) * mean[row, c] + weight * z[j, c]


class FollowTheHistory(BankedTracker, saved_as="follow_the_history"):
    """Mean of all estimates.

    Optimal without drift; under drift its total squared error grows linearly. O(k) time and memory.

    Parameters
    ----------
    n_classes : int
        Number of classes, at least 2.
    prior : (k,) array, optional
        The prediction before the first update. Default: the source prior inside an adapter, else uniform.

    Examples
    --------
    >>> tracker = FollowTheHistory(2)
    >>> tracker.update([1.0, 0.0])
    >>> tracker.update([0.5, 0.5])
    >>> tracker.predict()
    array([0.75, 0.25])

    References
    ----------
    Wu, Guo, Su, Weinberger, "Online Adaptation to Label Distribution Shift", NeurIPS 2021.
    """

    saves = saved_rows({"mean": vectors("keys", "k"), "seen": ints("keys", low=0)})

    def __init__(self, n_classes: int, *, prior: ArrayLike | None = None) -> None:
        self.n_classes = n_classes
        self.prior = prior
        self._begin()

    def new_state(self, births: FloatArray) -> State:
        """Return the initial state of ``len(births)`` keys."""
        return State(np.array(births), np.zeros(len(births), dtype=np.int64))

    def predict_rows(self, state: State, rows: IntArray) -> FloatArray:
        """Return the predictions of some keys, one row each."""
        return state.mean[rows]

    def update_rows(self, state: State, rows: IntArray, z: FloatArray, evidence: Evidence | None = None) -> None:
        """Update each of some keys with one estimate, in place; no key twice."""
        _update(*state, rows, z)
