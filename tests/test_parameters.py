"""Parameters, clones and reprs of everything that is constructed."""

import subprocess
import sys

import numpy as np
import pytest
import sklearn
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags

from baserate.adapters import RegressAndReweight
from baserate.calibrators import TemperatureScaling
from baserate.parameters import Parametrised, clone
from baserate.trackers import FLHFTL, FollowTheHistory, LikelihoodMixture


class Pair(Parametrised):
    def __init__(self, second, first=1, *, third=None):
        self.second, self.first, self.third = second, first, third


class Converting(Parametrised):
    def __init__(self, values=()):
        self.values = list(values)


class Bare(Parametrised):
    pass


def test_parameters_are_those_of_the_constructor_and_of_what_it_was_given():
    inner = FollowTheHistory(3)
    pair = Pair(inner, third=LikelihoodMixture)
    assert pair.get_params(deep=False) == {"first": 1, "second": inner, "third": LikelihoodMixture}
    assert list(pair.get_params()) == ["first", "second", *(f"second__{name}" for name in inner.get_params()), "third"]
    assert pair.get_params()["second__n_classes"] == 3
    assert Bare().get_params() == {}


def test_set_params_goes_down_to_what_was_given():
    pair = Pair(Pair(1, 2), 3)
    assert pair.set_params(second__first=7, first=8) is pair
    assert (pair.first, pair.second.first, pair.second.second) == (8, 7, 1)
    # The outer one first, whatever the order.
    pair.set_params(second__first=5, second=Pair(0, 0))
    assert (pair.second.first, pair.second.second) == (5, 0)


def test_a_wrong_name_is_said_and_changes_nothing():
    pair = Pair(1)
    with pytest.raises(ValueError, match=r"Pair has no parameter 'secnd'; it has first, second, third\."):
        pair.set_params(first=9, secnd=2)
    assert pair.first == 1
    with pytest.raises(ValueError, match="Bare has no parameter 'x'; it has none"):
        Bare().set_params(x=1)


@pytest.mark.parametrize("how", [clone, lambda obj: sklearn.clone(obj, safe=False)])
def test_a_clone_shares_nothing_and_has_seen_nothing(how):
    tracker = FLHFTL(2, prior=np.array([0.25, 0.75]))
    tracker.update([1.0, 0.0])
    outer = Pair([tracker, "x"], {"a": [1]})
    new = how(outer)
    assert type(new) is Pair
    assert type(new.second) is list
    assert new.second[0] is not tracker
    assert new.second[0].prior is not tracker.prior
    assert new.second[0].predict().tolist() == [0.25, 0.75]
    assert new.first == {"a": [1]}
    assert new.first["a"] is not outer.first["a"]
    assert how(LikelihoodMixture) is LikelihoodMixture


def test_what_brings_its_own_way_of_being_cloned_is_cloned_so():
    frozen = FrozenEstimator(LogisticRegression(C=3.0))
    assert clone(frozen) is frozen
    assert clone(frozen.estimator) is not frozen.estimator
    assert clone(frozen.estimator).C == 3.0

    class Foreign:
        def __init__(self, a):
            self.a = a

        def get_params(self, deep=True):
            return {"a": self.a}

    foreign = Foreign([1])
    foreign.fitted_ = True
    assert clone(foreign).a == [1]
    assert not hasattr(clone(foreign), "fitted_")


def test_a_constructor_that_changes_its_arguments_is_found_out():
    with pytest.raises(RuntimeError, match="its constructor does not store its argument 'values'"):
        clone(Converting((1, 2)))


def test_the_repr_is_the_call_without_defaults():
    assert repr(Pair(2, third="x")) == "Pair(second=2, third='x')"
    assert repr(RegressAndReweight(FollowTheHistory(3), gate=False)) == (
        "RegressAndReweight(gate=False, tracker=FollowTheHistory(n_classes=3))"
    )
    assert repr(Pair(np.arange(2), first=1.0)) == "Pair(first=1.0, second=array([0, 1]))"


def test_scikit_learn_takes_it_for_an_estimator():
    assert get_tags(TemperatureScaling()).requires_fit


def test_what_needs_no_scikit_learn_does_not_wait_for_it():
    code = (
        "import sys, numpy as np, baserate.files.adapting.run\n"
        "from baserate import Bank, RegressAndReweight\n"
        "adapter = RegressAndReweight().fit(np.tile(0.7 * np.eye(2) + 0.15, (50, 1)), [0, 1] * 50)\n"
        "adapter.step([[0.2, 0.8]])\n"
        "Bank(adapter).step(['a'], [[0.2, 0.8]])\n"
        "slow = {'sklearn', 'pandas', 'scipy.stats', 'scipy.optimize', 'joblib', 'matplotlib', 'torch'}\n"
        "print(sorted(slow & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
