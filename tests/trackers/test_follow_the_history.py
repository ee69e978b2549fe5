"""The mean of all sightings against a plain transcription."""

import numpy as np
import pytest

from baserate.trackers import FollowTheHistory

from . import naive
from .sequences import play


@pytest.mark.parametrize("k", [2, 3, 10, 100])
def test_agrees_with_the_transcription(k):
    rng = np.random.default_rng(k)
    zs, birth = rng.standard_normal((250, k)), rng.dirichlet(np.ones(k))
    expected = naive.follow_the_history(zs.tolist(), birth)
    np.testing.assert_allclose(play(FollowTheHistory(k, prior=birth), zs), expected, rtol=0, atol=1e-12)


def test_many_rounds_do_not_drift():
    """The running mean of a constant is that constant to the last digits."""
    tracker = FollowTheHistory(2)
    for _ in range(100_000):
        tracker.update([0.1, 0.9])
    np.testing.assert_allclose(tracker.predict(), [0.1, 0.9], rtol=1e-12)
