"""RegressAndReweight: track the class mix, re-weight every prediction to it (Algorithm 1 of the paper)."""

import copy
from collections.abc import Sequence
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.adapters._source import calibrate, changes_nothing
from baserate.adapters.regress_and_reweight.abilities import correctable, idling, restartable
from baserate.adapters.regress_and_reweight.columns import NamedHoldout, Names, arranged, read_holdout, same_columns
from baserate.adapters.regress_and_reweight.fitting import Parts, fit_parts
from baserate.adapters.regress_and_reweight.late_labels import Ids, Labels, LateLabels, whole_round
from baserate.adapters.regress_and_reweight.previous_classes import carried_over, check_previous
from baserate.adapters.regress_and_reweight.readings import TrustReadings
from baserate.adapters.regress_and_reweight.saved import SAVED
from baserate.calibrators import TemperatureScaling
from baserate.guard import Guard, guarded
from baserate.marginals import BBSE
from baserate.protocols import (
    Calibrator,
    Evidence,
    FloatArray,
    IntArray,
    Key,
    LeaveOneOutTracker,
    MarginalEstimator,
    NamedStep,
    Step,
    Tracker,
)
from baserate.simplex import one_batch
from baserate.trackers import FLHFTL, FollowTheFixedWindow, FollowTheHistory
from baserate.trackers.given import reads_estimates
from baserate.trust.label_selection import watch_late, watch_round
from baserate.trust.seen import Round
from baserate.validation import check_chosen, check_fitted, check_integer, check_labels, check_prior, check_proba


