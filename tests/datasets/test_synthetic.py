"""The synthetic data are those of the published run, or fresh around the same centres."""

import numpy as np
import pytest

from baserate.datasets import synthetic


def test_synthetic_is_the_published_sample():
    """The centres as the published run logged them."""
    data = synthetic.load()
    logged = [
        [-0.016602, -0.035527, 0.332851, -0.401524, 0.238149, -0.546676],
        [0.470452, -0.201273, 0.202060, -0.130861, 0.047408, 0.075118],
        [-0.386367, 0.060660, 0.168568, 0.222990, -0.121428, 0.182442],
    ]
    means = [data.source_X[data.source_y == c].mean(axis=0)[:6] for c in range(3)]
    np.testing.assert_allclose(means, logged, atol=4 * np.sqrt(0.215 / 20_000))
    assert data.source_X.var(axis=0).mean() > 0.215
    assert np.var(data.source_X[data.source_y == 1], axis=0).mean() == pytest.approx(0.215, rel=0.01)


def test_synthetic_with_a_seed_is_fresh_around_the_same_centres():
    fresh, published = synthetic.load(rng=1), synthetic.load()
    assert not np.array_equal(fresh.target_X, published.target_X)
    for c in range(3):
        gap = fresh.source_X[fresh.source_y == c].mean(axis=0) - published.source_X[published.source_y == c].mean(
            axis=0
        )
        assert np.abs(gap).max() < 5 * np.sqrt(2 * 0.215 / 20_000)
