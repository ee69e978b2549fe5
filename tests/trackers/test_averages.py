"""The averaging trackers against plain transcriptions."""

import numpy as np
import pytest

from baserate.trackers import FollowTheFixedWindow, FollowTheHistory, LastSighting

from . import naive
from .test_flhftl import play


@pytest.mark.parametrize("k", [2, 3, 10, 100])
def test_agree_with_the_transcriptions(k):
    rng = np.random.default_rng(k)
    zs, birth = rng.standard_normal((250, k)), rng.dirichlet(np.ones(k))
    pairs = [
        (FollowTheHistory(k, prior=birth), naive.follow_the_history(zs.tolist(), birth)),
        (FollowTheFixedWindow(k, window=1, prior=birth), naive.follow_the_fixed_window(zs.tolist(), birth, 1)),
        (FollowTheFixedWindow(k, window=7, prior=birth), naive.follow_the_fixed_window(zs.tolist(), birth, 7)),
        (FollowTheFixedWindow(k, prior=birth), naive.follow_the_fixed_window(zs.tolist(), birth, 100)),
        (FollowTheFixedWindow(k, window=10**4, prior=birth), naive.follow_the_history(zs.tolist(), birth)),
        (LastSighting(k, prior=birth), naive.last_sighting(zs.tolist(), birth)),
    ]
    for tracker, expected in pairs:
        np.testing.assert_allclose(play(tracker, zs), expected, rtol=0, atol=1e-12)


def test_many_rounds_do_not_drift():
    """The running mean of a constant is that constant to the last digits."""
    tracker = FollowTheHistory(2)
    for _ in range(100_000):
        tracker.update([0.1, 0.9])
    np.testing.assert_allclose(tracker.predict(), [0.1, 0.9], rtol=1e-12)


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


def test_changed_parameters_take_effect():
    tracker = FollowTheFixedWindow(2, window=1)
    tracker.update([1.0, 0.0])
    tracker.set_params(window=2)
    np.testing.assert_array_equal(tracker.predict(), [0.5, 0.5])
    tracker.update([1.0, 0.0])
    tracker.update([0.0, 1.0])
    np.testing.assert_array_equal(tracker.predict(), [0.5, 0.5])
