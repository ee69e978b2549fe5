"""Optional contracts: who offers what, and how that is found out."""

import copy
import pickle

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
    NamedStep,
    Step,
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


def test_a_step_is_shown_in_short():
    flags = {"enabled": True, "transductive": False, "fallback": True}
    step = Step(np.full((1000, 2), 0.5), np.array([0.98765, 0.01235]), flags)
    assert repr(step) == "Step(proba: 1000 x 2, prior: [0.9877, 0.0123], fallback)"
    assert len(repr(Step(np.full((5, 1000), 1e-3), np.full(1000, 1e-3), {}))) < 100


def test_a_named_step_is_a_step():
    step = NamedStep.of(Step(np.array([[0.2, 0.8], [0.7, 0.3]]), np.array([0.5, 0.5]), {}), np.array(["ham", "spam"]))
    proba, prior, flags = step
    assert (proba.shape, prior.shape, flags) == ((2, 2), (2,), {})
    for one in (step, pickle.loads(pickle.dumps(step)), copy.deepcopy(step)):
        assert one.labels.tolist() == ["spam", "ham"]
        assert repr(one).startswith("NamedStep(proba: 2 x 2")
    assert Step(*step).labels.tolist() == [1, 0]
