"""What a wrapper says about itself is what the adapter inside it says."""

from typing import Any

from baserate.adapters import RegressAndReweight
from baserate.protocols import FloatArray
from baserate.trust import Accuracy
from baserate.validation import check_fitted


def _as_inside(name: str) -> Any:
    """A property that is the adapter's of that name."""

    def read(self: Any) -> Any:
        check_fitted(self, "adapter_")
        return getattr(self.adapter_, name)

    return property(read, doc=getattr(RegressAndReweight, name, property()).__doc__)


class RunningAdapter:
    """The names of the fitted `adapter_` that a wrapper around it has as well."""

    adapter_: RegressAndReweight

    prior_ = _as_inside("prior_")
    source_prior_ = _as_inside("source_prior_")
    assumption_evidence_ = _as_inside("assumption_evidence_")
    assumption_alarm_ = _as_inside("assumption_alarm_")
    assumption_findings_ = _as_inside("assumption_findings_")
    assumption_untested_ = _as_inside("assumption_untested_")
    serial_correlation_ = _as_inside("serial_correlation_")
    correction_weight_ = _as_inside("correction_weight_")
    fallback_active_ = _as_inside("fallback_active_")
    fallback_reason_ = _as_inside("fallback_reason_")
    fallback_since_ = _as_inside("fallback_since_")
    unknown_mass_ = _as_inside("unknown_mass_")
    known_prior_ = _as_inside("known_prior_")
    waiting_ = _as_inside("waiting_")
    missed_labels_ = _as_inside("missed_labels_")

    def log_offsets(self) -> FloatArray:
        """The correction as k numbers to add to the (calibrated) log-probabilities: see `RegressAndReweight`."""
        check_fitted(self, "adapter_")
        return self.adapter_.log_offsets()

    def prior_interval(self, level: float = 0.9) -> FloatArray:
        """Between which limits each class's share lies now, (k, 2): see `RegressAndReweight`."""
        check_fitted(self, "adapter_")
        return self.adapter_.prior_interval(level)

    def estimated_accuracy(self, level: float = 0.9) -> Accuracy:
        """How often the last predictions were right, without labels: see `RegressAndReweight`."""
        check_fitted(self, "adapter_")
        return self.adapter_.estimated_accuracy(level)
