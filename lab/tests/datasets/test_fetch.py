"""The one door: which way is taken, what is kept, what is said."""

import dataclasses
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from baserate_lab.cache import cache_folder
from baserate_lab.datasets import DataNotFoundError, WrongDataError, _arrays, _fetch
from baserate_lab.datasets._arrays import checksum
from baserate_lab.datasets._fetch import DatasetRecipe, Layout, obtain

ARRAYS = {"y": np.array([3, 1, 2])}


def read(folder: Path):
    return {"y": np.array([int(word) for word in (folder / "y.txt").read_text().split()])}


class Getter:
    """Brings the files it is given, and counts."""

    command = "fetch the-package"

    def __init__(self, title="the-package 1.0", text="3 1 2", fails=None):
        self.title, self.text, self.fails, self.calls = title, text, fails, 0

    def get(self, folder):
        self.calls += 1
        self.folder = folder
        if self.fails is not None:
            raise self.fails
        (folder / "inner").mkdir()
        (folder / "inner" / "y.txt").write_text(self.text)


LAYOUT = Layout(("y.txt",), read)


def recipe(*getters, sha256=checksum(ARRAYS)):  # noqa: B008
    return DatasetRecipe("toy", "https://example.org/toy", tuple((LAYOUT, getter) for getter in getters), sha256)


def kept():
    return cache_folder("datasets", "toy") / "arrays.npz"


def test_it_is_fetched_once(capsys):
    getter = Getter()
    assert obtain(recipe(getter))["y"].tolist() == [3, 1, 2]
    assert capsys.readouterr().err == "toy: fetching the-package 1.0\n"
    assert obtain(recipe(getter))["y"].tolist() == [3, 1, 2]
    assert getter.calls == 1
    assert capsys.readouterr() == ("", "")
    assert not getter.folder.exists()


def test_the_first_way_that_works_wins(capsys):
    first, second, third = Getter("first", fails=OSError("the host is silent")), Getter("second"), Getter("third")
    assert obtain(recipe(first, second, third))["y"].tolist() == [3, 1, 2]
    assert (first.calls, second.calls, third.calls) == (1, 1, 0)
    assert capsys.readouterr().err == "toy: fetching first\ntoy: fetching second\n"


@pytest.mark.parametrize("text", ["no numbers", "", "3 1 1"])
def test_a_way_that_brings_rubbish_is_passed_over(text):
    rubbish = Getter("first", text=text)
    assert obtain(recipe(rubbish, Getter()))["y"].tolist() == [3, 1, 2]
    assert rubbish.calls == 1


def test_a_way_that_brings_other_data_is_one_that_failed():
    with pytest.raises(
        DataNotFoundError, match=r"Tried:\n- first: toy from first is not the data set.*\n- second: no route"
    ):
        obtain(recipe(Getter("first", text="3 1 1"), Getter("second", fails=OSError("no route"))))
    with pytest.raises(WrongDataError, match=r"toy from first is not(.|\n)*toy from second is not"):
        obtain(recipe(Getter("first", text="3 1 1"), Getter("second", text="3 1 3")))
    assert not kept().exists()


def test_a_damaged_cache_is_noticed_and_fetched_anew(capsys):
    getter = Getter()
    obtain(recipe(getter))
    raw = bytearray(kept().read_bytes())
    raw[raw.index(ARRAYS["y"].tobytes())] = 7
    kept().write_bytes(raw)
    capsys.readouterr()
    assert obtain(recipe(getter))["y"].tolist() == [3, 1, 2]
    assert getter.calls == 2
    assert "damaged" in capsys.readouterr().err
    assert obtain(recipe(getter))["y"].tolist() == [3, 1, 2]
    assert getter.calls == 2


def test_arrays_of_an_older_version_are_fetched_anew():
    obtain(recipe(Getter()))
    newer = {"y": np.array([5])}
    assert obtain(recipe(Getter(text="5"), sha256=checksum(newer)))["y"].tolist() == [5]


def test_the_checksum_decides_and_nothing_is_kept():
    with pytest.raises(WrongDataError, match=r"toy from the-package 1.0 is not the data set.*https://example.org/toy"):
        obtain(recipe(Getter(text="3 1 1")))
    assert not kept().exists()
    assert list(kept().parent.iterdir()) == []
    assert obtain(recipe(Getter()))["y"].tolist() == [3, 1, 2]


def test_a_wrong_file_does_not_replace_what_was_kept():
    obtain(recipe(Getter(text="1"), sha256=None))
    with pytest.raises(WrongDataError):
        obtain(recipe(Getter(text="2")))
    assert obtain(recipe(sha256=None))["y"].tolist() == [1]


