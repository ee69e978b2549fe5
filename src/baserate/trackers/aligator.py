"""Aligator: online averages on a geometric cover of time (Baby, Zhao and Wang 2021).

The algorithm, for one coordinate y_1, y_2, ...: (1) every interval [i 2^j, (i+1) 2^j - 1], i >= 1, j >= 0, has an
expert of the same weight. In round t, (2) the experts of the intervals that hold t are awake; (3) each predicts the
mean of y over its interval so far, or the birth value if it has just begun; (4) predict the mean of their predictions
by weight. (5) See y_t. (6) The weight of each expert awake is multiplied by exp(-rate (prediction - y_t)^2), (7) then
all of theirs by what brings their sum back to what it was. Those asleep keep their weight.
"""

from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.compiled import compiled
from baserate.protocols import Evidence, FloatArray, IntArray
from baserate.state.declarations import Either, Maybe, Number, Text, floats, ints, vectors
from baserate.trackers._tracker import BankedTracker, saved_rows
from baserate.validation import check_option_or_real

_LEVELS = 20  # the longest intervals are 2^19 rounds: longer averages would not be measurably better


class State(NamedTuple):
    """Per key: the number of updates, and per level and class the sum and the log-weight of the interval awake."""

    seen: IntArray
    births: FloatArray
    sums: FloatArray
    log_weights: FloatArray


@compiled
def _combine(t: int, birth: FloatArray, sums: FloatArray, log_weights: FloatArray, out: FloatArray) -> None:
    """Write the weighted mean of the predictions of the intervals awake in round `t` to `out`, class by class."""
    for c in range(len(birth)):
        top = -np.inf
        for level in range(_LEVELS):
            if t >> level == 0:  # Step 2: no interval of this length has begun
                break
            top = max(top, log_weights[level, c])
        total, weighted = 0.0, 0.0
        for level in range(_LEVELS):
            if t >> level == 0:
                break
            n = t & ((1 << level) - 1)  # estimates since the interval began
            weight = np.exp(log_weights[level, c] - top)
            total += weight
            weighted += weight * (sums[level, c] / n if n > 0 else birth[c])  # Step 3
        out[c] = weighted / total  # Step 4


@compiled
def _predict(
    seen: IntArray, births: FloatArray, sums: FloatArray, log_weights: FloatArray, rows: IntArray
) -> FloatArray:
    out = np.empty((len(rows), births.shape[1]))
    for j in range(len(rows)):
        row = rows[j]
        _combine(seen[row] + 1, births[row], sums[row], log_weights[row], out[j])
    return out


@compiled
def _update(
    seen: IntArray,
    births: FloatArray,
    sums: FloatArray,
    log_weights: FloatArray,
    rows: IntArray,
    z: FloatArray,
    rate: float,
) -> None:
    judged = np.empty(_LEVELS)
    for j in range(len(rows)):
        row = rows[j]
        seen[row] += 1
        t = seen[row]
        for c in range(z.shape[1]):
            before, after = -np.inf, -np.inf
            for level in range(_LEVELS):
                if t >> level == 0:
                    break
                n = t & ((1 << level) - 1)
                miss = (sums[row, level, c] / n if n > 0 else births[row, c]) - z[j, c]
                judged[level] = log_weights[row, level, c] - rate * miss * miss  # Step 6
                before = max(before, log_weights[row, level, c])
                after = max(after, judged[level])
            # Step 7: the weight that a bad expert loses goes to the others.
            total_before, total_after = 0.0, 0.0
            for level in range(_LEVELS):
                if t >> level == 0:
                    break
                total_before += np.exp(log_weights[row, level, c] - before)
                total_after += np.exp(judged[level] - after)
            give_back = before + np.log(total_before / total_after)
            for level in range(_LEVELS):
                if t >> level == 0:
                    break
                log_weights[row, level, c] = (judged[level] - after) + give_back
                sums[row, level, c] += z[j, c]
        for level in range(_LEVELS):
            if (t + 1) & ((1 << level) - 1) == 0:  # Step 1: a new interval has no data, and weight one
                for c in range(z.shape[1]):
                    sums[row, level, c] = 0.0
                    log_weights[row, level, c] = 0.0


