"""Trackers as users give them: by class or as an instance, of this library or their own, and saved."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from baserate.adapters import RegressAndReweight, RetrainLastLayer
from baserate.calibrators import TemperatureScaling
from baserate.learners import TrainByWeights
from baserate.marginals import BBSE
from baserate.state import Component, dumps, loads
from baserate.state.declarations import Saves, Whole, vectors
from baserate.state.specs import Foreign, Sizes
from baserate.state.unreadable import UnreadableError
from baserate.trackers import FLHFTL, FollowTheHistory, LikelihoodMixture, LowSwitching
from baserate.trackers.given import new_tracker

from ..state.made_by_hand import edited

RNG = np.random.default_rng(0)
K = 3
Y = RNG.integers(K, size=400)
P = 0.5 * np.eye(K)[Y] + 0.5 * RNG.dirichlet(np.ones(K), size=len(Y))
HOLDOUT = P[:200], Y[:200]


class TowardsTheLast(Component, saved_as="test_towards_the_last"):
    """A tracker that somebody else wrote: it goes half of the way to each estimate."""

    saves = Saves(params={"n_classes": Whole(1, size="k")}, state={"_q": vectors("k")})

    def __init__(self, n_classes):
        self.n_classes = n_classes
        self.reset()

    def predict(self):
        return self._q.copy()

    def update(self, z, evidence=None):
        self._q = 0.5 * self._q + 0.5 * np.asarray(z)

    def reset(self):
        self._q = np.full(self.n_classes, 1.0 / self.n_classes)


def played(adapter):
    return np.concatenate([adapter.step(P[i : i + 10]).proba for i in range(200, 400, 10)])


@pytest.mark.parametrize("cls", [FLHFTL, FollowTheHistory, LikelihoodMixture, TowardsTheLast])
def test_a_class_is_the_same_as_an_instance_of_it(cls):
    by_class, by_instance = (RegressAndReweight(tracker).fit(*HOLDOUT) for tracker in (cls, cls(K)))
    assert (by_class.marginals_ is None) == (cls is LikelihoodMixture)
    np.testing.assert_array_equal(played(by_class), played(by_instance))


@pytest.mark.parametrize("cls", [FLHFTL, TowardsTheLast])
def test_an_adapter_with_a_class_is_saved_and_goes_on(cls):
    adapter = RegressAndReweight(cls).fit(*HOLDOUT)
    adapter.step(P[200:230])
    resumed = loads(dumps(adapter))
    assert resumed.tracker is cls
    np.testing.assert_array_equal(played(resumed), played(adapter))
    assert type(resumed.fit(*HOLDOUT).tracker_) is cls  # it can be fitted anew, too


def test_the_paper_in_one_word():
    written_out = RegressAndReweight(
        FLHFTL(K), BBSE(clip=False), calibrator=TemperatureScaling(), gate=False, alpha=None
    )
    np.testing.assert_array_equal(played(RegressAndReweight.paper().fit(*HOLDOUT)), played(written_out.fit(*HOLDOUT)))
    assert not np.array_equal(played(RegressAndReweight().fit(*HOLDOUT)), played(written_out.fit(*HOLDOUT)))


def test_learners_and_other_adapters_take_classes():
    assert type(TrainByWeights(K, LogisticRegression(), tracker=FollowTheHistory).tracker_) is FollowTheHistory
    features = np.eye(K)[Y] + 0.1 * RNG.normal(size=(len(Y), K))
    adapter = RetrainLastLayer(np.eye(K), tracker=FollowTheHistory, epochs=1).fit(features, Y)
    assert type(adapter.tracker_) is FollowTheHistory
    assert loads(dumps(adapter)).tracker is FollowTheHistory


def test_a_class_that_needs_more_than_the_number_of_classes_is_refused():
    with pytest.raises(TypeError, match=r"the class LowSwitching, .*; give an instance"):
        RegressAndReweight(LowSwitching).fit(*HOLDOUT)
    with pytest.raises(TypeError, match="expected an object with predict, update and reset"):
        RegressAndReweight(int).fit(*HOLDOUT)


def test_the_wrong_number_of_classes_names_both_ways_out():
    with pytest.raises(ValueError, match=r"follows 5 classes; the holdout has 3\..*or give the class itself"):
        new_tracker(FLHFTL(5), K, "the holdout")


@pytest.mark.parametrize("name", ["bbse", "bank", "no_such_class", 3])
def test_a_file_with_another_class_in_the_place_of_a_tracker_is_refused(name):
    def changed(node):
        node["params"]["tracker"] = {"$type": name}

    with pytest.raises(ValueError, match=r"tracker that is|not known here|damaged"):
        loads(edited(RegressAndReweight(FLHFTL).fit(*HOLDOUT), changed))


def test_a_class_is_no_foreign_model():
    with pytest.raises(UnreadableError, match="that is no model"):
        Foreign().check(FLHFTL, "estimator_", Sizes())
