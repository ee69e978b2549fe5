"""The mean of the last sightings against a plain transcription."""

import numpy as np
import pytest

from baserate.trackers import FollowTheFixedWindow

from . import naive
from .sequences import play


@pytest.mark.parametrize("k", [2, 3, 10, 100])
def test_agrees_with_the_transcription(k):
    rng = np.random.default_rng(k)
    zs, birth = rng.standard_normal((250, k)), rng.dirichlet(np.ones(k))
    pairs = [
        (FollowTheFixedWindow(k, window=1, prior=birth), naive.follow_the_fixed_window(zs.tolist(), birth, 1)),
        (FollowTheFixedWindow(k, window=7, prior=birth), naive.follow_the_fixed_window(zs.tolist(), birth, 7)),
        (FollowTheFixedWindow(k, prior=birth), naive.follow_the_fixed_window(zs.tolist(), birth, 100)),
        (FollowTheFixedWindow(k, window=10**4, prior=birth), naive.follow_the_history(zs.tolist(), birth)),
    ]
    for tracker, expected in pairs:
        np.testing.assert_allclose(play(tracker, zs), expected, rtol=0, atol=1e-12)


def test_changed_parameters_take_effect():
    tracker = FollowTheFixedWindow(2, window=1)
    tracker.update([1.0, 0.0])
    tracker.set_params(window=2)
    np.testing.assert_array_equal(tracker.predict(), [0.5, 0.5])
    tracker.update([1.0, 0.0])
    tracker.update([0.0, 1.0])
    np.testing.assert_array_equal(tracker.predict(), [0.5, 0.5])
