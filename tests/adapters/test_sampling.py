"""Inclusion probabilities are what they say, and every draw has its size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from baserate.adapters._sampling import draw, inclusion_probabilities

SIZES = arrays(np.float64, st.integers(1, 40), elements=st.floats(1e-3, 1e3))


def naive_probabilities(sizes, n):
    """One at a time: the largest row is drawn for certain if its share of what is left is more than one."""
    left, out = list(range(len(sizes))), np.ones(len(sizes))
    while left and n > 0:
        top = max(left, key=lambda i: sizes[i])
        if sizes[top] * n < sum(sizes[i] for i in left):
            for i in left:
                out[i] = sizes[i] * n / sum(sizes[j] for j in left)
            break
        left.remove(top)
        n -= 1
    return out


@given(SIZES, st.integers(1, 45))
def test_probabilities_sum_to_the_number_of_draws_and_follow_the_sizes(sizes, n):
    found = inclusion_probabilities(sizes, n)
    assert found.sum() == pytest.approx(min(n, len(sizes)))
    assert ((found > 0.0) & (found <= 1.0)).all()
    np.testing.assert_allclose(found, naive_probabilities(sizes, n), rtol=1e-8)
    assert (found >= np.minimum(1.0, n * sizes / sizes.sum()) * (1.0 - 1e-9)).all()


@given(SIZES, st.integers(1, 45), st.integers(0, 2**32))
def test_every_draw_has_its_size_and_no_row_twice(sizes, n, seed):
    taken = draw(inclusion_probabilities(sizes, n), np.random.default_rng(seed))
    assert len(taken) == min(n, len(sizes))
    assert (np.diff(taken) > 0).all()


def test_rows_are_drawn_as_often_as_their_probabilities_say():
    probabilities = inclusion_probabilities(np.array([1.0, 1.0, 2.0, 3.0, 5.0, 8.0, 40.0]), 3)
    rng, draws = np.random.default_rng(0), 20_000
    counts = np.zeros(7)
    for _ in range(draws):
        counts[draw(probabilities, rng)] += 1
    error = np.sqrt(probabilities * (1.0 - probabilities) / draws)
    assert (np.abs(counts / draws - probabilities) <= 4.0 * error).all()
    assert counts[-1] == draws


def test_every_pair_can_be_drawn():
    """In a fixed order, systematic sampling never draws some pairs together; variances could not be estimated."""
    probabilities, rng = np.full(6, 1.0 / 3.0), np.random.default_rng(1)
    pairs = {tuple(draw(probabilities, rng).tolist()) for _ in range(500)}
    assert len(pairs) == 15


def test_nothing_is_drawn_from_nothing():
    assert len(inclusion_probabilities(np.empty(0), 3)) == 0
    assert len(draw(np.empty(0), np.random.default_rng(0))) == 0
