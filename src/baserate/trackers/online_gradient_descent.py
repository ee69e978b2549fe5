"""Online gradient descent on the squared error: a baseline with a slower rate than the paper's."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.compiled import compiled
from baserate.protocols import Evidence, FloatArray, IntArray
from baserate.state.declarations import Maybe, Number, Whole, ints, vectors
from baserate.trackers._tracker import BankedTracker, saved_rows
from baserate.validation import check_integer, check_real


class State(NamedTuple):
    """Per key: the iterate and the number of updates."""

    iterate: FloatArray
    seen: IntArray


@compiled
def _update(iterate: FloatArray, seen: IntArray, rows: IntArray, z: FloatArray, variation: float, horizon: int) -> None:
    for j in range(len(rows)):
        row = rows[j]
        seen[row] += 1
        n = horizon
        if horizon == 0:
            n = 1
            while n < seen[row]:
                n *= 2
        weight = min(1.0, np.sqrt((1.0 + variation) / n))
        for c in range(z.shape[1]):
            iterate[row, c] = (1.0 - weight) * iterate[row, c] + weight * z[j, c]


class OnlineGradientDescent(BankedTracker, saved_as="online_gradient_descent"):
    """Gradient descent on the squared distance to each estimate, with one step size; for comparison.

    The step size ``sqrt((1 + V) / T) / 2`` (at most 1/2) gives a total squared error of the order sqrt(T (1 + V)), as
    for all methods that use the convexity of the squared error but not its curvature. O(k) time and memory.

    Parameters
    ----------
    n_classes : int
        Number of classes, at least 2.
    variation : float
        V, the total variation of the true path (L1). The rate needs it; other trackers do not.
    horizon : int, optional
        T, the number of rounds. Default: the smallest power of two that the rounds so far fit in.
    prior : (k,) array, optional
        The starting point. Default: the source prior inside an adapter, else uniform.

    Examples
    --------
    >>> tracker = OnlineGradientDescent(2, variation=0.0, horizon=4)
    >>> tracker.update([1.0, 0.0])
    >>> tracker.predict()
    array([0.75, 0.25])

    References
    ----------
    Zinkevich, "Online Convex Programming and Generalized Infinitesimal Gradient Ascent", ICML 2003.
    """

    saves = saved_rows(
        {"iterate": vectors("keys", "k"), "seen": ints("keys", low=0)}, variation=Number(0.0), horizon=Maybe(Whole(1))
    )

    def __init__(
        self,
        n_classes: int,
        *,
        variation: float = 1.0,
        horizon: int | None = None,
        prior: ArrayLike | None = None,
    ) -> None:
        self.n_classes = n_classes
        self.variation = variation
        self.horizon = horizon
        self.prior = prior
        self._begin()

    def _begin(self) -> None:
        check_real(self.variation, "variation", 0.0, 1e9)
        if self.horizon is not None:
            check_integer(self.horizon, "horizon", 1)
        super()._begin()

    def new_state(self, births: FloatArray) -> State:
        """Return the initial state of ``len(births)`` keys."""
        return State(np.array(births), np.zeros(len(births), dtype=np.int64))

    def predict_rows(self, state: State, rows: IntArray) -> FloatArray:
        """Return the predictions of some keys, one row each."""
        return state.iterate[rows]

    def update_rows(self, state: State, rows: IntArray, z: FloatArray, evidence: Evidence | None = None) -> None:
        """Update each of some keys with one estimate, in place; no key twice."""
        _update(*state, rows, z, float(self.variation), int(self.horizon or 0))

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(n_classes=3), cls(n_classes=3, variation=0.0, horizon=50)]
