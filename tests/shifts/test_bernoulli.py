"""Bernoulli flips as often as it should."""

import numpy as np

from baserate.shifts import Bernoulli

from .two_ends import ONE, UNIFORM, K, T


def test_bernoulli_flips_with_probability_one_over_sqrt_t():
    flips = []
    for seed in range(60):
        path = Bernoulli().path(T, K, seed)
        np.testing.assert_array_equal(path[0], UNIFORM)
        assert all(np.array_equal(q, UNIFORM) or np.array_equal(q, ONE) for q in np.unique(path, axis=0))
        flips.append((np.abs(np.diff(path, axis=0)).sum(axis=1) > 0).sum())
    expected = (T - 1) / np.sqrt(T)
    assert abs(np.mean(flips) - expected) < 4 * np.sqrt(expected / 60)
    np.testing.assert_array_equal(Bernoulli(flip=0.0).path(9, K, 0), np.tile(UNIFORM, (9, 1)))
