"""TrustReadings: everything that a fitted adapter says about itself, read and never changed."""

import numpy as np

from baserate.adapters.regress_and_reweight.correction import Correction
from baserate.adapters.regress_and_reweight.late_labels import LateLabels
from baserate.protocols import FloatArray, Tracker
from baserate.state import Component
from baserate.trust import Accuracy, Finding
from baserate.trust.monitor import TrustMonitor
from baserate.validation import check_fitted


class TrustReadings(Component):
    """An adapter as its reader sees it: which correction is used, how sure it is, and why it holds back.

    The check of label shift, the gate, dependence and the unknown mass look at every 256 samples that were collected,
    and of rounds of 1,024 or more at some 512 from all over them; what they say is as of then.
    """

    enabled: bool
    tracker_: Tracker
    source_prior_: FloatArray
    _correction: Correction
    _monitor: TrustMonitor
    _late: LateLabels

    @property
    def prior_(self) -> FloatArray:
        """(k,) the class mix as tracked now. What predictions are re-weighted to, with the gate: `log_offsets`."""
        check_fitted(self, "source_prior_")
        prior: FloatArray = self._correction.prior_.copy()
        return prior

    def log_offsets(self) -> FloatArray:
        """The correction as k numbers to add to the (calibrated) log-probabilities or logits, before a softmax.

        A model that is served elsewhere applies it in one line. A class that the prior rules out has the offset -inf.
        All zero in shadow mode, and where the gate has switched the correction off.
        """
        check_fitted(self, "source_prior_")
        offsets = self._correction.offsets_
        return offsets.copy() if self.enabled else np.zeros_like(offsets)

    def prior_interval(self, level: float = 0.9) -> FloatArray:
        """Between which limits each class's share lies now; changes nothing. Takes about a millisecond.

        Parameters
        ----------
        level : float
            How often each class's share shall be within its limits.

        Returns
        -------
        (k, 2) array
            See `baserate.trust.PriorBand`.
        """
        check_fitted(self, "source_prior_")
        return self._monitor.interval(self._correction.prior_, self.tracker_, level)

    def estimated_accuracy(self, level: float = 0.9) -> Accuracy:
        """The share of the adapted predictions of the last 5,000 samples that were right, without labels.

        Changes nothing. In shadow mode: would have been right.

        Parameters
        ----------
        level : float
            How often the share of right predictions shall be within the limits.

        Returns
        -------
        Accuracy
            ``value, low, high``; NaN, 0 and 1 before the first sample. See `baserate.trust.AccuracyEstimate`.
        """
        check_fitted(self, "source_prior_")
        return self._monitor.accuracy(level)

    @property
    def assumption_evidence_(self) -> float:
        """Evidence against label shift: 1 is none, and from 1 / alpha on there is an alarm."""
        check_fitted(self, "source_prior_")
        return self._monitor.evidence(in_alarm=self._correction.alarm_)

    @property
    def assumption_alarm_(self) -> bool:
        """Whether the stream looks like something else than label shift; ends when a fresh check stays silent."""
        check_fitted(self, "source_prior_")
        return self._correction.alarm_

    @property
    def assumption_untested_(self) -> str:
        """Why there is no check of label shift, and its evidence stays at 1; empty if there is one."""
        check_fitted(self, "source_prior_")
        return self._monitor.untested_

    @property
    def assumption_findings_(self) -> list[Finding]:
        """The strongest signs that more than the class mix has changed, strongest first."""
        check_fitted(self, "source_prior_")
        return self._monitor.findings(in_alarm=self._correction.alarm_)

    @property
    def correction_weight_(self) -> float:
        """The part of the correction that is used, from 0 to 1: see `baserate.trust.Gate`. Always 1 without a gate."""
        check_fitted(self, "source_prior_")
        return self._correction.weight_

    @property
    def fallback_active_(self) -> bool:
        """Whether the gate holds the correction back.

        Where it is switched off altogether, predictions are the model's own, as they came.
        """
        check_fitted(self, "source_prior_")
        return self._correction.fallback_

    @property
    def fallback_reason_(self) -> str:
        """Why the gate holds the correction back; empty if it does not."""
        check_fitted(self, "source_prior_")
        return self._correction.reason_

    @property
    def fallback_since_(self) -> int | None:
        """The round since which the gate holds the correction back; those in which nothing came are counted."""
        check_fitted(self, "source_prior_")
        return self._correction.since_

    @property
    def serial_correlation_(self) -> float:
        """How much samples that follow each other are alike, beyond their class: `baserate.trust.SerialDependence`."""
        check_fitted(self, "source_prior_")
        return self._monitor.dependence_.correlation_

    @property
    def unknown_mass_(self) -> float:
        """The share of the last samples that fits none of the classes: see `baserate.trust.UnknownMass`.

        It is booked to classes in `prior_`, as every sample is; `known_prior_` is the mix of the others.
        """
        check_fitted(self, "source_prior_")
        return self._monitor.unknown_mass_

    @property
    def known_prior_(self) -> FloatArray:
        """(k,) the class mix of the samples that fit a class: `prior_` without the unknown mass booked to it."""
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
