"""The command that the laboratory brings, where it is not installed and where something takes its place."""

import subprocess
import sys
from importlib import metadata

import pytest

from .ended import status_of


@pytest.mark.parametrize("words", [[], ["table-uols", "--quick"], ["--help"], ["-h"], ["all", "--data", "a", "b"]])
def test_without_the_laboratory_it_says_which_line_installs_it(words, monkeypatch, capsys):
    monkeypatch.setattr(metadata, "entry_points", lambda **_: [])
    assert status_of("reproduce", *words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "pip install baserate-lab" in said.err
    assert "pip install ./lab" in said.err


RECEIVED = []


def test_the_words_are_handed_on_as_they_are(monkeypatch):
    def named(**asked):
        assert asked == {"group": "baserate.commands", "name": "reproduce"}
        return [metadata.EntryPoint("reproduce", f"{__name__}:RECEIVED.append", "baserate.commands")]

    monkeypatch.setattr(metadata, "entry_points", named)
    words = ["table-uols", "--data", "a", "b", "--json=x", "-h", "--no-run"]
    assert status_of("reproduce", *words) == 0
    assert [words] == RECEIVED


def test_it_is_listed_with_the_others(capsys):
    assert status_of("--help") == 0
    assert "reproduce" in capsys.readouterr().out


def test_help_does_not_wait_for_what_finds_the_laboratory():
    code = (
        "import sys, typer\nbefore = set(sys.modules)\nimport baserate.cli\n"
        "assert 'importlib.metadata' not in set(sys.modules) - before"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
