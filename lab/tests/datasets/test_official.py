"""Published files by pooch, which is replaced."""

import logging
import sys
import types
import zipfile
from pathlib import Path

import pytest

from baserate_lab.datasets import _official
from baserate_lab.datasets._official import Download, Published


@pytest.fixture
def pooch(monkeypatch):
    """A stand-in for the library that remembers how it was used."""
    fake = types.SimpleNamespace(calls=[], act=lambda path: path.write_text("data"))

    def retrieve(url, known_hash, fname, path, downloader):
        fake.calls.append((url, known_hash, fname, fake.log.level))
        fake.act(Path(path) / fname)
        return str(Path(path) / fname)

    def downloader(**options):
        fake.options = options

    fake.retrieve, fake.HTTPDownloader = retrieve, downloader
    fake.log = logging.getLogger("baserate-test-pooch")
    fake.log.setLevel(logging.INFO)
    fake.get_logger = lambda: fake.log
    monkeypatch.setattr(_official, "_pooch", lambda: fake)
    return fake


def test_files_are_fetched_with_their_checksums_and_little_patience(pooch, tmp_path):
    files = (Published("https://example.org/d/a.gz", "md5:1"), Published("https://example.org/7", "sha256:2", "b.txt"))
    way = Download(files)
    way.get(tmp_path)
    assert [call[:3] for call in pooch.calls] == [
        ("https://example.org/d/a.gz", "md5:1", "a.gz"),
        ("https://example.org/7", "sha256:2", "b.txt"),
    ]
    assert max(pooch.options["timeout"][:1]) <= 5
    assert {path.name for path in tmp_path.iterdir()} == {"a.gz", "b.txt"}
    assert way.title == "from example.org"
    assert way.command == "download https://example.org/d/a.gz, https://example.org/7 as b.txt"


def test_it_is_silent_and_leaves_the_log_as_it_was(pooch, tmp_path):
    Download((Published("https://example.org/a", "md5:1"),)).get(tmp_path)
    assert pooch.calls[0][3] == logging.ERROR
    assert pooch.log.level == logging.INFO


def test_archives_are_unpacked(pooch, tmp_path):
    def act(path):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("inner/x.txt", "x")

    pooch.act = act
    Download((Published("https://example.org/set.zip", "md5:1"),)).get(tmp_path)
    assert (tmp_path / "inner" / "x.txt").read_text() == "x"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ConnectionError("a long story of pools and retries"), r"example.org/a cannot be had \(ConnectionError\)"),
        (ValueError("MD5 hash of downloaded file does not match"), "not the published file .*does not match"),
    ],
)
def test_what_goes_wrong_is_an_error_of_the_file(pooch, tmp_path, error, said):
    def act(path):
        raise error

    pooch.act = act
    with pytest.raises(OSError, match=said):
        Download((Published("https://example.org/a", "md5:1"),)).get(tmp_path)
    assert pooch.log.level == logging.INFO


def test_without_the_library_the_way_is_closed_and_says_why(monkeypatch, tmp_path):
    monkeypatch.undo()  # the real door, which the fixture of all tests has locked
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(OSError, match=r"pip install 'baserate-lab'"):
        Download((Published("https://example.org/a", "md5:1"),)).get(tmp_path)


def test_the_real_library_has_what_is_used_of_it(monkeypatch):
    pytest.importorskip("pooch")
    monkeypatch.undo()
    pooch = _official._pooch()
    assert pooch.HTTPDownloader(timeout=(4, 60), chunk_size=1 << 20).kwargs["timeout"] == (4, 60)
    assert isinstance(pooch.get_logger(), logging.Logger)
