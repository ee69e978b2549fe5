"""Compressed files are read as what is in them, and known again as what they are."""

import gzip
import sys
import types
from contextlib import closing

import pytest

from baserate.files.content import fingerprint
from baserate.files.errors import FileProblemError
from baserate.files.formats import source_named
from baserate.files.packing import packing_of, without_packing

TEXT = b"".join(b"%d,%d\n" % (i, i * i) for i in range(20_000))


@pytest.fixture
def packed(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(TEXT))
    return path


def test_the_first_bytes_tell_and_not_the_name(tmp_path, packed):
    (tmp_path / "b.csv.gz").write_bytes(TEXT)
    packed.rename(tmp_path / "c.csv")
    assert packing_of(tmp_path / "c.csv") is not None
    assert packing_of(tmp_path / "b.csv.gz") is None
    for name in ("b.csv.gz", "c.csv"):
        with closing(source_named(str(tmp_path / name)).open()) as file:
            assert file.read(len(TEXT) + 1) == TEXT
    assert [without_packing(name) for name in ("a.csv.GZ", "a.csv.zst", "a.csv")] == ["a.csv"] * 3


@pytest.mark.parametrize("start", [0, 1, 70_000, len(TEXT)])
def test_reading_from_a_place_on(packed, start):
    with closing(source_named(str(packed)).open(start)) as file:
        assert file.read(1000) == TEXT[start : start + 1000]


def test_the_content_is_that_of_the_file_as_it_is(packed):
    with source_named(str(packed)).watched() as source:
        with closing(source.open()) as file:
            while file.read(5000):
                pass
        assert source.content.mark().size == packed.stat().st_size  # handed over, and not read again
        assert source.content.fingerprint() == fingerprint(packed)


def test_the_size_is_guessed_and_known_at_the_end(packed):
    with closing(source_named(str(packed)).open()) as file:
        file.read(1000)
        assert file.guess_size() > 0
        file.read(len(TEXT) + 1)
        assert file.guess_size() == len(TEXT)


def test_members_that_follow_each_other(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(TEXT) + gzip.compress(b"end\n"))
    with closing(source_named(str(tmp_path / "a.csv.gz")).open()) as file:
        assert file.read(len(TEXT) + 10) == TEXT + b"end\n"


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: data[:5000] + b"xxxx" + data[5004:]])
def test_a_damaged_file_is_refused(packed, damage):
    packed.write_bytes(damage(packed.read_bytes()))
    source = source_named(str(packed))
    with closing(source.open()) as file, pytest.raises(FileProblemError, match="damaged or cut off"):
        file.read(10 * len(TEXT))


def test_zstd_needs_a_package_and_the_error_has_its_line(tmp_path, monkeypatch):
    (tmp_path / "a.csv.zst").write_bytes(b"(\xb5/\xfdxxxx")
    for module in ("compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(FileProblemError, match=r'pip install "baserate\[files\]", or pipe it in: zstd -dc'):
        source_named(str(tmp_path / "a.csv.zst")).open()


def test_zstd_by_the_package(tmp_path, monkeypatch):
    """With a stand-in for the package, which a real one is not needed for: what counts is who is asked."""

    class Stored:
        def __init__(self, raw):
            assert raw.read(4) == b"(\xb5/\xfd"
            self._raw = raw

        def read(self, size):
            return self._raw.read(size)

        def close(self):
            pass

    module = types.ModuleType("backports.zstd")
    module.ZstdFile = Stored
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setitem(sys.modules, "backports.zstd", module)
    (tmp_path / "a.csv.zst").write_bytes(b"(\xb5/\xfd" + TEXT)
    with closing(source_named(str(tmp_path / "a.csv.zst")).open(10)) as file:
        assert file.read(20) == TEXT[10:30]


def test_zstd_for_real(tmp_path):
    zstd = pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    (tmp_path / "a.csv.zst").write_bytes(zstd.compress(TEXT))
    with closing(source_named(str(tmp_path / "a.csv.zst")).open(10)) as file:
        assert file.read(len(TEXT)) == TEXT[10:]