class Aligator(BankedTracker, saved_as="aligator"):
    """Mean of running averages over intervals of lengths 1, 2, 4, ..., weighted by how well each has predicted.

    Time is covered by intervals [i 2^j, (i+1) 2^j), i >= 1; in each, an expert averages the estimates since the
    interval began. One interval of each length is awake at a time: in round t, log2(t) + 1 of them are combined by
    exponential weights, for each class on its own. Total squared error of the optimal order T^(1/3) V^(2/3) without
    knowing the drift V; O(k log t) time a round and constant memory. When t is a
    power of two, all intervals begin anew: for one round the prediction is the birth value again, and for a few more it
    is close to single estimates.

    Parameters
    ----------
    n_classes : int
        Number of classes k, at least 2.
    learning_rate : float or {"theory"}, optional
        Default 1/2, for which the squared error is exp-concave, and the theorem holds, when estimates stay in [0, 1].
        ``"theory"`` is the original's 1 / (8 B^2) for estimates in [-B, B]: inside an unsupervised adapter B is
        1 / sigma_min, with sigma_min the smallest singular value of the confusion matrix; elsewhere 1.
    prior : (k,) array, optional
        The prediction before the first update, and of an interval in its first round. Default: the source prior inside
        an adapter, else uniform. (The original has 0, which is not a class mix: `restart` accepts it.)

    Notes
    -----
    There are no intervals longer than 2^19 rounds, so that the size of the state is fixed: an average of half a million
    estimates is good enough.

    Examples
    --------
    >>> tracker = Aligator(2)
    >>> for z in 40 * [[1.0, 0.0]] + 40 * [[0.0, 1.0]]:
    ...     tracker.update(z)
    >>> tracker.predict().round(2)
    array([0.06, 0.94])

    References
    ----------
    Baby, Zhao, Wang, "An Optimal Reduction of TV-Denoising to Adaptive Online Learning", AISTATS 2021; experts that
    sleep: Freund, Schapire, Singer, Warmuth, "Using and combining predictors that specialize", STOC 1997.
    """

    in_threads = True

    saves = saved_rows(
        {
            "seen": ints("keys", low=0),
            "births": vectors("keys", "k"),
            "sums": vectors("keys", _LEVELS, "k", updates=2.0**20),
            "log_weights": floats("keys", _LEVELS, "k", low=-1e300, high=1e300),
        },
        learning_rate=Maybe(Either((Number(0.0, 1e9), Text(("theory",))))),
    )

    def __init__(
        self,
        n_classes: int,
        *,
        learning_rate: float | Literal["theory"] | None = None,
        prior: ArrayLike | None = None,
    ) -> None:
        self.n_classes = n_classes
        self.learning_rate = learning_rate
        self.prior = prior
        self._begin()

    def _begin(self) -> None:
        if self.learning_rate is not None:
            check_option_or_real(self.learning_rate, "learning_rate", ["theory"], 0.0, 1e9)
        super()._begin()

    @property
    def rate_(self) -> float:
        """The learning rate in use."""
        if self.learning_rate == "theory":
            return self._sigma_min**2 / 8
        return 0.5 if self.learning_rate is None else float(self.learning_rate)

    def new_state(self, births: FloatArray) -> State:
        """Return the initial state of ``len(births)`` keys."""
        shape = (len(births), _LEVELS, self.n_classes)
        return State(np.zeros(len(births), dtype=np.int64), np.array(births), np.zeros(shape), np.zeros(shape))

    def predict_rows(self, state: State, rows: IntArray) -> FloatArray:
        """Return the predictions of some keys, one row each."""
        return _predict(*state, rows)

    def update_rows(self, state: State, rows: IntArray, z: FloatArray, evidence: Evidence | None = None) -> None:
        """Update each of some keys with one estimate, in place; no key twice."""
        _update(*state, rows, z, self.rate_)

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(n_classes=3), cls(n_classes=3, learning_rate="theory", prior=[0.2, 0.3, 0.5])]
