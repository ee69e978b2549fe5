"""Follow the fixed window: the mean of the last estimates (FTFWH of Wu et al. 2021)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from baserate.compiled import compiled
from baserate.protocols import Evidence, FloatArray, IntArray
from baserate.state.declarations import Whole, ints, vectors
from baserate.trackers._tracker import BankedTracker, saved_rows
from baserate.validation import check_integer


class State(NamedTuple):
    """Per key: a ring buffer of the last estimates (at first only the birth value), and the number of updates."""

    ring: FloatArray
    seen: IntArray


@compiled
def _predict(ring: FloatArray, seen: IntArray, rows: IntArray) -> FloatArray:
    window, k = ring.shape[1:]
    out = np.zeros((len(rows), k))
    for j in range(len(rows)):
        row = rows[j]
        filled = min(max(seen[row], 1), window)
        # Summed afresh: a running sum with additions and subtractions would drift by rounding.
        for i in range(filled):
            for c in range(k):
                out[j, c] += ring[row, i, c]
        for c in range(k):
            out[j, c] /= filled
    return out


@compiled
def _update(ring: FloatArray, seen: IntArray, rows: IntArray, z: FloatArray) -> None:
    for j in range(len(rows)):
        row = rows[j]
        place = seen[row] % ring.shape[1]
        for c in range(z.shape[1]):
            ring[row, place, c] = z[j, c]
        seen[row] += 1


class FollowTheFixedWindow(BankedTracker, saved_as="follow_the_fixed_window"):
    """Mean of the last `window` estimates.

    O(window k) time and memory a round.

    Parameters
    ----------
    n_classes : int
        Number of classes, at least 2.
    window : int
        Number of estimates to average; the paper's experiments use 100.
    prior : (k,) array, optional
        The prediction before the first update. Default: the source prior inside an adapter, else uniform.

    Examples
    --------
    >>> tracker = FollowTheFixedWindow(2, window=2)
    >>> for z in ([1.0, 0.0], [0.5, 0.5], [0.0, 1.0]):
    ...     tracker.update(z)
    >>> tracker.predict()
    array([0.25, 0.75])

    References
    ----------
    Wu, Guo, Su, Weinberger, "Online Adaptation to Label Distribution Shift", NeurIPS 2021.
    """

    in_threads = True

    saves = saved_rows(
        {"ring": vectors("keys", "window", "k"), "seen": ints("keys", low=0)}, window=Whole(1, size="window")
    )

    def __init__(self, n_classes: int, *, window: int = 100, prior: ArrayLike | None = None) -> None:
        self.n_classes = n_classes
        self.window = window
        self.prior = prior
        self._begin()

    def new_state(self, births: FloatArray) -> State:
        """Return the initial state of ``len(births)`` keys."""
        ring = np.zeros((len(births), check_integer(self.window, "window", 1), self.n_classes))
        ring[:, 0] = births
        return State(ring, np.zeros(len(births), dtype=np.int64))

    def predict_rows(self, state: State, rows: IntArray) -> FloatArray:
        """Return the predictions of some keys, one row each."""
        return _predict(*state, rows)

    def update_rows(self, state: State, rows: IntArray, z: FloatArray, evidence: Evidence | None = None) -> None:
        """Update each of some keys with one estimate, in place; no key twice."""
        _update(*state, rows, z)
