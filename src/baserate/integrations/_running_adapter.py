"""RunningAdapter: attributes and methods that a wrapper takes over from its fitted adapter."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from baserate.adapters import RegressAndReweight
from baserate.adapters.regress_and_reweight import LabelRequests
from baserate.guard import Guard
from baserate.integrations._holdout import class_probabilities
from baserate.protocols import FloatArray
from baserate.trust import Accuracy
from baserate.validation import check_fitted


def _from_adapter(name: str) -> Any:
    """Return a property that reads the adapter's attribute of that name."""

    def read(self: Any) -> Any:
        check_fitted(self, "adapter_")
        return getattr(self.adapter_, name)

    return property(read, doc=getattr(RegressAndReweight, name, property()).__doc__)


class RunningAdapter:
    """Mixin with the attributes and methods of the fitted `adapter_`."""

    adapter_: RegressAndReweight
    estimator_: Any

    prior_ = _from_adapter("prior_")
    source_prior_ = _from_adapter("source_prior_")
    assumption_evidence_ = _from_adapter("assumption_evidence_")
    assumption_alarm_ = _from_adapter("assumption_alarm_")
    assumption_findings_ = _from_adapter("assumption_findings_")
    assumption_untested_ = _from_adapter("assumption_untested_")
    accuracy_in_doubt_ = _from_adapter("accuracy_in_doubt_")
    serial_correlation_ = _from_adapter("serial_correlation_")
    correction_weight_ = _from_adapter("correction_weight_")
    fallback_active_ = _from_adapter("fallback_active_")
    fallback_reason_ = _from_adapter("fallback_reason_")
    fallback_since_ = _from_adapter("fallback_since_")
    unknown_mass_ = _from_adapter("unknown_mass_")
    known_prior_ = _from_adapter("known_prior_")
    waiting_ = _from_adapter("waiting_")
    missed_labels_ = _from_adapter("missed_labels_")

    @property
    def guard(self) -> Guard:
        """The adapter's guard: ``with clf.guard:`` keeps other threads out for several calls."""
        return self.adapter_.guard if hasattr(self, "adapter_") else Guard()

    def log_offsets(self) -> FloatArray:
        """Return the correction as k numbers to add to the calibrated log-probabilities: see `RegressAndReweight`."""
        check_fitted(self, "adapter_")
        return self.adapter_.log_offsets()

    def prior_interval(self, level: float = 0.9) -> FloatArray:
        """Return confidence limits for each class's current share, (k, 2): see `RegressAndReweight`."""
        check_fitted(self, "adapter_")
        return self.adapter_.prior_interval(level)

    def estimated_accuracy(self, level: float = 0.9) -> Accuracy:
        """Return the accuracy of the last predictions, estimated without labels: see `RegressAndReweight`."""
        check_fitted(self, "adapter_")
        return self.adapter_.estimated_accuracy(level)

    def predict_set(
        self, X: Any, level: float = 0.9, *, class_conditional: bool = False, allow_empty: bool = False
    ) -> NDArray[np.bool_]:
        """Return the classes that each sample may well have, (n, k), one column per class: see `RegressAndReweight`.

        Parameters
        ----------
        X : whatever the estimator takes
            Samples.
        level, class_conditional, allow_empty
            As there.
        """
        check_fitted(self, "adapter_")
        proba = class_probabilities(self.estimator_, X)
        return self.adapter_.predict_set(proba, level, class_conditional=class_conditional, allow_empty=allow_empty)

    def label_requests(self, X: Any, n: int, rng: int | np.random.Generator | None = None) -> LabelRequests:
        """Choose the samples of a batch whose labels would tell most; changes nothing: see `RegressAndReweight`.

        Parameters
        ----------
        X : whatever the estimator takes
            Samples.
        n : int
            How many labels to ask for.
        rng : int, Generator or None
            A seed, or a generator.

        Returns
        -------
        LabelRequests
            ``indices, probabilities, reasons``; give the probabilities with the labels, as `y_probability`.
        """
        check_fitted(self, "adapter_")
        return self.adapter_.label_requests(class_probabilities(self.estimator_, X), n, rng)
