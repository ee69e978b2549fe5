"""A file as the command line names it."""

import io
import sys
from contextlib import closing
from pathlib import Path

from baserate.files import source_named
from baserate.files.content import fingerprint


def test_a_path_and_standard_input():
    source = source_named("folder/a.csv")
    assert (source.shown, source.path, source.is_stream) == ("folder/a.csv", Path("folder/a.csv"), False)
    stream = source_named("-")
    assert (stream.shown, stream.is_stream) == ("standard input", True)


def test_the_bytes(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_bytes(b"a\n1\n")
    with closing(source_named(str(tmp_path / "a.csv")).open()) as file:
        assert file.read() == b"a\n1\n"
    with closing(source_named(str(tmp_path / "a.csv")).open(2)) as file:
        assert file.read() == b"1\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"b\n2\n")))
    assert source_named("-").open().read() == b"b\n2\n"


def test_a_file_is_watched_and_standard_input_is_not(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a\n1\n")
    with source_named(str(tmp_path / "a.csv")).watched() as source:
        assert source.content.fingerprint() == fingerprint(tmp_path / "a.csv")
    with source_named("-").watched() as stream:
        assert stream.content is None
