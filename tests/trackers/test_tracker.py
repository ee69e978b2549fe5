"""What trackers have in common: where they are born, and how much of them is kept."""

import numpy as np
import pytest

from baserate.adapters import RegressAndReweight
from baserate.checks._roles import PROBA, Y
from baserate.state import dumps
from baserate.trackers import (
    Aligator,
    Arrows,
    FollowTheFixedWindow,
    FollowTheHistory,
    LastSighting,
    OnlineGradientDescent,
)


@pytest.mark.parametrize("cls", [Aligator, Arrows, OnlineGradientDescent])
def test_inside_an_adapter_it_is_born_at_the_source_marginal(cls):
    adapter = RegressAndReweight(cls(3), calibrator=None).fit(PROBA, Y)
    np.testing.assert_array_equal(adapter.prior_, adapter.source_prior_)


@pytest.mark.parametrize("cls", [Aligator, Arrows])
def test_the_state_has_one_size(cls):
    early, late = cls(10), cls(10)
    rng = np.random.default_rng(0)
    for t in range(3000):
        z = rng.dirichlet(np.ones(10))
        late.update(z)
        if t < 3:
            early.update(z)
    assert abs(len(dumps(early)) - len(dumps(late))) < 64


def test_restart_sets_the_birth_value_and_reset_restores_it():
    for cls in (FollowTheHistory, FollowTheFixedWindow, LastSighting):
        tracker = cls(2, prior=[0.3, 0.7])
        tracker.update([1.0, 0.0])
        tracker.restart([0.8, 0.2])
        np.testing.assert_array_equal(tracker.predict(), [0.8, 0.2])
        tracker.reset()
        np.testing.assert_array_equal(tracker.predict(), [0.3, 0.7])


def test_bind_gives_a_birth_value_unless_there_is_one():
    given, default = FollowTheHistory(2, prior=[0.3, 0.7]), FollowTheHistory(2)
    for tracker in (given, default):
        tracker.bind(prior=np.array([0.6, 0.4]), sigma_min=None)
        tracker.reset()
    np.testing.assert_array_equal(given.predict(), [0.3, 0.7])
    np.testing.assert_array_equal(default.predict(), [0.6, 0.4])
