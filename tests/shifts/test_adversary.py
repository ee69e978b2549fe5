"""Adversary is the one of the proof, within its budget."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baserate.shifts import Adversary


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


def test_a_variation_of_next_to_nothing_is_one_block():
    path = Adversary(variation=1e-320).path(50, 2, 0)
    np.testing.assert_array_equal(path, np.full((50, 2), 0.5))
