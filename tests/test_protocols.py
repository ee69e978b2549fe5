"""Optional contracts: who offers what, and how that is found out."""

import numpy as np
import pytest

from baserate import marginals, trackers
from baserate.protocols import (
    BankableTracker,
    BatchedEstimator,
    BindableEstimator,
    BindableTracker,
    ConfusionEstimator,
    EvidenceTracker,
    ExpertTracker,
    LabelOptionalEstimator,
    MarginalEstimator,
    ThreadedTracker,
    TolerantTracker,
)


def offering(module, contract):
    """Names of the exported classes whose fitted example keeps a contract."""
    found = set()
    for name in module.__all__:
        example = getattr(module, name).examples()[0]
        if isinstance(example, MarginalEstimator):
            example.fit(0.7 * np.eye(3) + 0.1, [0, 1, 2])
        if isinstance(example, contract):
            found.add(name)
    return found


@pytest.mark.parametrize(
    ("module", "contract", "names"),
    [
        (trackers, BindableTracker, set(trackers.__all__)),
        (trackers, ExpertTracker, {"LikelihoodMixture"}),
        (trackers, TolerantTracker, {"LikelihoodMixture"}),
        (trackers, EvidenceTracker, {"LikelihoodMixture"}),
        (marginals, BatchedEstimator, set(marginals.__all__)),
        (marginals, BindableEstimator, {"MLLS"}),
        (marginals, LabelOptionalEstimator, set(marginals.__all__)),
        (marginals, ConfusionEstimator, {"BBSE"}),
    ],
)
def test_who_offers_what(module, contract, names):
    assert offering(module, contract) == names


def test_bankable_trackers_say_whether_they_may_run_in_threads():
    assert offering(trackers, ThreadedTracker) == offering(trackers, BankableTracker)
    assert {"LikelihoodMixture", "Aligator"} <= offering(trackers, ThreadedTracker)


def test_only_estimators_that_work_without_labels_say_so():
    assert [name for name in marginals.__all__ if not getattr(marginals, name).needs_labels] == ["MLLS"]
