"""RegressAndReweight: track the class mix, re-weight every prediction to it (Algorithm 1 of the paper)."""

import copy
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.adapters._late_labels import LateLabels
from baserate.adapters._previous_classes import carried_over, check_previous
from baserate.adapters._reweighting import ReweightingAdapter
from baserate.adapters._sightings import fit_marginals, new_marginals, sightings
from baserate.adapters._slack import slack
from baserate.adapters._steered import Steered
from baserate.adapters._waiting import Waiting
from baserate.adapters._watched import Watched
from baserate.marginals import BBSE
from baserate.parameters import clone
from baserate.protocols import (
    BindableTracker,
    Calibrator,
    Evidence,
    FloatArray,
    IntArray,
    Key,
    LeaveOneOutTracker,
    MarginalEstimator,
    Step,
    TolerantTracker,
    Tracker,
)
from baserate.simplex import project, reweight
from baserate.state import check_array
from baserate.trackers import FollowTheFixedWindow, FollowTheHistory, LikelihoodMixture
from baserate.trust import HoldoutWarning, health
from baserate.trust.health import CONFUSED
from baserate.trust.watch import Watch
from baserate.validation import check_fitted, check_has_methods, check_limits, check_option, check_proba, warn_user


class RegressAndReweight(Steered, Watched, LateLabels, ReweightingAdapter, saved_as="regress_and_reweight"):
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
    prior_ : (k,) array
        The class mix as tracked now. What the predictions are re-weighted to, with the gate, is in `log_offsets`.
    source_prior_ : (k,) array
        The class mix the model's probabilities assume.
    tracker_, marginals_, calibrator_
        The fitted parts. By default there is no estimator where the tracker reads no sightings: `LikelihoodMixture`.
    waiting_ : int
        How many samples wait for their labels.
    missed_labels_ : int
        How many labels came for samples that did not wait: too late, or under an unknown id.
    assumption_evidence_, assumption_alarm_, assumption_findings_, assumption_untested_
        Whether the stream is label shift at all, or why that is not tested.
    serial_correlation_ : float
        How much samples that follow each other are alike, beyond their class.
    fallback_active_, fallback_reason_, fallback_since_, correction_weight_
        Whether the gate holds the correction back, why, since which round, and how much of it is used. Where it is
        switched off altogether, predictions are the model's own, as they came.
    unknown_mass_ : float
        The share of the stream that fits none of the classes. It is booked to classes in `prior_`, as every sample is;
        `known_prior_` is the mix of the others.

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

    def _fit(self, proba: ArrayLike | None, y: ArrayLike | None) -> None:
        self._learn(proba, y, tracker=None)

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
        if previous is None:
            self._learn(proba, y, tracker=self.tracker_)
            return self
        before = self.prior_
        places = check_previous(previous, check_proba(proba).shape[1], len(before))
        then = copy.copy(self)
        then._learn(proba, y, tracker=None)
        then.set_prior(carried_over(before, then.source_prior_, places))
        self.__dict__ = then.__dict__
        return self

    def _learn(self, proba: ArrayLike | None, y: ArrayLike | None, tracker: Tracker | None) -> None:
        """Fit every part on a holdout, with a new tracker or with the one that is running; all of it or nothing."""
        check_option(self.gate, "gate", [True, False])
        if self.gate and self.alpha is None:
            raise ValueError("alpha is None, and the gate needs it; give a number such as 0.05, or set gate=False.")
        marginals = self._new_marginals(tracker)
        if y is None and marginals is not None and getattr(marginals, "needs_labels", True):
            raise ValueError(
                f"y is missing: {type(marginals).__name__} needs a labelled holdout. Give one, or use an estimator "
                "that works without."
            )
        holdout = self._read_holdout(proba, y)
        source_prior = holdout.source_prior
        k = len(source_prior)
        if tracker is not None and k != len(self.source_prior_):
            raise ValueError(
                f"proba has {k} columns; expected {len(self.source_prior_)}, the classes that are being tracked. To "
                "go on with other classes, say which they were (previous=...); to start anew, call fit."
            )
        limits = check_limits(self.bounds, self.floor, k)
        goes_on = tracker is not None
        waiting = self._waiting if goes_on else Waiting(self.max_waiting)
        if marginals is not None:
            fit_marginals(marginals, source_prior, holdout.proba, holdout.labels)
        # What goes on is a copy: if a later part refuses, the tracker is as it was.
        tracker = self._new_tracker(k) if tracker is None else copy.deepcopy(tracker)
        if isinstance(tracker, BindableTracker):
            tracker.bind(prior=source_prior, sigma_min=getattr(marginals, "sigma_min_", None))
        if holdout.raw is not None and holdout.proba is not None and holdout.labels is not None:
            excused = slack(holdout.proba, holdout.labels, source_prior, sampled=self.source_prior is None)
            if isinstance(tracker, TolerantTracker):
                tracker.tolerate(excused)
            for problem in health(holdout.raw, holdout.labels, holdout.proba, None, excused, self.source_prior):
                if problem.kind != CONFUSED or not hasattr(marginals, "sigma_min_"):  # or it has been said already
                    warn_user(problem.message, HoldoutWarning)
        watch = Watch(self.alpha).fit(
            holdout.raw, holdout.proba, holdout.labels, source_prior, self.rounds_ if goes_on else 0
        )
        if watch.checks_ and watch.untested_:
            warn_user(f"whether a stream is label shift cannot be tested: {watch.untested_}", HoldoutWarning)
        self._keep(holdout)
        self._gating: bool = self.gate
        self._bounds, self.marginals_, self.tracker_ = limits, marginals, tracker
        self._waiting: Waiting = waiting
        self._watch: Watch = watch
        self._moved()

    def _new_marginals(self, tracker: Tracker | None) -> Any:
        """An unfitted estimator; none by default where nobody would read what it sees."""
        given = self.tracker if tracker is None else tracker
        follows = LikelihoodMixture if given is None else given
        if self.marginals is None and not getattr(follows, "reads_sightings", True):
            return None
        return new_marginals(self.marginals)

    def _new_tracker(self, n_classes: int) -> Tracker:
        if self.tracker is None:
            return LikelihoodMixture(n_classes)
        check_has_methods(self.tracker, "tracker", Tracker, "predict, update and reset")
        tracker: Tracker = clone(self.tracker)
        if len(tracker.predict()) != n_classes:
            raise ValueError(
                f"tracker follows {len(tracker.predict())} classes; the holdout has {n_classes}. Construct it with "
                f"n_classes={n_classes}."
            )
        return tracker

    def _start(self) -> None:
        super()._start()
        self.tracker_.reset()
        self._waiting.clear()
        self._watch.reset()
        self.missed_labels_ = 0
        self._refresh()

    def log_offsets(self) -> FloatArray:
        """The correction as k numbers to add to the (calibrated) log-probabilities or logits, before a softmax.

        A model that is served elsewhere applies it in one line. A class that the prior rules out has the offset -inf.
        All zero in shadow mode, and where the gate has switched the correction off.
        """
        check_fitted(self, "source_prior_")
        return self._offsets.copy() if self.enabled else np.zeros_like(self._offsets)

    def predict_proba(self, proba: ArrayLike) -> FloatArray:
        """Adapted probabilities of a batch; changes nothing.

        Where the prior rules out every class that the model holds possible, the (calibrated) row is returned as it is.
        In shadow mode, and where the gate has switched the correction off, all rows are returned as they came.
        """
        rows = self.check_rows(proba)
        return rows.copy() if self._leaves_alone() else self._foresee(self.calibrate(rows))[0]

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
        self._play(proba, y, ids)

    def step(self, proba: ArrayLike, y: ArrayLike | None = None, *, ids: Sequence[Key] | None = None) -> Step:
        """Predict a batch, then take it in, as `update` does; return what was used."""
        return self._play(proba, y, ids)

    def _play(self, proba: ArrayLike, y: ArrayLike | None, ids: Sequence[Key] | None) -> Step:
        rows = self.check_rows(proba)
        labels, names = self._check_labels(y, rows), self._check_ids(ids, len(rows))
        calibrated = self.calibrate(rows)
        foreseen, prior, used = self._foresee(calibrated)
        step = Step(rows.copy() if self._leaves_alone() else foreseen, prior, self._flags())
        self._take_in(rows, calibrated, labels, names, prior)
        if labels is not None:
            self._watch.take_labels(calibrated * (prior / self.source_prior_), rows.argmax(axis=1), labels)
        self._watch.take_in(rows, calibrated, foreseen, used, labels, self.tracker_, self._prior)
        if self._gate_weight() != self._weight:
            self._refresh_offsets()
        return step

    def _foresee(self, proba: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What is predicted for a batch, the class mix tracked, and that used; where samples have their own, means."""
        if self.transductive and len(proba) > 0:
            if isinstance(self.tracker_, LeaveOneOutTracker):
                priors = self.project(self.tracker_.predict_left_out(Evidence(proba, self.source_prior_)))
                offsets, used = self._gated(priors)
                adapted = reweight(proba, offsets, np.arange(len(proba) + 1))
                return adapted, priors.mean(axis=0), used.mean(axis=0)
            then = copy.copy(self)
            then.tracker_ = copy.deepcopy(self.tracker_)
            then._observe(proba, None)
        else:
            then = self
        predicted = reweight(proba, then._offsets[np.newaxis], np.array([0, len(proba)]))  # Alg. 1, line 3
        return predicted, then._prior.copy(), then._used

    def _flags(self) -> dict[str, bool]:
        return {
            "enabled": self.enabled,
            "transductive": self.transductive,
            "fallback": self._gating and self._watch.gate_.active_,
            "alarm": self._watch.alarm_,
        }

    def _current_prior(self) -> FloatArray:
        return self._prior

    def _observe(self, proba: FloatArray, labels: IntArray | None) -> None:
        if len(proba) > 0:
            starts = np.array([0, len(proba)])
            z = self.sightings(proba, labels, starts)[0] if self._reads_sightings else self.source_prior_  # line 4
            self.tracker_.update(z, Evidence(proba, self.source_prior_, labels, starts, checked=True))  # line 5
            self._refresh()

    @property
    def _reads_sightings(self) -> bool:
        return getattr(self.tracker_, "reads_sightings", True)

    def _refresh(self) -> None:
        self._prior: FloatArray = self.project(self.tracker_.predict()[np.newaxis])[0]
        self._refresh_offsets()

    def _moved(self) -> None:
        """The class mix is another, and not by a round: the gate rehearses it before anything is predicted by it."""
        self._refresh()
        self._watch.moved(self._prior)
        self._refresh_offsets()

    def _refresh_offsets(self) -> None:
        self._weight = self._gate_weight()
        self._offsets, self._used = self._gated(self._prior)

    def project(self, tracked: FloatArray) -> FloatArray:
        """Class mixes out of tracked vectors, one per row: the nearest within the bounds."""
        return project(tracked, *self._bounds)  # Alg. 1, line 2

    def sightings(self, proba: FloatArray, labels: IntArray | None, starts: IntArray) -> FloatArray:
        """Sightings of several checked batches; batch j is the rows ``starts[j]:starts[j + 1]``, none empty.

        Where the tracker looks at the batches themselves, nothing is estimated: the source prior stands for them.
        """
        if not self._reads_sightings:
            return np.tile(self.source_prior_, (len(starts) - 1, 1))
        return sightings(self.marginals_, proba, labels, starts)

    def set_state(self, state: dict[str, Any]) -> Self:
        super().set_state(state)
        if hasattr(self, "source_prior_"):
            like = np.empty(len(self.source_prior_))
            for name in ("_prior", "_used", "_offsets"):
                check_array(getattr(self, name), name, like)
            for bound in self._bounds:
                check_array(bound, "_bounds", like)
            check_array(self.tracker_.predict(), "tracker_", like)
        return self

    @classmethod
    def examples(cls) -> list[Self]:
        return [
            cls(),
            cls(FollowTheHistory(3), BBSE(clip=False), calibrator=None, floor=0.01, bounds=(0.0, [0.9, 0.9, 0.8])),
            cls(FollowTheFixedWindow(3, window=5), transductive=True, source_prior=[0.2, 0.3, 0.5]),
            cls(enabled=False),
        ]
