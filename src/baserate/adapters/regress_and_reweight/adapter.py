"""RegressAndReweight: track the class mix, re-weight every prediction to it (Algorithm 1 of the paper)."""

import copy
from collections.abc import Sequence
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.adapters._sightings import sightings
from baserate.adapters._source import calibrate, changes_nothing
from baserate.adapters.regress_and_reweight.fitting import Parts, fit_parts, reads_estimates
from baserate.adapters.regress_and_reweight.late_labels import LateLabels, correctable
from baserate.adapters.regress_and_reweight.previous_classes import carried_over, check_previous
from baserate.adapters.regress_and_reweight.readings import TrustReadings
from baserate.adapters.regress_and_reweight.saved import SAVED
from baserate.marginals import BBSE
from baserate.protocols import (
    Calibrator,
    Evidence,
    FloatArray,
    IdlingTracker,
    IntArray,
    Key,
    LeaveOneOutTracker,
    MarginalEstimator,
    RestartableTracker,
    Step,
    Tracker,
)
from baserate.trackers import FollowTheFixedWindow, FollowTheHistory
from baserate.trust.monitor import Round
from baserate.validation import check_fitted, check_integer, check_labels, check_prior, check_proba


class RegressAndReweight(TrustReadings, saved_as="regress_and_reweight"):
    """Keeps a fixed model's probabilities right while the class mix drifts: probabilities in, probabilities out.

    A tracker follows the class mix over unlabelled batches, and predictions are multiplied by the tracked mix over the
    source mix. The default tracker weighs the samples themselves. In the paper, each batch gives a noisy sighting of
    the mix, and a tracker averages the sightings over as long as the mix stands still: with `FLHFTL` the expected
    dynamic regret is then of the optimal order T^(2/3) V^(1/3), V the total variation of the mix (Theorem 1).

    Parameters
    ----------
    tracker : Tracker, optional
        Follows the class mix. Default: `LikelihoodMixture` for the holdout's number of classes. It is cloned, never
        moved itself.
    marginals : MarginalEstimator, optional
        Turns a batch into a sighting, for trackers that read sightings. Default: `BBSE`.
    calibrator : Calibrator, "auto" or None
        Makes the probabilities honest before anything else sees them. ``"auto"`` (default) is `AutoCalibrator`, which
        chooses on the holdout, and leaves probabilities alone that are honest; ``None`` is for those that are known to
        be. Without a labelled holdout there is nothing to calibrate on: ``"auto"`` then warns, and is none.
    transductive : bool
        Use the batch itself, without labels, before predicting it; with `LikelihoodMixture`, for each sample without
        that sample. ``False`` (default) is the paper's strict protocol: round t is predicted from rounds before t.
    floor : float, optional
        Project the tracked mix onto the class mixes that give every class at least `floor`: the clipped domain D of
        the paper's cross-entropy lemma, on the simplex. Default: the whole simplex, as in the paper's experiments.
    bounds : (lower, upper), optional
        What a person knows: each a number or k numbers between which every class's share lies.
    source_prior : (k,) array, optional
        The class mix the model was trained on. Default: the holdout's. It is kept by `refit`.
    enabled : bool
        ``False`` is shadow mode: track, but return the model's own probabilities. May be set at any time; the other
        parameters take effect with the next `fit`.
    max_waiting : int
        How many samples may wait for their labels, of those that came with ids; the oldest is given up first.
    gate : bool
        Hold the correction back, in part or wholly, where the holdout, labels, or a stream that is no label shift speak
        against it, or where samples repeat each other: see `baserate.trust.Gate`. ``False`` always uses the tracked
        mix as it is, as the paper does.
    alpha : float, optional
        The probability of a false alarm, in the check of label shift, that is acceptable. ``None``, without a gate,
        leaves out the check and the search for unknown mass and dependence, which take nearly half of a small round's
        time.

    Attributes
    ----------
    source_prior_ : (k,) array
        The class mix the model's probabilities assume.
    tracker_, marginals_, calibrator_
        The fitted parts. By default there is no estimator where the tracker reads no sightings: `LikelihoodMixture`.
    rounds_ : int
        Rounds until now; those that went by without samples are counted by `idle`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> def model_outputs(n, share):
    ...     y = (rng.random(n) < share).astype(int)
    ...     odds = np.exp(rng.normal(2.0 * y - 1.0, 1.0) * 2.0)
    ...     return np.column_stack([1 / (1 + odds), odds / (1 + odds)]), y
    >>> adapter = RegressAndReweight().fit(*model_outputs(1000, share=0.5))
    >>> for _ in range(100):
    ...     step = adapter.step(model_outputs(10, share=0.9)[0])
    >>> adapter.prior_.round(1)
    array([0.1, 0.9])

    References
    ----------
    Baby et al., "Online Label Shift: Optimal Dynamic Regret meets Practical Algorithms", NeurIPS 2023, Algorithm 1.
    """

    input_kind = "proba"
    saves = SAVED

    def __init__(
        self,
        tracker: Tracker | None = None,
        marginals: MarginalEstimator | None = None,
        calibrator: Calibrator | Literal["auto"] | None = "auto",
        transductive: bool = False,
        floor: float | None = None,
        *,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        source_prior: ArrayLike | None = None,
        enabled: bool = True,
        max_waiting: int = 10_000,
        gate: bool = True,
        alpha: float | None = 0.05,
    ) -> None:
        self.tracker = tracker
        self.marginals = marginals
        self.calibrator = calibrator
        self.transductive = transductive
        self.floor = floor
        self.bounds = bounds
        self.source_prior = source_prior
        self.enabled = enabled
        self.max_waiting = max_waiting
        self.gate = gate
        self.alpha = alpha

    def fit(self, proba: ArrayLike | None = None, y: ArrayLike | None = None) -> Self:
        """Learn from the holdout: the source prior, the calibration, and how far the model can be trusted.

        Parameters
        ----------
        proba : (n, k) array
            The model's probabilities on labelled samples it was not trained on.
        y : (n,) array of int
            Their labels, as column numbers of `proba`.
        """
        late = LateLabels(self.max_waiting)
        self._take_over(fit_parts(self.get_params(deep=False), proba, y, running=None))
        self._late, self.rounds_ = late, 0
        return self

    def refit(self, proba: ArrayLike, y: ArrayLike, previous: Sequence[int | None] | None = None) -> Self:
        """Take over a redeployed model: learn its holdout, and go on with the mix tracked so far.

        Parameters
        ----------
        proba, y
            As in `fit`: the new model's probabilities and labels on a holdout.
        previous : sequence of int or None, optional
            Where classes were added or retired: for each column of `proba`, which column it was until now, None for a
            new class. New classes start with their share of the holdout, the others share the rest as they did last;
            the tracker starts anew from there, and no sample waits for its label any more. Default: the same classes.

        Examples
        --------
        A third class is added, in front:

        >>> adapter = RegressAndReweight(calibrator=None).fit([[0.9, 0.1], [0.1, 0.9]] * 50, [0, 1] * 50)
        >>> adapter.set_prior([0.2, 0.8])
        >>> three = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.1, 0.1, 0.8]]
        >>> adapter.refit(three * 50, [0, 1, 2, 2] * 50, previous=[None, 0, 1]).prior_
        array([0.25, 0.15, 0.6 ])
        """
        check_fitted(self, "source_prior_")
        params = self.get_params(deep=False)
        if previous is None:
            self._take_over(fit_parts(params, proba, y, running=self.tracker_))
            self._correction.jump(self.tracker_.predict(), self.rounds_)
            return self
        before = self.prior_
        places = check_previous(previous, check_proba(proba).shape[1], len(before))
        renewed = copy.copy(self)
        renewed._take_over(fit_parts(params, proba, y, running=None))
        renewed._late = LateLabels(self.max_waiting)
        renewed._late.missed_ = self.missed_labels_
        renewed.set_prior(carried_over(before, renewed.source_prior_, places))
        self.__dict__ = renewed.__dict__
        return self

    def _take_over(self, parts: Parts) -> None:
        self.source_prior_, self.tracker_, self.marginals_ = parts.source.prior, parts.tracker, parts.marginals
        self.calibrator_, self._calibration_offsets = parts.source.calibrator, parts.source.offsets
        self._is_calibrated = changes_nothing(parts.source.calibrator)
        self._reads_estimates = reads_estimates(parts.tracker)
        self._monitor, self._correction = parts.monitor, parts.correction
        self._correction.start(self.tracker_.predict())

    def reset(self) -> None:
        """Forget the stream, as if just fitted."""
        check_fitted(self, "source_prior_")
        self.tracker_.reset()
        self._monitor.reset()
        self._correction.start(self.tracker_.predict())
        self._late, self.rounds_ = LateLabels(self._late.at_most), 0

    def predict_proba(self, proba: ArrayLike) -> FloatArray:
        """Adapted probabilities of a batch; changes nothing.

        Where the prior rules out every class that the model holds possible, the (calibrated) row is returned as it is.
        In shadow mode, and where the gate has switched the correction off, all rows are returned as they came.
        """
        raw = self.check_rows(proba)
        return raw.copy() if self._leaves_alone() else self._foresee(self.calibrate(raw))[0]

    def update(self, proba: ArrayLike, y: ArrayLike | None = None, *, ids: Sequence[Key] | None = None) -> None:
        """Take in one round.

        Parameters
        ----------
        proba : (n, k) array
            The model's probabilities. An empty batch is a round without evidence.
        y : (n,) array of int, optional
            Labels where they are known, -1 or NaN where not.
        ids : sequence of str or of int, optional
            A name for each sample, under which its label may come later: see `update_labels`.
        """
        self._round(proba, y, ids)

    def step(self, proba: ArrayLike, y: ArrayLike | None = None, *, ids: Sequence[Key] | None = None) -> Step:
        """Predict a batch, then take it in, as `update` does; return what was used."""
        return self._round(proba, y, ids)

    def _round(self, proba: ArrayLike, y: ArrayLike | None, ids: Sequence[Key] | None) -> Step:
        raw = self.check_rows(proba)
        labels = None if y is None else check_labels(y, *raw.shape, missing=True)
        names = [] if ids is None else self._late.check_new(ids, len(raw), self.tracker_)
        calibrated = self.calibrate(raw)

        # Predict with what is known from before.
        correction = self._correction
        foreseen, prior, used = self._foresee(calibrated)
        ratios, own = prior / self.source_prior_, raw.argmax(axis=1)
        flags = {"enabled": self.enabled, "transductive": self.transductive}
        flags |= {"fallback": correction.fallback_, "alarm": correction.alarm_}
        step = Step(raw.copy() if self._leaves_alone() else foreseen, prior, flags)

        # Take it in: the tracker moves, samples wait for their labels, labels judge the correction.
        if names:
            note = correctable(self.tracker_).note(Evidence(calibrated, self.source_prior_, labels))
        if len(raw) > 0:
            self._observe(self.tracker_, calibrated, labels)
            correction.follow(self.tracker_.predict())
        if names:
            self._late.remember(names, note, ratios, calibrated, own, labels)
        if labels is not None:
            correction.judge(calibrated * ratios, own, labels, self.rounds_)
        self.rounds_ += 1

        # Watch: what the trust signals say decides how much of the correction the next round uses.
        verdict = self._monitor.take_in(Round(raw, calibrated, foreseen, used, labels), self.tracker_)
        correction.heed(verdict, self.rounds_)
        return step

    def _foresee(self, calibrated: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Corrected probabilities of a batch, the class prior tracked, and that used; means, where samples differ."""
        correction = self._correction
        if not self.transductive or len(calibrated) == 0:
            return correction.apply(calibrated, correction.offsets_), correction.prior_.copy(), correction.used_
        if isinstance(self.tracker_, LeaveOneOutTracker):
            priors = correction.project(self.tracker_.predict_left_out(Evidence(calibrated, self.source_prior_)))
            gated = correction.through_gate(priors)
            return correction.apply(calibrated, gated.offsets), priors.mean(axis=0), gated.used.mean(axis=0)
        tracker = copy.deepcopy(self.tracker_)
        self._observe(tracker, calibrated, None)
        prior = correction.project(tracker.predict()[np.newaxis])[0]
        gated = correction.through_gate(prior)
        return correction.apply(calibrated, gated.offsets), prior, gated.used

    def _observe(self, tracker: Tracker, calibrated: FloatArray, labels: IntArray | None) -> None:
        """Move a tracker by a batch, which is not empty."""
        starts = np.array([0, len(calibrated)])
        z = self.sightings(calibrated, labels, starts)[0] if self._reads_estimates else self.source_prior_  # line 4
        tracker.update(z, Evidence(calibrated, self.source_prior_, labels, starts, checked=True))  # line 5

    def update_labels(self, ids: Sequence[Key], y: ArrayLike) -> int:
        """Take in labels of samples of earlier rounds; what was guessed of those samples is taken back.

        Needs a tracker that can correct itself, such as `LikelihoodMixture`, the default. It is not a round.

        Parameters
        ----------
        ids : sequence of str or of int
            The names that the samples had in `step` or `update`. Names that do not wait are counted in
            `missed_labels_`.
        y : (n,) array of int
            Their labels; -1 or NaN: still not known.

        Returns
        -------
        int
            How many labels were used.

        Examples
        --------
        >>> from baserate.adapters import RegressAndReweight
        >>> holdout = [[0.9, 0.1], [0.1, 0.9]] * 50
        >>> adapter = RegressAndReweight(calibrator=None).fit(holdout, [0, 1] * 50)
        >>> step = adapter.step([[0.6, 0.4], [0.6, 0.4]], ids=["a", "b"])
        >>> adapter.prior_.round(2)
        array([0.53, 0.47])
        >>> adapter.update_labels(["a", "b", "z"], [1, 1, 0])
        2
        >>> adapter.prior_.round(2), adapter.waiting_, adapter.missed_labels_
        (array([0.33, 0.67]), 0, 1)
        """
        check_fitted(self, "source_prior_")
        tracker = correctable(self.tracker_)
        used = 0
        for batch in self._late.take(*self._late.check(ids, y, len(self.source_prior_))):
            self._correction.judge(batch.proba * batch.ratios, batch.own, batch.labels, self.rounds_)
            tracker.correct(batch.note, batch.proba, batch.labels)
            used += len(batch.labels)
        self._correction.jump(self.tracker_.predict(), self.rounds_)
        return used

    def set_prior(self, q: ArrayLike) -> None:
        """Restart the tracking from a class mix that a person knows; the next batches move it on.

        Samples from before no longer wait for their labels.
        """
        check_fitted(self, "source_prior_")
        prior = check_prior(q, len(self.source_prior_), "q")
        if not isinstance(self.tracker_, RestartableTracker):
            raise TypeError(
                f"{type(self.tracker_).__name__} cannot start from a given prior; it has no method restart(birth)."
            )
        self.tracker_.restart(prior)
        self._late.clear()
        self._monitor.restart(prior)
        self._correction.jump(self.tracker_.predict(), self.rounds_)

    def idle(self, rounds: int) -> None:
        """Let a number of rounds go by in which nothing came: the class mix may have moved, and the band widens.

        For streams with time stamps, whose rounds are of equal time. Without it, time is counted in rounds with samples
        alone. Needs a tracker that can, such as `LikelihoodMixture`, the default.
        """
        check_fitted(self, "source_prior_")
        check_integer(rounds, "rounds", 0)
        if not isinstance(self.tracker_, IdlingTracker):
            raise TypeError(f"{type(self.tracker_).__name__} counts rounds with samples alone; it has no method idle.")
        self.tracker_.idle(rounds)
        self.rounds_ += rounds
        self._correction.jump(self.tracker_.predict(), self.rounds_)

    def check_rows(self, proba: ArrayLike) -> FloatArray:
        """Check a batch, and leave it as it is."""
        check_fitted(self, "source_prior_")
        return check_proba(proba, len(self.source_prior_))

    def calibrate(self, rows: FloatArray) -> FloatArray:
        """Calibrate a batch that is checked."""
        return rows if self._is_calibrated else calibrate(rows, self.calibrator_, self._calibration_offsets)

    def _leaves_alone(self) -> bool:
        """Whether predictions are the model's own."""
        return not self.enabled or self._correction.off_

    def project(self, tracked: FloatArray) -> FloatArray:
        """Class mixes out of tracked vectors, one per row: the nearest within the bounds."""
        return self._correction.project(tracked)

    def sightings(self, proba: FloatArray, labels: IntArray | None, starts: IntArray) -> FloatArray:
        """Sightings of several checked batches; batch j is the rows ``starts[j]:starts[j + 1]``, none empty.

        Where the tracker looks at the batches themselves, nothing is estimated: the source prior stands for them.
        """
        if not self._reads_estimates:
            return np.tile(self.source_prior_, (len(starts) - 1, 1))
        return sightings(self.marginals_, proba, labels, starts)

    @classmethod
    def examples(cls) -> list[Self]:
        return [
            cls(),
            cls(FollowTheHistory(3), BBSE(clip=False), calibrator=None, floor=0.01, bounds=(0.0, [0.9, 0.9, 0.8])),
            cls(FollowTheFixedWindow(3, window=5), transductive=True, source_prior=[0.2, 0.3, 0.5]),
            cls(enabled=False),
        ]
