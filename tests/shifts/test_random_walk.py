"""RandomWalk wanders in small steps."""

import numpy as np

from baserate.shifts import RandomWalk

from .two_ends import UNIFORM, K, T


def test_random_walk_wanders():
    path = RandomWalk(scale=0.02).path(T, K, 0)
    np.testing.assert_array_equal(path[0], UNIFORM)
    steps = np.abs(np.diff(path, axis=0)).sum(axis=1)
    assert 0.01 < steps.mean() < 0.1
    assert np.ptp(path, axis=0).min() > 0.2
