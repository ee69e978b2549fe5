"""The command line as a whole."""

import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import baserate
from baserate.cli import app

from .commands.ended import status_of


def test_help_is_quick_and_shows_what_there_is():
    code = (
        "import sys\nfrom baserate.cli import main\ntry: main()\nexcept SystemExit as end: assert not end.code\n"
        "slow = {'numpy', 'scipy', 'sklearn', 'numba', 'matplotlib'} & set(sys.modules)\nassert not slow, slow"
    )
    outputs = []
    for arguments in ([], ["--help"], ["-h"]):
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        outputs.append(done.stdout.strip())
    assert outputs[0] == outputs[1] == outputs[2]
    assert "demo" in outputs[0]
    assert "\x1b" not in outputs[0]


def test_version(capsys):
    assert status_of("--version") == 0
    assert capsys.readouterr().out == f"baserate {baserate.__version__}\n"


@pytest.mark.parametrize(
    ("command", "panels"),
    [
        ("adapt", ["Options", "Input", "Time and rounds", "Labels", "Decisions", "State", "Output"]),
        ("backtest", ["Options", "Input", "Time and rounds", "Comparison", "Decisions", "Output"]),
    ],
)
def test_options_are_in_groups_and_the_words_are_explained(command, panels):
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "80"}).stdout
    assert re.findall(r"^╭─ (.*?) ─+╮$", shown, re.MULTILINE) == ["Arguments", *panels]
    assert max(map(len, shown.splitlines())) <= 80
    below = shown[shown.rindex("╯") :]
    assert all(
        f"{word} is" in " ".join(below.split()) for word in ("a round", "the holdout", "the class mix", "a band")
    )
