"""LowSwitching: a tracker whose prediction seldom changes (Algorithm "LPA" of the paper)."""

import copy
import math
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.parameters import clone
from baserate.protocols import BindableTracker, Evidence, FloatArray, Tracker
from baserate.state import Beginning
from baserate.state.declarations import (
    Each,
    Either,
    Flag,
    Maybe,
    Number,
    Part,
    Saved,
    Saves,
    Text,
    Together,
    Whole,
    floats,
    vectors,
)
from baserate.trackers.flhftl import FLHFTL
from baserate.trackers.follow_the_history import FollowTheHistory
from baserate.trackers.low_switching.stationary import begin, quantile, straying
from baserate.validation import (
    check_has_methods,
    check_integer,
    check_option,
    check_option_or_real,
    check_real,
    check_vector,
)

_FIRST_PHASE = 3  # no calibrated test before a stretch has 9 sightings: the noise estimate is too uncertain
_KNOWN = 1e9  # degrees of freedom of a variance that is given


def _problem(saved: Saved) -> str:
    state = saved.state
    mean, n = state["_straying"][0], state["_in_stretch"]
    if (state["_straying_at"] is not None and len(mean) < 3) or ((mean > 0) & (mean < 1e-70)).any():
        return "knows too little of how its tracker strays"
    if n > state["rounds_"] or np.abs(state["_sum"]).max() > 1.001e9 * n or state["_squares"].max() > 4.001e18 * n:
        return "has sums that no sightings have"
    return ""


