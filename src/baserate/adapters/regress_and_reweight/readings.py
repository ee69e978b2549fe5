"""TrustReadings: the read-only attributes of a fitted adapter: its prior, its limits, its alarms."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from baserate.adapters._sightings import sightings
from baserate.adapters.regress_and_reweight.correction import Correction
from baserate.adapters.regress_and_reweight.label_requests import (
    LabelRequests,
    LabelWorth,
    label_worth,
    request_labels,
)
from baserate.adapters.regress_and_reweight.late_labels import LateLabels
from baserate.class_labels import ClassNames
from baserate.guard import Guard, copied_alone, guarded
from baserate.protocols import FloatArray, IntArray, Tracker
from baserate.state import Component
from baserate.trust import Accuracy, Finding
from baserate.trust.doubt import Doubt, widened
from baserate.trust.keyed import KeyParts
from baserate.trust.label_selection import LabelSelection
from baserate.trust.monitor import TrustMonitor
from baserate.trust.prediction_sets import least_probabilities, prediction_sets
from baserate.trust.spread import LabelSpread
from baserate.validation import check_fitted, check_integer, check_option, check_real, check_rng


class TrustReadings(Component):
    """Read-only side of an adapter: the correction in use, how certain it is, and why it is reduced.

    The label-shift check, the gate, the dependence and the unknown mass are updated after every 256 samples; of a round
    of 1,024 samples or more, about 512 from all over it are used.
    """

    enabled: bool
    guard: Guard
    tracker_: Tracker
    source_prior_: FloatArray
    marginals_: Any
    _reads_estimates: bool
    _correction: Correction
    _monitor: TrustMonitor
    _late: LateLabels
    columns_: list[str] | None = None
    class_names_: ClassNames | None = None
    check_rows: Callable[[ArrayLike], FloatArray]
    calibrate: Callable[[FloatArray], FloatArray]
    _foresee: Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray, FloatArray]]
    _selection: LabelSelection | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return copied_alone(self, memo)

    def get_state(self) -> dict[str, Any]:
        state = super().get_state()
        missing = {name for name in ("columns_", "class_names_", "_selection") if state.get(name) is None}
        return {name: value for name, value in state.items() if name not in missing}

    def predict_proba(self, proba: ArrayLike) -> FloatArray:
        """Return the adapted probabilities of a batch; changes nothing.

        A row whose possible classes all have a prior of zero is returned calibrated, but uncorrected. In shadow mode,
        and while the gate has switched the correction off, all rows are returned unchanged.
        """
        with self.guard.lock:
            raw = self.check_rows(proba)
            own = self._correction.off_ or not self.enabled
            return raw.copy() if own else self._foresee(raw, self.calibrate(raw))[0]

    @property
    def classes_(self) -> NDArray[Any]:
        """(k,) the class label of each column; the columns' numbers, if those are the labels."""
        check_fitted(self, "source_prior_")
        return np.arange(len(self.source_prior_)) if self.class_names_ is None else np.array(self.class_names_)

    @property
    def prior_(self) -> FloatArray:
        """(k,) the class mix as tracked now, or of the next round where it follows the calendar.

        The gate may use only part of it: see `log_offsets`.
        """
        check_fitted(self, "source_prior_")
        prior: FloatArray = self._correction.prior_.copy()
        return prior

    def key_parts(self) -> KeyParts | None:
        """Return the fitted parts that the keys of a bank share; None if `alpha` is None."""
        check_fitted(self, "source_prior_")
        gate = self._correction.gate_
        return KeyParts.of(self._monitor, gate, gated=self._correction.gated)

    def project(self, tracked: FloatArray) -> FloatArray:
        """Return the class priors nearest to tracked vectors, one per row, within the bounds."""
        return self._correction.project(tracked)

    def sightings(
        self, proba: FloatArray, labels: IntArray | None, starts: IntArray, probabilities: FloatArray | None = None
    ) -> FloatArray:
        """Estimate the class mixes of checked batches; batch j is the rows ``starts[j]:starts[j + 1]``, none empty.

        The source prior stands in for estimates that the tracker does not read.
        """
        if not self._reads_estimates:
            return np.tile(self.source_prior_, (len(starts) - 1, 1))
        return sightings(self.marginals_, proba, labels, starts, probabilities)

    def log_offsets(self) -> FloatArray:
        """Return the correction as k numbers to add to (calibrated) log-probabilities or logits, before a softmax.

        With these, a model that is served elsewhere is corrected in one line. A class with a prior of zero has the
        offset -inf. All are zero in shadow mode, and while the gate has switched the correction off.
        """
        check_fitted(self, "source_prior_")
        offsets = self._correction.offsets_
        return offsets.copy() if self.enabled else np.zeros_like(offsets)

    @guarded
    def prior_interval(self, level: float = 0.9, *, labels: bool = True) -> FloatArray:
        """Return limits of each class's share now. Changes nothing; takes about a millisecond.

        Without labels, they rely on label shift; with 20 or more, they are prediction-powered, and hold whatever the
        model does if samples were chosen for labels at random. Labels that come late count as if they had come at once.

        Parameters
        ----------
        level : float
            The probability with which a class's share is within its limits.
        labels : bool
            ``False`` relies on label shift all the same: narrower where labels are few, and wrong where classes no
            longer look as in the holdout.

        Returns
        -------
        (k, 2) array
            See `baserate.trust.PriorBand` and `baserate.trust.LabelledMix`. The former's limits are the wider the more
            is in doubt, up to 0 and 1: see `accuracy_in_doubt_`. Where those by fewer than 20 labels are narrower, they
            are used instead, class by class.
        """
        check_fitted(self, "source_prior_")
        check_option(labels, "labels", [True, False])
        limits = self._monitor.interval(self._correction.prior_, self.tracker_, level, labels=labels)
        if labels and self._monitor.mix_by_labels_:
            return limits
        degree = self._doubt().degree
        wide = widened(limits, degree)
        if not labels or degree <= 0.0:
            return wide
        by_labels = self._monitor.interval_by_labels(self._correction.prior_, self.tracker_, level)
        narrower = np.diff(by_labels) < np.diff(wide)
        return np.where(narrower, by_labels, wide)

    def interval_of(self, prior: FloatArray, tracker: Tracker, level: float) -> FloatArray:
        """Return `prior_interval` of another stream's class mix and tracker, without labels and without doubts."""
        check_fitted(self, "source_prior_")
        return self._monitor.interval(prior, tracker, level, labels=False)

    def _doubt(self) -> Doubt:
        return self._monitor.doubt(self._correction.prior_, in_alarm=self._correction.alarm_)

    @guarded
    def label_spread(self, mixes: FloatArray) -> LabelSpread:
        """Return how far class mixes, (T, k), may be off that are the likeliest given samples; changes nothing."""
        check_fitted(self, "source_prior_")
        return self._monitor.spread(mixes)

    def predict_set(
        self, proba: ArrayLike, level: float = 0.9, *, class_conditional: bool = False, allow_empty: bool = False
    ) -> NDArray[np.bool_]:
        """Return the classes that each sample of a batch may well have; changes nothing.

        The true class is among them with probability `level`, at the class mix of now (conformal prediction), as long
        as samples of a class look as they do in the holdout. While less than the whole correction is used, that holds
        at the tracked class mix and at the one in use. It takes about a millisecond.

        Parameters
        ----------
        proba : (n, k) array
            The model's probabilities.
        level : float
            The probability.
        class_conditional : bool
            Cover each class by itself with this probability. Sets are larger, and do not depend on the class mix.
        allow_empty : bool
            Let sets be empty. Otherwise each has the likeliest class, and where the model is right more often than
            `level`, sets cover more often, too.

        Returns
        -------
        (n, k) array of bool
            One column per class: see `classes_`.

        Examples
        --------
        >>> from baserate.adapters import RegressAndReweight
        >>> holdout = [[0.9, 0.1], [0.7, 0.3], [0.4, 0.6], [0.2, 0.8], [0.6, 0.4]] * 25
        >>> adapter = RegressAndReweight(calibrator=None).fit(holdout, [0, 0, 1, 1, 1] * 25)
        >>> adapter.predict_set([[0.95, 0.05], [0.5, 0.5]])
        array([[ True, False],
               [ True,  True]])
        """
        check_real(level, "level", 0.0, 1.0, closed=False)
        with self.guard.lock:
            rows, correction = self.calibrate(self.check_rows(proba)), self._correction
            holdout, labels = self._monitor.holdout()
            now, mixes = correction.now(), np.array([correction.prior_, correction.used_])
            known, adapted = (correction.apply(part, part, now) for part in (holdout, rows))
        least = least_probabilities(known, labels, mixes, level, class_conditional=class_conditional)
        return prediction_sets(adapted, least, allow_empty=allow_empty)

    @guarded
    def estimated_accuracy(self, level: float = 0.9) -> Accuracy:
        """Estimate the accuracy of the adapted predictions of the last 5,000 samples.

        Without labels, it relies on label shift; with 20 or more among these samples, it is prediction-powered, and its
        limits hold whatever the model does if samples were chosen for labels at random. Labels that come late count as
        if they had come at once. Changes nothing. In shadow mode it is the accuracy they would have had.

        Parameters
        ----------
        level : float
            The probability with which the accuracy is within the limits.

        Returns
        -------
        Accuracy
            ``value, low, high``; NaN, 0 and 1 before the first sample. See `baserate.trust.AccuracyEstimate`. Without
            labels, limits are the wider the more is in doubt, up to 0 and 1: see `accuracy_in_doubt_`. Where limits by
            fewer than 20 labels are narrower than these, the estimate is by labels, from the first one on.
        """
        check_fitted(self, "source_prior_")
        found = self._monitor.accuracy(level)
        if self._monitor.labels_suffice_:
            return found
        return self._monitor.accuracy_estimate().doubted(self._doubt().degree, level)

    @property
    @guarded
    def accuracy_in_doubt_(self) -> str:
        """The reason why `estimated_accuracy` may not be believed; empty if nothing is in doubt, or labels tell."""
        check_fitted(self, "source_prior_")
        return "" if self._monitor.labels_suffice_ else self._doubt().reason

    @property
    def assumption_evidence_(self) -> float:
        """Evidence against label shift: 1 is none, and 1 / alpha raises an alarm."""
        check_fitted(self, "source_prior_")
        return self._monitor.evidence(in_alarm=self._correction.alarm_)

    @property
    def assumption_alarm_(self) -> bool:
        """True while more than the class mix seems to have changed; ends when a fresh check finds nothing."""
        check_fitted(self, "source_prior_")
        return self._correction.alarm_

    @property
    def assumption_untested_(self) -> str:
        """The reason if label shift cannot be tested, and the evidence stays at 1; else empty."""
        check_fitted(self, "source_prior_")
        return self._monitor.untested_

    @property
    @guarded
    def assumption_findings_(self) -> list[Finding]:
        """The signs that more than the class mix has changed, strongest first."""
        check_fitted(self, "source_prior_")
        return self._monitor.findings(in_alarm=self._correction.alarm_)

    @property
    def correction_weight_(self) -> float:
        """The part of the correction that is used, from 0 to 1: see `baserate.trust.Gate`. Always 1 without a gate."""
        check_fitted(self, "source_prior_")
        return self._correction.weight_

    @property
    def fallback_active_(self) -> bool:
        """True while the gate reduces the correction, or has switched it off: while `correction_weight_` is below 1.

        While it is off, predictions are the model's own, uncalibrated.
        """
        check_fitted(self, "source_prior_")
        return self._correction.fallback_

    @property
    def fallback_reason_(self) -> str:
        """The reason why the gate reduces the correction; empty if it does not."""
        check_fitted(self, "source_prior_")
        return self._correction.reason_

    @property
    def fallback_since_(self) -> int | None:
        """The round since which the gate reduces the correction (rounds without samples count), or None."""
        check_fitted(self, "source_prior_")
        return self._correction.since_

    @property
    def serial_correlation_(self) -> float:
        """Correlation of successive samples beyond their class: see `baserate.trust.SerialDependence`."""
        check_fitted(self, "source_prior_")
        return self._monitor.dependence_.correlation_

    @property
    def unknown_mass_(self) -> float:
        """The share of the last samples that fits none of the classes: see `baserate.trust.UnknownMass`.

        `prior_` counts these samples to some class; `known_prior_` leaves them out.
        """
        check_fitted(self, "source_prior_")
        return self._monitor.unknown_mass_

    @property
    def known_prior_(self) -> FloatArray:
        """(k,) the class mix of the samples that fit a class: `prior_` without the unknown mass."""
        check_fitted(self, "source_prior_")
        return self._monitor.without_unknown(self._correction.prior_)

    @property
    def waiting_(self) -> int:
        """The number of samples that wait for their labels."""
        check_fitted(self, "source_prior_")
        return len(self._late)

    @property
    def missed_labels_(self) -> int:
        """The number of labels that came for samples that did not wait: too late, or under an unknown id."""
        check_fitted(self, "source_prior_")
        return self._late.missed_

    def label_worth(self, proba: ArrayLike) -> LabelWorth:
        """Return how much the label of each row of a batch would tell, relative to the others; changes nothing.

        `label_requests` draws rows in proportion to it. To choose rows of a whole file or day, which does not fit into
        one batch, draw by these.

        Returns
        -------
        LabelWorth
            ``worth, reasons``; the mean worth is 1, the least 0.5.
        """
        with self.guard.lock:
            raw = self.check_rows(proba)
            return label_worth(*self._correction.candidates(self.calibrate(raw), raw))

    def label_requests(self, proba: ArrayLike, n: int, rng: int | np.random.Generator | None = None) -> LabelRequests:
        """Choose the rows of a batch whose labels would tell most; changes nothing.

        Rows are drawn at random: more often where the corrections that labels choose among predict other classes. Every
        row of a batch of N has a probability of at least ``0.5 n / N``. Call it before `step`, and give the
        probabilities with the labels, as `y_probability`.

        Parameters
        ----------
        proba : (N, k) array
            The model's probabilities.
        n : int
            How many labels to ask for; if the batch has no more rows, all of them.
        rng : int, Generator or None
            A seed, or a generator.

        Returns
        -------
        LabelRequests
            ``indices, probabilities, reasons``.

        Examples
        --------
        >>> from baserate.adapters import RegressAndReweight
        >>> adapter = RegressAndReweight(calibrator=None).fit([[0.9, 0.1], [0.1, 0.9]] * 50, [0, 1] * 50)
        >>> adapter.set_prior([0.2, 0.8])
        >>> asked = adapter.label_requests([[0.99, 0.01], [0.7, 0.3], [0.01, 0.99], [0.02, 0.98]], n=2, rng=0)
        >>> asked.indices, asked.probabilities.round(2), asked.reasons
        (array([1, 3]), array([1.  , 0.33]), ['corrections disagree', 'drawn at random'])
        """
        found = self.label_worth(proba)
        return request_labels(found, check_integer(n, "n", 1), check_rng(rng))
