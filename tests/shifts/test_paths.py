"""Each path against its formula."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baserate.shifts import Adversary, Bernoulli, Constant, Monotone, RandomWalk, Sinusoidal, Square

T, K = 1000, 4
UNIFORM, ONE = np.full(K, 1 / K), np.eye(K)[0]


def mix(alpha):
    return (1 - alpha) * UNIFORM + alpha * ONE


def test_monotone():
    path = Monotone().path(T, K)
    for t in (0, 1, 500, 999):
        np.testing.assert_allclose(path[t], mix(t / T))


def test_square_switches_every_31_rounds_and_starts_uniform():
    path = Square().path(T, K)
    for t in range(T):
        np.testing.assert_array_equal(path[t], mix(float(t // 31 % 2)))


def test_sinusoidal_has_half_waves_of_31_rounds():
    path = Sinusoidal().path(T, K)
    for t in range(T):
        np.testing.assert_allclose(path[t], mix(np.sin(np.pi * (t % 31) / 31)), atol=1e-15)


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


def test_the_ends_may_be_chosen():
    first, second = [0.7, 0.1, 0.1, 0.1], [0.0, 0.0, 0.5, 0.5]
    for shift in (Monotone, Square, Sinusoidal, Bernoulli):
        path = shift(first=first, second=second).path(100, K, 0)
        np.testing.assert_allclose(path[0], first)
        alpha = (path[:, 0] - 0.7) / -0.7
        np.testing.assert_allclose(path, np.outer(1 - alpha, first) + np.outer(alpha, second), atol=1e-12)
        assert alpha.max() > 0.9


def test_constant():
    np.testing.assert_array_equal(Constant().path(3, K), np.tile(UNIFORM, (3, 1)))


def test_random_walk_wanders():
    path = RandomWalk(scale=0.02).path(T, K, 0)
    np.testing.assert_array_equal(path[0], UNIFORM)
    steps = np.abs(np.diff(path, axis=0)).sum(axis=1)
    assert 0.01 < steps.mean() < 0.1
    assert np.ptp(path, axis=0).min() > 0.2


@settings(max_examples=60, deadline=None)
@given(st.integers(8, 4000), st.floats(0.01, 1.0), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_the_adversary_stays_within_its_budget(n_rounds, share, k, seed):
    variation = share * n_rounds / 8
    path = Adversary(variation=variation).path(n_rounds, k, seed)
    # The paper counts the variation of the success probability in the binary problem: one coordinate, k = 2.
    success = path[:, 1] / (path[:, 0] + path[:, 1])
    assert np.abs(np.diff(success)).sum() <= variation * (1 + 1e-9)
    delta = np.abs(success - 0.5)
    assert np.ptp(delta) < 1e-12
    assert delta[0] <= 0.25 + 1e-12
    np.testing.assert_allclose(path[:, 2:], 1 / k)


def test_the_adversary_of_the_proof():
    """T = 1000, V = 8: blocks of 25 rounds, delta = 1/10, each block's side a fair coin."""
    path = Adversary(variation=8.0).path(1000, 2, 0)
    blocks = path[:, 1].reshape(40, 25)
    assert np.ptp(blocks, axis=1).max() == 0
    np.testing.assert_allclose(np.abs(blocks[:, 0] - 0.5), 0.1)
    sides = np.concatenate([Adversary(variation=8.0).path(1000, 2, s)[::25, 1] > 0.5 for s in range(50)])
    assert abs(sides.mean() - 0.5) < 4 * 0.5 / np.sqrt(len(sides))


def test_a_budget_beyond_the_proof_is_refused():
    with pytest.raises(ValueError, match="variation"):
        Adversary(variation=200.0).path(1000, 2, 0)
