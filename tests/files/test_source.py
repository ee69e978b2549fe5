"""A file as the command line names it, and the hash by which it is known again."""

import io
import sys
from pathlib import Path

import pytest

from baserate.files import source_named
from baserate.files.source import fingerprint


def test_a_path_and_standard_input():
    source = source_named("folder/a.csv")
    assert (source.shown, source.path, source.is_stream) == ("folder/a.csv", Path("folder/a.csv"), False)
    stream = source_named("-")
    assert (stream.shown, stream.is_stream) == ("standard input", True)


def test_the_bytes(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_bytes(b"a\n1\n")
    with source_named(str(tmp_path / "a.csv")).open() as file:
        assert file.read() == b"a\n1\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"b\n2\n")))
    assert source_named("-").open().read() == b"b\n2\n"


@pytest.mark.parametrize("size", [0, 1, 1000, 5 << 20])
def test_a_fingerprint_is_of_the_content(size, tmp_path):
    data = bytes(range(256)) * (size // 256 + 1)
    one, other, third = (tmp_path / name for name in ("a", "b", "c"))
    one.write_bytes(data[:size])
    other.write_bytes(data[:size])
    assert fingerprint(one) == fingerprint(other)
    third.write_bytes(data[: size + 1])
    assert fingerprint(third) != fingerprint(one)
    if size:
        third.write_bytes(bytes([data[0] ^ 1]) + data[1:size])
        assert fingerprint(third) != fingerprint(one)