class LowSwitching(Beginning, saved_as="low_switching"):
    """Mean of the sightings since the last change, renewed only when their number doubles; wraps any tracker.

    A *stretch* is the rounds since the last detected change. Within a stretch the prediction changes only after 1, 2,
    4, 8, ... sightings. The wrapped tracker, which may move every round, detects changes: when its estimates have
    strayed too far from the prediction (in summed squared distance), a new stretch begins. So expensive work that
    follows the prediction, such as retraining, is due only O(log T) times while nothing changes, and about
    T^(1/3) V^(2/3) times in all.

    Parameters
    ----------
    tracker : Tracker
        The wrapped tracker, such as `FLHFTL`. It is cloned and never changed itself; the clone restarts at each change.
    sigma2 : float, optional
        Variance of the noisiest coordinate of a sighting; for label frequencies of N samples, 1/N is always enough.
        Default: estimated in each stretch from the differences of successive sightings.
    delta : float
        Probability of a false alarm while nothing changes, per stretch (for ``"theory"``: over the whole `horizon`).
    horizon : int, optional
        Number of rounds T. Default: for ``"theory"``, the smallest power of two that the rounds so far fit in; for
        ``"calibrated"``, `delta` is spread over an endless stretch.
    threshold : {"calibrated", "theory"} or float
        Limit on how far the estimates may stray. ``"theory"`` is the paper's ``5 k sigma2 log(2 T / delta)``, for which
        its theorem holds: with probability 1 - delta, O(T^(1/3) V^(2/3)) switches and a total squared error of that
        order. At practical lengths it fires late or never. ``"calibrated"`` (default) is a quantile of how far the
        wrapped tracker strays while nothing changes, found by simulation: the probability of a false alarm in a stretch
        is about `delta`, and real changes are detected early. No theorem is known for it. It is tight for trackers that
        settle, above all `FLHFTL`. For `FLHFTL` and `Aligator` the simulated values are built in; other trackers are
        simulated over 256 rounds, without evidence, when the first test is due. For a tracker that needs evidence,
        choose another threshold. A number is used as the threshold.
    literal : bool
        The algorithm to the letter, for comparison: prev = 0 before the first sighting, and the wrapped tracker always
        starts at its own birth value. Needs another threshold than ``"calibrated"``, which knows nothing of it. With
        little noise it restarts again and again while nothing changes: see Notes.

    Attributes
    ----------
    switched_ : bool
        True if the last sighting changed the prediction.
    change_points_ : list of int
        The rounds (from 1) in which a change was detected.
    rounds_ : int
        Number of sightings.
    tracker_
        The running clone of the wrapped tracker.

    Notes
    -----
    The algorithm, by its lines: (1) prev = 0, b = 1; in round t, (2) the wrapped tracker estimates, (3) prev is the
    prediction, (4) z_t is seen; (5) if the squared distances of prev to the estimates of rounds b+1..t sum to more than
    the threshold, (6) b = t + 1, prev = z_t, (7) the tracker is restarted; (8) else, if t - b + 1 is a power of two,
    (9) prev = the mean of z_b..z_t; (11) the tracker is updated with z_t.

    The paper leaves two things open. Before the first sighting, the prediction is the wrapped tracker's (the paper's
    prev = 0 is not a class mix). And the wrapped tracker, if it has a method `restart`, is restarted from the first
    sighting, and after a change from the sighting that showed it: if it started further from the truth than the noise,
    for example at a wrong prior, the test would take its way from there for a change, again and again. `literal` leaves
    both out.

    O(k) time and memory on top of the wrapped tracker's.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> tracker = LowSwitching(FLHFTL(2))
    >>> for t in range(200):
    ...     tracker.update(rng.multinomial(50, [0.5, 0.5] if t < 100 else [0.8, 0.2]) / 50)
    >>> tracker.change_points_
    [112]

    References
    ----------
    Baby et al., "Online Label Shift: Optimal Dynamic Regret meets Practical Algorithms", NeurIPS 2023, Algorithm "LPA"
    of the appendix.
    """

    saves = Saves(
        params={
            "tracker": Part(Tracker, {"k": "k"}),
            "sigma2": Maybe(Number(0.0, 1e18)),
            "delta": Number(0.0, 1.0),
            "horizon": Maybe(Whole(1)),
            "threshold": Either((Number(0.0, 1e18), Text(("calibrated", "theory")))),
            "literal": Flag(),
        },
        state={
            "tracker_": Part(Tracker, {"k": "k"}),
            "rounds_": Whole(),
            "switched_": Flag(),
            "change_points_": Each(Whole(1)),
            "_prev": vectors("k"),
            "_last": vectors("k"),
            "_in_stretch": Whole(),
            "_sum": vectors("k", updates=2.0**53),
            "_squares": floats("k", low=0.0, high=1e36),
            "_fourth_powers": Number(0.0, 1e72),
            "_estimates_mean": vectors("k"),
            "_estimates_spread": Number(-1e36, 1e36),
            "_straying": Together((floats("phases", low=0.0, high=1e70), floats("phases", low=0.0, high=1e70))),
            "_straying_at": Maybe(Whole(-2000, 2000)),
        },
        check=_problem,
    )

    def __init__(
        self,
        tracker: Tracker,
        *,
        sigma2: float | None = None,
        delta: float = 0.05,
        horizon: int | None = None,
        threshold: float | Literal["calibrated", "theory"] = "calibrated",
        literal: bool = False,
    ) -> None:
        self.tracker = tracker
        self.sigma2 = sigma2
        self.delta = delta
        self.horizon = horizon
        self.threshold = threshold
        self.literal = literal
        self._begin()

    def _begin(self) -> None:
        check_has_methods(self.tracker, "tracker", Tracker, "predict, update and reset")
        if self.sigma2 is not None:
            check_real(self.sigma2, "sigma2", 0.0, 1e18, closed=False)
        check_real(self.delta, "delta", 0.0, 1.0, closed=False)
        if self.horizon is not None:
            check_integer(self.horizon, "horizon", 1)
        check_option_or_real(self.threshold, "threshold", ["calibrated", "theory"], 0.0, 1e18)
        check_option(self.literal, "literal", [True, False])
        if self.literal and self.threshold == "calibrated":
            raise ValueError("literal is True, and threshold is 'calibrated'; give 'theory' or a number.")
        self.tracker_: Any = clone(self.tracker)
        self._straying = np.zeros(1), np.zeros(1)
        self._straying_at: int | None = None
        self.reset()

    def bind(self, *, prior: FloatArray, sigma_min: float | None) -> None:
        """Pass on to the wrapped tracker what the adapter knows; takes effect with the next `reset`."""
        if isinstance(self.tracker_, BindableTracker):
            self.tracker_.bind(prior=prior, sigma_min=sigma_min)
            self._straying_at = None  # its learning rate may have changed, and so how far it strays

    def reset(self) -> None:
        """Forget everything, and predict what the wrapped tracker does until the next update."""
        self.tracker_.reset()
        birth = self.tracker_.predict()
        self._start(np.zeros_like(birth) if self.literal else birth)

    def restart(self, birth: ArrayLike) -> None:
        """Forget everything, and predict `birth` until the next update."""
        vector = check_vector(birth, len(self._prev), "birth").copy()
        begin(self.tracker_, vector)
        self._start(vector)

    def _start(self, prev: FloatArray) -> None:
        self.rounds_ = 0
        self.switched_ = False
        self.change_points_: list[int] = []
        self._new_stretch(prev)  # Line 1

    def _new_stretch(self, prev: FloatArray) -> None:
        """Begin a stretch with the next sighting."""
        k = len(prev)
        self._prev = np.array(prev)
        self._last = np.zeros(k)
        self._in_stretch = 0  # sightings: t - b + 1
        self._sum = np.zeros(k)
        self._squares = np.zeros(k)  # of differences of successive sightings
        self._fourth_powers = 0.0  # of their lengths
        # Mean of the estimates of rounds b+1..t, and their summed squared distance to it: these give that to prev.
        self._estimates_mean = np.zeros(k)
        self._estimates_spread = 0.0

    def predict(self) -> FloatArray:
        """Return the mean of the stretch, as it was when its length last was a power of two."""
        return self._prev.copy()  # Line 3

    def update(self, z: ArrayLike, evidence: Evidence | None = None) -> None:
        """Update the prediction with one sighting, if a change or a doubled stretch asks for it.

        Parameters
        ----------
        z : (k,) array
            A noisy estimate of the tracked vector; any finite numbers, on the simplex or not.
        evidence : Evidence, optional
            The batch that the estimate was made from, for a wrapped tracker that uses likelihoods.
        """
        moved = copy.copy(self)  # so that an error of the wrapped tracker changes nothing
        moved._observe(check_vector(z, len(self._prev)).copy(), evidence)
        self.__dict__ = moved.__dict__

    def _observe(self, sighting: FloatArray, evidence: Evidence | None) -> None:  # Line 4
        before = self._prev
        self.rounds_ += 1
        self._in_stretch += 1
        self._sum = self._sum + sighting
        if self.rounds_ == 1 and not self.literal:
            self._begin_tracker(sighting)
        if self._in_stretch > 1:
            squares = (sighting - self._last) ** 2
            self._squares = self._squares + squares
            self._fourth_powers += float(squares.sum()) ** 2
            self._add_estimate(self.tracker_.predict())  # Line 2
        self._last = sighting
        if self._strayed() > self._limit():  # Line 5
            self.change_points_ = [*self.change_points_, self.rounds_]
            self._new_stretch(sighting)  # Line 6
            self._begin_tracker(sighting)  # Line 7
        elif self._in_stretch & (self._in_stretch - 1) == 0:  # Line 8
            mean = self._sum / self._in_stretch
            if np.abs(mean - before).max() > 1e-12 * (1.0 + np.abs(before).max()):  # rounding is not a switch
                self._prev = mean  # Line 9
        self.tracker_.update(sighting, evidence)  # Line 11
        self.switched_ = not np.array_equal(self._prev, before)

    def _begin_tracker(self, birth: FloatArray) -> None:
        """Restart a copy of the wrapped tracker, so that an error later in the round leaves it unchanged."""
        self.tracker_ = copy.deepcopy(self.tracker_)
        if self.literal:
            self.tracker_.reset()
        else:
            begin(self.tracker_, birth)

    def _add_estimate(self, estimate: FloatArray) -> None:
        off = estimate - self._estimates_mean
        self._estimates_mean = self._estimates_mean + off / (self._in_stretch - 1)
        self._estimates_spread += float(off @ (estimate - self._estimates_mean))

    def _strayed(self) -> float:
        """Return the statistic of line 5."""
        off = self._prev - self._estimates_mean
        return self._estimates_spread + (self._in_stretch - 1) * float(off @ off)

    def _limit(self) -> float:
        """Return the threshold of line 5 for this round."""
        n = self._in_stretch
        if not isinstance(self.threshold, str):
            return float(self.threshold)
        if n < 2:
            return np.inf  # nothing to test yet
        k = len(self._prev)
        noise = self._squares / (2 * (n - 1)) if self.sigma2 is None else np.full(k, float(self.sigma2))
        rounding = 1e-20 * n * (1.0 + float(self._prev @ self._prev))  # of a sequence without noise
        if self.threshold == "theory":
            horizon = self.horizon or 1 << (self.rounds_ - 1).bit_length()
            return 5 * k * float(noise.max()) * math.log(2 * horizon / self.delta) + rounding
        phase = (n - 1).bit_length() - 1  # n is in 2^phase + 1 .. 2^(phase + 1)
        total = float(noise.sum())
        if phase < _FIRST_PHASE or total < 1e-100:  # without any noise so far, no limit can be derived
            return np.inf
        # Number of independent coordinates of equal noise with the same spread, less one because shares sum to one.
        freedom = max(1.0 / float((noise / total) @ (noise / total)) - 1.0, 1.0)
        noise_freedom, excess = _KNOWN, 0.0
        if self.sigma2 is None:
            freedom, noise_freedom, excess = self._tails(freedom)
        self._simulate(math.ceil(math.log2(total / freedom)))
        level = 1.0 - self._share(phase)
        return total * quantile(self._straying, phase, level, freedom, noise_freedom, excess) + rounding

    def _tails(self, freedom: float) -> tuple[float, float, float]:
        """Return the degrees of freedom of the noise and of its variance estimate, and the excess variability.

        The squared coefficient of variation of the squared length of Gaussian noise is 2 over its number of directions.
        If the observed one is larger than `freedom` directions would give, there are fewer of them, because classes
        move together; what exceeds that of a single direction is due to rare, large sightings (`excess`). Only those
        inform the variance estimate, which also loses a third because successive differences share sightings.
        """
        n = self._in_stretch - 1
        variability = max(n * self._fourth_powers / float(self._squares.sum()) ** 2 - 1.0, 2.0 / freedom)
        return max(2.0 / variability, 1.0), n / 1.5 * 2.0 / variability, max(variability - 2.0, 0.0)

    def _simulate(self, half_octave: int) -> None:
        """Set how far the wrapped tracker strays in noise of this size."""
        if self._straying_at != half_octave:
            mean, sd = straying(self.tracker_, half_octave)
            self._straying, self._straying_at = (mean, sd), half_octave

    def _share(self, phase: int) -> float:
        """Return the part of `delta` that is spent in a phase of a stretch."""
        if self.horizon is None:
            return self.delta * _FIRST_PHASE / (phase * (phase + 1))
        return self.delta / max((self.horizon - 1).bit_length() - _FIRST_PHASE, 1)

    @classmethod
    def examples(cls) -> list[Self]:
        return [
            cls(FLHFTL(3)),
            cls(FollowTheHistory(3), sigma2=0.1, horizon=100),
            cls(FLHFTL(3, experts="window"), threshold="theory"),
        ]