class RegressAndReweight(TrustReadings, saved_as="regress_and_reweight"):
    """Corrects a fixed model's probabilities for a class mix that drifts: probabilities in, probabilities out.

    A tracker follows the class mix of unlabelled batches, and predictions are multiplied by the tracked prior over the
    source prior. The default tracker uses the likelihood of the samples themselves. In the paper, each batch gives a
    noisy estimate of the class mix (a *sighting*), and the tracker averages these for as long as the mix is stable:
    with `FLHFTL` the expected dynamic regret is of the optimal order T^(2/3) V^(1/3), with V the total variation of the
    mix (Theorem 1).

    Parameters
    ----------
    tracker : Tracker or type, optional
        Follows the class mix: a tracker, which is cloned and never changed itself, or a class of trackers, such as
        ``FLHFTL``. Default: `LikelihoodMixture`.
    marginals : MarginalEstimator, optional
        Estimates the class mix of a batch, for trackers that read such estimates. Default: `BBSE`.
    calibrator : Calibrator, "auto" or None
        Calibrates the probabilities first. ``"auto"`` (default) is `AutoCalibrator`, fitted on the holdout, which
        leaves calibrated probabilities as they are. ``None``: the probabilities are known to be calibrated. Without a
        labelled holdout, ``"auto"`` warns and does nothing.
    transductive : bool
        Predict each sample using the rest of its batch as well as everything before it. ``False`` (default) is the
        paper's strict protocol: round t is predicted from the rounds before t.
    floor : float, optional
        Least share of every class in the tracked prior: the clipped domain D of the paper's cross-entropy lemma, on the
        simplex. Default: none, as in the paper's experiments.
    bounds : (lower, upper), optional
        Known limits of the class shares: each a number, or k numbers.
    source_prior : (k,) array, optional
        The class mix the model was trained on. `refit` keeps it. Default: the holdout's, which is the mean of its
        calibrated probabilities with the default calibrator (the frequencies of its labels say less about a rare
        class), and the frequencies of its labels with any other.
    enabled : bool
        ``False`` is shadow mode: track, but return the model's own probabilities. May be changed at any time; the other
        parameters take effect with the next `fit`.
    max_waiting : int
        The largest number of samples with ids to remember for late labels; the oldest are forgotten first.
    gate : bool
        Reduce the correction, or switch it off, if the holdout, labels, signs of more than label shift, or samples that
        repeat each other speak against it: see `baserate.trust.Gate`. ``False`` always applies it in full, as the paper
        does.
    alpha : float, optional
        The acceptable probability of a false alarm of the label-shift check. ``None`` (needs ``gate=False``) leaves out
        that check, and the estimates of unknown mass and dependence: nearly half of a small round's time.

    Attributes
    ----------
    source_prior_ : (k,) array
        The class mix the model's probabilities assume.
    classes_ : (k,) array
        The class label of each column of probabilities: numbers, unless `y` was text or truth values.
    columns_ : list of str or None
        The names of the columns, if the holdout was a frame.
    tracker_, marginals_, calibrator_
        The fitted parts. `marginals_` is None by default if the tracker, like `LikelihoodMixture`, reads no estimates.
    rounds_ : int
        The number of rounds so far, including those that `idle` was told of.
    guard : Guard
        Lets one thread in at a time; ``with adapter.guard:`` holds it for several calls.

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
        tracker: Tracker | type[Tracker] | None = None,
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
        self.guard = Guard()

    @classmethod
    def paper(cls) -> Self:
        """Return Algorithm 1 as the paper writes it: FLH-FTL, unclipped BBSE, temperature scaling, and no gate."""
        return cls(FLHFTL, BBSE(clip=False), TemperatureScaling(), gate=False, alpha=None)

    @guarded
    def fit(self, proba: ArrayLike | None = None, y: ArrayLike | None = None, *, names: Names = None) -> Self:
        """Learn from the holdout: the source prior, the calibration, and how far the model can be trusted.

        Parameters
        ----------
        proba : (n, k) array, frame, or (n,) array
            The model's probabilities on labelled samples it was not trained on. Of two classes, those of the second one
            (in sorted order) are enough. Later frames may have their columns in another order.
        y : (n,) array
            Their labels: column numbers of `proba`, or text or truth values. Those are the names of a frame's columns
            (after a prefix such as ``p_``), or columns are in their sorted order, as in scikit-learn's `classes_`.
        names : sequence, optional
            Names of the columns, such as ``model.classes_``: for warnings, and for text labels beside an array.
        """
        late, holdout = LateLabels(self.max_waiting), read_holdout(proba, y, names)
        self._take_over(fit_parts(self.get_params(deep=False), holdout, running=None), holdout)
        self._late, self.rounds_ = late, 0
        return self

    @guarded
    def refit(
        self, proba: ArrayLike, y: ArrayLike, previous: Sequence[int | None] | None = None, *, names: Names = None
    ) -> Self:
        """Switch to a redeployed model: learn from its holdout, and keep the class mix tracked so far.

        Parameters
        ----------
        proba, y, names
            As in `fit`: the new model's probabilities and labels on a holdout, and class names.
        previous : sequence of int or None, optional
            For added or retired classes: for each column of `proba`, the column it was until now, or None for a new
            class. New classes start with their share of the holdout; the others divide the rest as they did last. The
            tracker restarts from there, and samples no longer wait for labels. Default: the classes are the same.

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
            holdout = same_columns(proba, y, self.columns_, self.class_names_, names)
            self._take_over(fit_parts(params, holdout, running=self.tracker_), holdout)
            self._correction.jump(self.tracker_.predict(), self.rounds_)
            self._late.forget_places()
            return self
        before = self.prior_
        places = check_previous(previous, check_proba(proba).shape[1], len(before))
        renewed, holdout = copy.copy(self), read_holdout(proba, y, names)
        renewed._take_over(fit_parts(params, holdout, running=None), holdout)
        renewed._late = LateLabels(self.max_waiting)
        renewed._late.missed_ = self.missed_labels_
        renewed.set_prior(carried_over(before, renewed.source_prior_, places))
        self.__dict__ = renewed.__dict__
        return self

    def _take_over(self, parts: Parts, holdout: NamedHoldout) -> None:
        self.source_prior_, self.tracker_, self.marginals_ = parts.source.prior, parts.tracker, parts.marginals
        self.calibrator_, self._calibration_offsets = parts.source.calibrator, parts.source.offsets
        self._is_calibrated = changes_nothing(parts.source.calibrator)
        self._reads_estimates = reads_estimates(parts.tracker)
        self._monitor, self._correction = parts.monitor, parts.correction
        self._correction.start(self.tracker_.predict())
        self.columns_, self.class_names_, self._selection = holdout.columns, holdout.classes, None

    @guarded
    def reset(self) -> None:
        """Forget the stream, as if just fitted."""
        check_fitted(self, "source_prior_")
        self.tracker_.reset()
        self._monitor.reset()
        self._correction.start(self.tracker_.predict())
        self._late, self.rounds_, self._selection = LateLabels(self._late.at_most), 0, None

    def update(self, proba: ArrayLike, y: Labels = None, *, ids: Ids = None, y_probability: Labels = None) -> None:
        """Learn from one round.

        Parameters
        ----------
        proba : (n, k) array
            The model's probabilities. An empty batch is a round without evidence.
        y : (n,) array, optional
            Labels where they are known; -1, None or NaN where not.
        ids : sequence of str or of int, optional
            An id, or None, for each sample, by which its label may come later: see `update_labels`.
        y_probability : float or (n,) array, optional
            The probability with which each labelled sample was chosen: see `label_requests`. Default: alike for all.
        """
        with self.guard.lock:
            self._round(proba, y, ids, y_probability)

    def step(self, proba: ArrayLike, y: Labels = None, *, ids: Ids = None, y_probability: Labels = None) -> Step:
        """Predict a batch, then learn from it as `update` does; return the prediction and the prior it used."""
        with self.guard.lock:
            return self._round(proba, y, ids, y_probability)

    def _round(self, proba: ArrayLike, y: Labels, ids: Ids, y_probability: Labels) -> Step:
        raw = self.check_rows(proba)
        labels = None if y is None else check_labels(y, *raw.shape, missing=True, classes=self.class_names_)
        chosen = None if y_probability is None else check_chosen(y_probability, labels)
        names = [] if ids is None else self._late.check_new(ids, len(raw), self.tracker_)
        calibrated = self.calibrate(raw)

        # Predict from the rounds before.
        correction = self._correction
        foreseen, prior, used = self._foresee(raw, calibrated)
        flags = {"enabled": self.enabled, "transductive": self.transductive}
        flags |= {"fallback": correction.fallback_, "alarm": correction.alarm_}
        step = Step(raw.copy() if correction.off_ or not self.enabled else foreseen, prior, flags)
        predicted = raw.argmax(axis=1) if correction.off_ else None

        # Learn: move the tracker, let labels choose among corrections, remember samples for late labels.
        if names:
            note = correctable(self.tracker_).note(Evidence(calibrated, self.source_prior_, labels))
            learned = correction.learned_
        if len(raw) > 0:
            self._observe(self.tracker_, calibrated, labels, chosen)
            correction.take_in(raw, calibrated, labels, chosen)  # judged by the prior that predicted them
            correction.follow(self.tracker_.predict(), self.rounds_)
        if names:
            places = self._monitor.places(len(raw))
            self._late.remember(names, whole_round(note, raw, calibrated, foreseen, predicted, places, labels, learned))
        self.rounds_ += 1

        # Watch: the trust signals decide how much of the correction the next round uses.
        seen = Round(raw, calibrated, foreseen, used, prior, labels, predicted, chosen)
        verdict = self._monitor.take_in(seen, self.tracker_)
        correction.heed(verdict, self.rounds_)
        if labels is not None or self._selection is not None:
            self._selection = watch_round(self._selection, self.classes_, raw.argmax(axis=1), labels, chosen)
        return step if self.class_names_ is None else NamedStep.of(step, self.classes_)

    def _foresee(self, raw: FloatArray, calibrated: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return a batch's corrected probabilities, and the (mean) class prior as tracked and as used."""
        correction = self._correction
        if not self.transductive or len(calibrated) == 0:
            applied = correction.now()
            return correction.apply(raw, calibrated, applied), correction.prior_.copy(), applied.used
        if isinstance(self.tracker_, LeaveOneOutTracker):
            priors = correction.project(self.tracker_.predict_left_out(Evidence(calibrated, self.source_prior_)))
            applied = correction.applied(priors)
            return correction.apply(raw, calibrated, applied), priors.mean(axis=0), applied.used.mean(axis=0)
        tracker = copy.deepcopy(self.tracker_)
        self._observe(tracker, calibrated, None)
        prior = correction.project(tracker.predict()[np.newaxis])[0]
        applied = correction.applied(prior)
        return correction.apply(raw, calibrated, applied), prior, applied.used

    def _observe(
        self, tracker: Tracker, calibrated: FloatArray, labels: IntArray | None, chosen: FloatArray | None = None
    ) -> None:
        """Update a tracker with a batch that is not empty; a likelihood need not know how labels were chosen."""
        starts, z = one_batch(len(calibrated)), self.source_prior_
        if self._reads_estimates:
            z = self.sightings(calibrated, labels, starts, chosen)[0]  # line 4
        tracker.update(z, Evidence(calibrated, self.source_prior_, labels, starts, checked=True))  # line 5

    @guarded
    def update_labels(self, ids: Sequence[Key], y: ArrayLike, *, y_probability: ArrayLike | None = None) -> int:
        """Learn the labels of samples of earlier rounds, in place of what was inferred; return their number.

        Needs a tracker that can correct itself, such as the default. It does not count as a round.

        Parameters
        ----------
        ids, y, y_probability
            As in `update`: the ids that the samples had there, and their labels. `missed_labels_` counts unknown ids.

        Examples
        --------
        >>> adapter = RegressAndReweight(calibrator=None).fit([[0.9, 0.1], [0.1, 0.9]] * 50, [0, 1] * 50)
        >>> step = adapter.step([[0.6, 0.4], [0.6, 0.4]], ids=["a", "b"])
        >>> adapter.prior_.round(2)
        array([0.54, 0.46])
        >>> adapter.update_labels(["a", "b", "z"], [1, 1, 0])
        2
        >>> adapter.prior_.round(2), adapter.waiting_, adapter.missed_labels_
        (array([0.31, 0.69]), 0, 1)
        """
        check_fitted(self, "source_prior_")
        tracker = correctable(self.tracker_)
        checked = self._late.check(ids, y, len(self.source_prior_), self.class_names_, y_probability)
        own: list[int] = []
        for late in self._late.take(*checked):
            self._correction.judge(late.raw, late.proba, late.labels, late.chosen, late.learned)
            tracker.correct(late.note, late.proba, late.labels)
            self._monitor.take_late(late.places, late.foreseen, late.predicted, late.labels, late.chosen)
            own += late.raw.argmax(axis=1).tolist()
        self._correction.jump(self.tracker_.predict(), self.rounds_)
        self._selection = watch_late(self._selection, self.classes_, own, checked.chosen, self._late.predicted)
        return len(own)

    @guarded
    def forget(self, ids: Sequence[Key]) -> int:
        """Let samples no longer wait for their labels; return how many waited."""
        check_fitted(self, "source_prior_")
        return self._late.forget(ids)

    @guarded
    def set_prior(self, q: ArrayLike) -> None:
        """Restart tracking from a known class mix. Earlier samples and their labels no longer count."""
        check_fitted(self, "source_prior_")
        prior = check_prior(q, len(self.source_prior_), "q")
        restartable(self.tracker_).restart(prior)
        self._late.clear()
        self._monitor.restart(prior)
        self._correction.restart(self.tracker_.predict(), self.rounds_)

    @guarded
    def idle(self, rounds: int) -> None:
        """Let a number of rounds pass without samples: the class mix may have moved, and the band widens.

        For rounds that are windows of time. Needs a tracker that can do it, such as the default.
        """
        check_fitted(self, "source_prior_")
        check_integer(rounds, "rounds", 0)
        idling(self.tracker_).idle(rounds)
        self.rounds_ += rounds
        self._correction.jump(self.tracker_.predict(), self.rounds_)

    def check_rows(self, proba: ArrayLike) -> FloatArray:
        """Check a batch of probabilities, without calibrating it."""
        check_fitted(self, "source_prior_")
        proba = proba if self.columns_ is None else arranged(proba, self.columns_)
        return check_proba(proba, len(self.source_prior_))

    def calibrate(self, rows: FloatArray) -> FloatArray:
        """Calibrate a checked batch."""
        return rows if self._is_calibrated else calibrate(rows, self.calibrator_, self._calibration_offsets)

    @classmethod
    def examples(cls) -> list[Self]:
        return [
            cls(),
            cls(FollowTheHistory(3), BBSE(clip=False), calibrator=None, floor=0.01, bounds=(0.0, [0.9, 0.9, 0.8])),
            cls(FollowTheFixedWindow(3, window=5), transductive=True, source_prior=[0.2, 0.3, 0.5]),
            cls(enabled=False),
        ]
