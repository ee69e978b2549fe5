"""RegressAndReweight: track the class mix, re-weight every prediction to it (Algorithm 1 of the paper)."""

import copy
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone  # type: ignore[import-untyped]

from baserate.adapters._reweighting import ReweightingAdapter
from baserate.adapters._sightings import fit_marginals, new_marginals, sightings
from baserate.marginals import BBSE
from baserate.protocols import (
    BindableTracker,
    Calibrator,
    Evidence,
    FloatArray,
    IntArray,
    MarginalEstimator,
    RestartableTracker,
    Step,
    Tracker,
)
from baserate.simplex import log_ratio, project, reweight
from baserate.state import check_array
from baserate.trackers import FLHFTL, FollowTheFixedWindow, FollowTheHistory
from baserate.validation import check_fitted, check_has_methods, check_limits, check_prior


class RegressAndReweight(ReweightingAdapter):
    """Keeps a fixed model's probabilities right while the class mix drifts: probabilities in, probabilities out.

    Each unlabelled batch gives a noisy sighting of the class mix, a tracker averages the sightings over as long as the
    mix stands still, and predictions are multiplied by the tracked mix over the source mix. With `FLHFTL` its expected
    dynamic regret is of the optimal order T^(2/3) V^(1/3), V the total variation of the mix (Theorem 1).

    Parameters
    ----------
    tracker : Tracker, optional
        Follows the class mix. Default: `FLHFTL` for the holdout's number of classes. It is cloned, never moved itself.
    marginals : MarginalEstimator, optional
        Turns a batch into a sighting. Default: `BBSE`.
    calibrator : Calibrator, "auto" or None
        Makes the probabilities honest before anything else sees them. ``"auto"`` (default) is `AutoCalibrator`, which
        chooses on the holdout, and leaves probabilities alone that are honest; ``None`` is for those that are known to
        be. Without a labelled holdout there is nothing to calibrate on: ``"auto"`` then warns, and is none.
    transductive : bool
        Use the batch itself, without labels, before predicting it. ``False`` (default) is the paper's strict protocol:
        round t is predicted from rounds before t.
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

    Attributes
    ----------
    prior_ : (k,) array
        The class mix as tracked now.
    source_prior_ : (k,) array
        The class mix the model's probabilities assume.
    tracker_, marginals_, calibrator_
        The fitted parts.

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
    ) -> None:
        self.tracker = tracker
        self.marginals = marginals
        self.calibrator = calibrator
        self.transductive = transductive
        self.floor = floor
        self.bounds = bounds
        self.source_prior = source_prior
        self.enabled = enabled

    def _fit(self, proba: ArrayLike | None, y: ArrayLike | None) -> None:
        self._learn(proba, y, tracker=None)

    def refit(self, proba: ArrayLike, y: ArrayLike) -> Self:
        """Take over a redeployed model: learn its holdout, and go on with the mix tracked so far.

        Parameters
        ----------
        proba, y
            As in `fit`: the new model's probabilities and labels on a holdout, with the same classes.
        """
        check_fitted(self, "source_prior_")
        self._learn(proba, y, tracker=self.tracker_)
        return self

    def _learn(self, proba: ArrayLike | None, y: ArrayLike | None, tracker: Tracker | None) -> None:
        """Fit every part on a holdout, with a new tracker or with the one that is running; all of it or nothing."""
        marginals = new_marginals(self.marginals)
        if y is None and getattr(marginals, "needs_labels", True):
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
                "start with other classes, call fit."
            )
        limits = check_limits(self.bounds, self.floor, k)
        fit_marginals(marginals, source_prior, holdout.proba, holdout.labels)
        if tracker is None:
            tracker = self._new_tracker(k)
        if isinstance(tracker, BindableTracker):
            tracker.bind(prior=source_prior, sigma_min=getattr(marginals, "sigma_min_", None))
        self._keep(holdout)
        self._bounds, self.marginals_, self.tracker_ = limits, marginals, tracker
        self._refresh()

    def _new_tracker(self, n_classes: int) -> Tracker:
        if self.tracker is None:
            return FLHFTL(n_classes)
        check_has_methods(self.tracker, "tracker", Tracker, "predict, update and reset")
        tracker: Tracker = clone(self.tracker, safe=False)
        if len(tracker.predict()) != n_classes:
            raise ValueError(
                f"tracker follows {len(tracker.predict())} classes; the holdout has {n_classes}. Construct it with "
                f"n_classes={n_classes}."
            )
        return tracker

    def _start(self) -> None:
        super()._start()
        self.tracker_.reset()
        self._refresh()

    def set_prior(self, q: ArrayLike) -> None:
        """Restart the tracking from a class mix that a person knows; the next batches move it on."""
        check_fitted(self, "source_prior_")
        prior = check_prior(q, len(self.source_prior_), "q")
        if not isinstance(self.tracker_, RestartableTracker):
            raise TypeError(
                f"{type(self.tracker_).__name__} cannot start from a given prior; it has no method restart(birth)."
            )
        self.tracker_.restart(prior)
        self._refresh()

    def log_offsets(self) -> FloatArray:
        """The correction as k numbers to add to the (calibrated) log-probabilities or logits, before a softmax.

        A model that is served elsewhere applies it in one line. A class that the prior rules out has the offset -inf.
        All zero in shadow mode.
        """
        check_fitted(self, "source_prior_")
        return self._offsets.copy() if self.enabled else np.zeros_like(self._offsets)

    def predict_proba(self, proba: ArrayLike) -> FloatArray:
        """Adapted probabilities of a batch; changes nothing.

        Where the prior rules out every class that the model holds possible, the (calibrated) row is returned as it is.
        """
        rows = self.check_rows(proba)
        calibrated = self.calibrate(rows)
        return self._ahead(calibrated)._predict(calibrated) if self.enabled else rows.copy()

    def step(self, proba: ArrayLike, y: ArrayLike | None = None) -> Step:
        """Predict a batch, then take it in; return what was used."""
        rows = self.check_rows(proba)
        labels = self._check_labels(y, rows)
        calibrated = self.calibrate(rows)
        looked = self.transductive and labels is None
        if looked:
            self._advance(calibrated, None)  # the look ahead is the update
        then = self if looked else self._ahead(calibrated)
        predicted = then._predict(calibrated) if self.enabled else rows.copy()
        step = Step(predicted, then._prior.copy(), self._flags())
        if not looked:
            self._advance(calibrated, labels)
        return step

    def _ahead(self, proba: FloatArray) -> Self:
        """The adapter to predict this batch with: itself, or a copy that has seen the batch without its labels."""
        if not self.transductive:
            return self
        then = copy.copy(self)
        then.tracker_ = copy.deepcopy(self.tracker_)
        then._observe(proba, None)
        return then

    def _predict(self, proba: FloatArray) -> FloatArray:
        return reweight(proba, self._offsets[np.newaxis], np.array([0, len(proba)]))  # Alg. 1, line 3

    def _flags(self) -> dict[str, bool]:
        return {"enabled": self.enabled, "transductive": self.transductive}

    def _current_prior(self) -> FloatArray:
        return self._prior

    def _observe(self, proba: FloatArray, labels: IntArray | None) -> None:
        if len(proba) > 0:
            starts = np.array([0, len(proba)])
            z = self.sightings(proba, labels, starts)[0]
            self.tracker_.update(z, Evidence(proba, self.source_prior_, labels, starts))  # Alg. 1, line 5
            self._refresh()

    def _refresh(self) -> None:
        self._prior: FloatArray = self.project(self.tracker_.predict()[np.newaxis])[0]
        self._offsets = log_ratio(self._prior, self.source_prior_)

    def project(self, tracked: FloatArray) -> FloatArray:
        """Class mixes out of tracked vectors, one per row: the nearest within the bounds."""
        return project(tracked, *self._bounds)  # Alg. 1, line 2

    def sightings(self, proba: FloatArray, labels: IntArray | None, starts: IntArray) -> FloatArray:
        """Sightings of several checked batches; batch j is the rows ``starts[j]:starts[j + 1]``, none empty."""
        return sightings(self.marginals_, proba, labels, starts)  # Alg. 1, line 4

    def set_state(self, state: dict[str, Any]) -> Self:
        super().set_state(state)
        if hasattr(self, "source_prior_"):
            like = np.empty(len(self.source_prior_))
            for name in ("_prior", "_offsets"):
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
