"""Real data are found where they are."""

import pytest

from baserate_lab import datasets
from baserate_lab.datasets import DataNotFoundError
from baserate_lab.paper.runs import at_hand as module
from baserate_lab.paper.runs.at_hand import at_hand
from baserate_lab.paper.runs.problems import REAL


@pytest.fixture(autouse=True)
def _nothing_here(tmp_path, monkeypatch):
    monkeypatch.setenv("BASERATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("BASERATE_DATA", raising=False)


@pytest.fixture
def asked(monkeypatch):
    found = []

    def obtain(recipe):
        found.append(recipe.name)
        raise DataNotFoundError("no network")

    monkeypatch.setattr(module, "obtain", obtain)
    return found


def test_what_can_be_fetched_is_tried_only_if_asked_for(asked):
    names = [real.dataset for stand_in, real in REAL.values() if real.dataset != stand_in.dataset]
    assert names == ["eurosat", "shl", "cinic10"]
    for name in (*names, "arxiv-random"):
        assert not at_hand(name, fetch=False)
    assert asked == []
    for name in (*names, "arxiv-random"):
        assert not at_hand(name)
    assert asked == ["eurosat", "cinic10"]  # the others come by hand only


@pytest.mark.parametrize(("name", "folder"), [("eurosat", "eurosat"), ("arxiv-random", "arxiv"), ("shl", "shl")])
def test_a_folder_of_the_user_is_read(asked, name, folder, tmp_path, monkeypatch):
    (tmp_path / folder).mkdir()
    monkeypatch.setenv("BASERATE_DATA", str(tmp_path))
    assert not at_hand(name, fetch=False)  # it holds nothing
    assert asked == [folder]
    monkeypatch.setattr(module, "obtain", lambda recipe: {})
    assert at_hand(name, fetch=False)


def test_the_cache_is_looked_at(asked, tmp_path):
    (tmp_path / "cache" / "datasets" / "eurosat").mkdir(parents=True)
    (tmp_path / "cache" / "datasets" / "eurosat" / "arrays.npz").write_bytes(b"")
    at_hand("eurosat", fetch=False)
    assert asked == ["eurosat"]
    assert datasets.eurosat.RECIPE.name == "eurosat"
