"""Regions of outputs: a round is counted as the holdout is."""

import numpy as np

from baserate.trust.assumption.regions import count_cells
from baserate.trust.assumption.schedule import WINDOWS

from .four_classes import K, fitted, outputs


def test_a_round_counts_as_cells_do():
    """What takes in a round in one go counts as what counts the holdout does, bit for bit."""
    rng = np.random.default_rng(0)
    check, batch = fitted(rng), outputs(rng, rng.integers(K, size=50), noise=1.5)
    batch[0] = [1.0, 0.0, 0.0, 0.0]
    check.update(batch)
    expected = np.zeros_like(check._counts)
    count_cells(batch, *check._references, check._edges, expected)
    np.testing.assert_array_equal(check._counts, expected)
    assert expected.sum() == 50 * 2 * len(WINDOWS)
