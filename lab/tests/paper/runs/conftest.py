"""What is trained here is trained once, and kept nowhere else."""

import pytest


@pytest.fixture(scope="session")
def _cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _apart(_cache, monkeypatch):
    monkeypatch.setenv("BASERATE_CACHE", str(_cache))
