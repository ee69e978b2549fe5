"""What a data set promises, for every module of baserate.datasets."""

import hashlib

import numpy as np
import pytest

from baserate import datasets
from baserate.datasets import Dataset, synthetic

LOADERS = [getattr(datasets, name) for name in datasets.__all__ if name != "Dataset"]


@pytest.mark.parametrize("module", LOADERS, ids=lambda m: m.__name__)
def test_a_data_set_is_whole_and_always_the_same(module):
    data = module.load()
    assert isinstance(data, Dataset)
    k = len(data.class_names)
    for X, y in ((data.source_X, data.source_y), (data.target_X, data.target_y)):
        assert len(X) == len(y)
        assert set(np.unique(y)) == set(range(k))
        assert np.isfinite(X).all()
    assert data.provenance.endswith(".")
    again = module.load()
    assert all(np.array_equal(a, b) for a, b in zip(data[:4], again[:4], strict=True))


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


def test_source_and_target_do_not_share_samples():
    data = datasets.digits.load()
    digest = [{hashlib.sha1(row.tobytes()).hexdigest() for row in X} for X in (data.source_X, data.target_X)]
    assert len(digest[0] & digest[1]) == 0