def test_an_interruption_leaves_no_cache(monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        obtain(recipe(interrupted := Getter(fails=KeyboardInterrupt())))
    assert not interrupted.folder.exists()
    assert list(kept().parent.iterdir()) == []


def test_a_folder_of_the_user(tmp_path, capsys):
    place = tmp_path / "mine" / "unpacked"
    place.mkdir(parents=True)
    (place / "y.txt").write_text("3 1 2")
    assert obtain(recipe(getter := Getter()), tmp_path / "mine")["y"].tolist() == [3, 1, 2]
    assert getter.calls == 0
    assert capsys.readouterr().err == ""
    assert obtain(recipe(getter))["y"].tolist() == [3, 1, 2], "it is kept, too"
    assert getter.calls == 0


def test_with_a_known_checksum_a_named_folder_is_not_read_again_but_has_to_hold_the_data(tmp_path):
    obtain(recipe(getter := Getter()))
    with pytest.raises(DataNotFoundError, match="does not hold toy"):
        obtain(recipe(getter), tmp_path)
    (tmp_path / "y.txt").write_text("not even numbers")
    assert obtain(recipe(getter), tmp_path)["y"].tolist() == [3, 1, 2]
    assert getter.calls == 1


@pytest.mark.parametrize("name", ["nowhere", "file"])
@pytest.mark.parametrize("sha256", [None, checksum(ARRAYS)])
def test_what_is_named_and_is_no_folder_is_refused_whatever_is_kept(tmp_path, name, sha256):
    obtain(recipe(getter := Getter(), sha256=sha256))
    (tmp_path / "file").write_text("3 1 2")
    with pytest.raises(NotADirectoryError, match=rf"there is no folder .*{name}; name the one that holds .* toy"):
        obtain(recipe(getter, sha256=sha256), tmp_path / name)


@pytest.mark.parametrize("suffix", [".tgz", ".tar.gz", ".zip", ".whl"])
def test_an_archive_in_a_folder_of_the_user(tmp_path, suffix, capsys):
    """What npm pack and pip download leave there."""
    mine = tmp_path / "mine"
    for folder in (mine, tmp_path / "toy" / "package"):
        folder.mkdir(parents=True)
    (tmp_path / "toy" / "package" / "y.txt").write_text("3 1 2")
    made = shutil.make_archive(str(tmp_path / "made"), "gztar" if "g" in suffix else "zip", tmp_path / "toy")
    Path(made).rename(mine / f"toy-1.0{suffix}")
    (mine / "another.zip").write_text("not an archive")
    getter = Getter()
    assert obtain(recipe(getter), mine)["y"].tolist() == [3, 1, 2]
    assert getter.calls == 0
    assert capsys.readouterr().err == f"toy: unpacking another.zip\ntoy: unpacking toy-1.0{suffix}\n"
    assert {path.name for path in mine.iterdir()} == {"another.zip", f"toy-1.0{suffix}"}
    obtain(recipe(getter), mine)
    assert capsys.readouterr().err == "", "it is kept"


def test_archives_that_do_not_hold_the_data_are_named(tmp_path):
    (tmp_path / "another.zip").write_text("not an archive")
    with pytest.raises(DataNotFoundError, match=r"does not hold toy(.|\n)*Tried:\n- another.zip: .*damaged"):
        obtain(recipe(None), tmp_path)


def test_a_cache_that_cannot_be_written_does_not_lose_the_data(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BASERATE_CACHE", str(tmp_path / "file" / "cache"))
    (tmp_path / "file").write_text("")
    assert obtain(recipe(Getter()))["y"].tolist() == [3, 1, 2]
    assert re.search(r"toy: the data cannot be kept .*BASERATE_CACHE", capsys.readouterr().err)

    def full(*args):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setenv("BASERATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(_arrays, "write_atomically", full)
    assert obtain(recipe(Getter()))["y"].tolist() == [3, 1, 2]
    assert "Permission denied" in capsys.readouterr().err


def test_looking_into_the_cache_makes_no_folders(tmp_path):
    with pytest.raises(DataNotFoundError):
        obtain(recipe(None))
    assert not (tmp_path / "cache").exists()


def test_a_folder_by_the_environment(tmp_path, monkeypatch):
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "y.txt").write_text("3 1 2")
    monkeypatch.setenv("BASERATE_DATA", str(tmp_path))
    assert obtain(recipe(getter := Getter()))["y"].tolist() == [3, 1, 2]
    assert getter.calls == 0


def test_the_environment_need_not_have_every_data_set(tmp_path, monkeypatch):
    monkeypatch.setenv("BASERATE_DATA", str(tmp_path))
    obtain(recipe(getter := Getter()))
    assert getter.calls == 1


def test_a_folder_without_the_files_is_an_error_and_nothing_is_fetched(tmp_path):
    with pytest.raises(DataNotFoundError, match=r"does not hold toy(.|\n)*y.txt: fetch the-package") as info:
        obtain(recipe(getter := Getter()), tmp_path)
    assert str(tmp_path) in str(info.value)
    assert getter.calls == 0


def test_a_folder_with_damaged_files_says_which(tmp_path):
    (tmp_path / "y.txt").write_text("3 1 x")
    with pytest.raises(OSError, match=r"y.txt in .* cannot be read: ValueError"):
        obtain(recipe(None), tmp_path)


def test_a_folder_with_other_data_is_an_error(tmp_path):
    (tmp_path / "y.txt").write_text("3 1 1")
    with pytest.raises(WrongDataError, match="is not the data set"):
        obtain(recipe(None), tmp_path)


def test_without_a_known_checksum_the_folder_that_is_named_counts(tmp_path):
    for name, text in (("a", "1"), ("b", "2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "y.txt").write_text(text)
    anything = recipe(None, sha256=None)
    assert obtain(anything, tmp_path / "a")["y"].tolist() == [1]
    assert obtain(anything)["y"].tolist() == [1], "what was read before"
    assert obtain(anything, tmp_path / "b")["y"].tolist() == [2]


def test_without_a_known_checksum_a_folder_is_read_once_and_again_when_it_has_changed(tmp_path):
    reads, mine = [], tmp_path / "mine"

    def counted(folder):
        reads.append(folder)
        return read(folder)

    anything = DatasetRecipe("toy", "https://example.org/toy", ((Layout(("y.txt",), counted), None),))
    (mine / "inner").mkdir(parents=True)
    file = mine / "inner" / "y.txt"
    file.write_text("1")
    os.utime(file, ns=(0, 10**18))
    for _ in range(2):
        assert obtain(anything, mine)["y"].tolist() == [1]
    assert len(reads) == 1
    file.write_text("2")
    os.utime(file, ns=(0, 10**18 + 1))
    assert obtain(anything, mine)["y"].tolist() == [2], "another time"
    file.write_text("33")
    os.utime(file, ns=(0, 10**18 + 1))
    assert obtain(anything, mine)["y"].tolist() == [33], "another size"
    (mine / "y.txt").write_text("44")
    assert obtain(anything, mine)["y"].tolist() == [44], "another file"
    (mine / "dangling").symlink_to(mine / "nowhere")
    for path in (file, mine / "y.txt"):
        path.unlink()
    with pytest.raises(DataNotFoundError, match="does not hold"):
        obtain(anything, mine)
    assert obtain(anything)["y"].tolist() == [44]


def test_data_that_cannot_be_had_say_how_to_get_them():
    failing = [Getter(fails=OSError("no route")), None]
    with pytest.raises(DataNotFoundError) as info:
        obtain(recipe(*failing))
    said = str(info.value)
    for part in ("toy", "https://example.org/toy", "get y.txt", "fetch the-package", "no route", "BASERATE_DATA"):
        assert part in said
    assert isinstance(info.value, OSError)


def test_a_missing_library_is_not_taken_for_a_missing_file():
    with pytest.raises(ImportError, match="pip install"):
        obtain(recipe(Getter(fails=ImportError("pip install 'baserate-lab'")), Getter()))


def test_a_layout_finds_its_files_a_few_folders_down_and_all_together(tmp_path):
    both = dataclasses.replace(LAYOUT, files=("a", "b"), suffix=".gz")
    (tmp_path / "x" / "y").mkdir(parents=True)
    (tmp_path / "x" / "a").write_text("")
    (tmp_path / "x" / "y" / "a").write_text("")
    assert both.find(tmp_path) is None
    (tmp_path / "x" / "y" / "b.gz").write_text("")
    assert both.find(tmp_path) == tmp_path / "x" / "y"
    for parts in ("12345", "1234"):  # four folders down, and no further
        deep = tmp_path.joinpath(*parts)
        deep.mkdir(parents=True, exist_ok=True)
        assert LAYOUT.find(tmp_path) is None
        (deep / "y.txt").write_text("")
    assert LAYOUT.find(tmp_path) == deep
    assert LAYOUT.find(tmp_path / "nowhere") is None


def test_the_search_goes_from_the_top_down_and_by_name(tmp_path, monkeypatch):
    def backwards(folder):
        """A system that lists folders the other way round."""
        for place, below, files in walk(folder):
            below.sort(reverse=True)
            yield place, below, files

    walk = os.walk
    monkeypatch.setattr(_fetch.os, "walk", backwards)
    for name in ("c", "a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "y.txt").write_text("")
    assert LAYOUT.find(tmp_path) == tmp_path / "a"
    (tmp_path / "y.txt").write_text("")
    assert LAYOUT.find(tmp_path) == tmp_path


def test_many_files_are_named_in_brief():
    assert str(Layout(tuple(f"part-{i}" for i in range(20)), read)) == "part-0 to part-19 (20 in all)"
