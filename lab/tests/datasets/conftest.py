"""Every test has a cache of its own and no network, unless it is marked to use the real data."""

import dataclasses

import numpy as np
import pytest

from baserate.datasets import Dataset
from baserate_lab.datasets import _official, _packages


@pytest.fixture(autouse=True)
def _alone(request, tmp_path, monkeypatch):
    if request.node.get_closest_marker("data"):
        return

    def no_network(*args, **kwargs):
        raise AssertionError("a test reached for the network")

    monkeypatch.setenv("BASERATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("BASERATE_DATA", raising=False)
    monkeypatch.setattr(_packages.subprocess, "run", no_network)
    monkeypatch.setattr(_official, "_pooch", no_network)


@pytest.fixture
def unpinned(monkeypatch):
    """Lets a module take made files: their checksum cannot be the known one."""

    def unpin(module, name="RECIPE"):
        monkeypatch.setattr(module, name, dataclasses.replace(getattr(module, name), sha256=None))

    return unpin


def _check(data):
    """What every data set promises."""
    assert isinstance(data, Dataset)
    k = len(data.class_names)
    assert all(isinstance(name, str) for name in data.class_names)
    for X, y in ((data.source_X, data.source_y), (data.target_X, data.target_y)):
        assert len(X) == len(y) > 0
        assert y.dtype == np.int64
        assert y.min() >= 0
        assert y.max() < k
        if X.dtype == object:
            assert all(isinstance(text, str) for text in X)
        elif X.dtype == np.uint8:
            assert X.ndim == 4
            assert X.shape[3] == 3
        else:
            assert X.dtype in (np.float32, np.float64)
            assert np.isfinite(X).all()
    assert data.provenance.endswith(".")
    assert isinstance(data.in_time_order, bool)
    return data


@pytest.fixture
def check():
    return _check
