"""Where things are kept between runs."""

from pathlib import Path

import platformdirs
import pytest

from baserate_lab.cache import VARIABLE, cache_folder, cache_path


def test_the_variable_names_the_root(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "kept"))
    assert cache_folder("datasets", "mnist") == tmp_path / "kept" / "datasets" / "mnist"
    assert (tmp_path / "kept" / "datasets" / "mnist").is_dir()
    assert cache_folder() == tmp_path / "kept"


def test_naming_a_place_makes_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "kept"))
    assert cache_path("datasets", "a.npz") == tmp_path / "kept" / "datasets" / "a.npz"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_keeps_its_files(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    (cache_folder("a") / "file").write_text("kept")
    assert (cache_folder("a") / "file").read_text() == "kept"


@pytest.mark.parametrize("unset", [None, ""])
def test_else_it_is_where_the_system_keeps_caches(tmp_path, monkeypatch, unset):
    monkeypatch.delenv(VARIABLE, raising=False)
    if unset is not None:
        monkeypatch.setenv(VARIABLE, unset)
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda name: str(tmp_path / f"of-{name}"))
    assert cache_folder("x") == tmp_path / "of-baserate" / "x"


def test_the_home_is_understood_and_the_folder_does_not_move_with_the_working_one(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv(VARIABLE, "~/kept")
    assert cache_folder() == tmp_path / "kept"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "here")
    assert cache_folder() == Path(tmp_path / "here")


def test_a_folder_that_cannot_be_made_is_an_error_that_names_the_variable(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file"))
    with pytest.raises(OSError, match=f"cannot be made.*{VARIABLE}"):
        cache_folder("datasets")
