"""What an adapter says about itself: how sure it is, whether it is label shift, and whether it holds back."""

import numpy as np

from baserate.adapters._reweighting import ReweightingAdapter
from baserate.protocols import FloatArray, Tracker
from baserate.simplex import log_ratio
from baserate.trust import Accuracy, Finding
from baserate.trust.watch import Watch
from baserate.validation import check_fitted


class Watched(ReweightingAdapter):
    """The part of an adapter around a tracker that answers how far it can be trusted.

    The check of label shift, the gate and the unknown mass look at every 256 samples that were collected, and of rounds
    of 1,024 or more at some 512 from all over them; what they say is as of then.
    """

    alpha: float | None
    enabled: bool
    _gating: bool
    tracker_: Tracker
    _watch: Watch

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
        return self._watch.interval(self._current_prior(), self.tracker_, level)

    def estimated_accuracy(self, level: float = 0.9) -> Accuracy:
        """How often the adapted predictions of the last 5,000 samples were right, without labels; changes nothing.

        In shadow mode: would have been.

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
        return self._watch.accuracy(level)

    @property
    def assumption_evidence_(self) -> float:
        """Evidence against label shift: 1 is none, and from 1 / alpha on there is an alarm."""
        check_fitted(self, "source_prior_")
        return self._watch.evidence_

    @property
    def assumption_alarm_(self) -> bool:
        """Whether the stream looks like something else than label shift; ends when a fresh check stays silent."""
        check_fitted(self, "source_prior_")
        return self._watch.alarm_

    @property
    def assumption_untested_(self) -> str:
        """Why there is no check of label shift, and its evidence stays at 1; empty if there is one."""
        check_fitted(self, "source_prior_")
        return self._watch.untested_

    @property
    def assumption_findings_(self) -> list[Finding]:
        """What looks most wrong, strongest first."""
        check_fitted(self, "source_prior_")
        return self._watch.findings_

    @property
    def correction_weight_(self) -> float:
        """The part of the correction that is used, from 0 to 1: see `baserate.trust.Gate`. Always 1 without a gate."""
        check_fitted(self, "source_prior_")
        return self._gate_weight()

    def _gate_weight(self) -> float:
        return self._watch.gate_.weight_ if self._gating else 1.0

    def _is_off(self) -> bool:
        """Whether the gate leaves the model alone, uncalibrated, too."""
        return self._gating and self._watch.gate_.off_

    def _leaves_alone(self) -> bool:
        """Whether predictions are the model's own."""
        return not self.enabled or self._is_off()

    def _gated(self, priors: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Offsets for class mixes, as far as the gate lets them through, and the class mixes those lead to."""
        offsets = log_ratio(priors, self.source_prior_)
        weight = self._gate_weight()
        if weight == 1.0:
            return offsets, priors
        offsets = weight * offsets if weight > 0.0 else np.zeros_like(offsets)
        used = self.source_prior_ * np.exp(offsets)
        return offsets, used / used.sum(axis=-1, keepdims=True)

    @property
    def fallback_active_(self) -> bool:
        """Whether the gate holds the correction back."""
        check_fitted(self, "source_prior_")
        return self._gating and self._watch.gate_.active_

    @property
    def fallback_reason_(self) -> str:
        """Why; empty if it does not."""
        return self._watch.gate_.reason_ if self.fallback_active_ else ""

    @property
    def fallback_since_(self) -> int | None:
        """Since which round; those in which nothing came are counted."""
        return self._watch.since_ if self.fallback_active_ else None

    @property
    def serial_correlation_(self) -> float:
        """How much samples that follow each other are alike, beyond their class: `baserate.trust.SerialDependence`."""
        check_fitted(self, "source_prior_")
        return self._watch.dependence_.correlation_

    @property
    def unknown_mass_(self) -> float:
        """The share of the last samples that fits none of the classes: see `baserate.trust.UnknownMass`."""
        check_fitted(self, "source_prior_")
        return self._watch.unknown_mass_

    @property
    def known_prior_(self) -> FloatArray:
        """(k,) the class mix of the samples that fit a class: `prior_` without the unknown mass booked to it."""
        check_fitted(self, "source_prior_")
        return self._watch.without_unknown(self._current_prior())
