"""The commands of the README, typed as they stand there, say what it says they do."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ..commands.ended import status_of

ROOT = Path(__file__).parents[2]
TYPED = re.findall(r"```\n(baserate (?:backtest|adapt) [^\n]+)\n([^\n]+)\n```", (ROOT / "README.md").read_text())


def test_there_are_two():
    assert [command.split()[1] for command, _ in TYPED] == ["backtest", "adapt"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("with spaces")
    subprocess.run([sys.executable, str(ROOT / "examples" / "fraud_scores.py"), str(made)], check=True, cwd=ROOT)
    return made


@pytest.mark.parametrize(("command", "answer"), TYPED)
def test_they_say_what_they_say(command, answer, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert status_of(*command.split()[1:]) == 0
    assert capsys.readouterr().out.splitlines()[0] == answer
    report = command.rpartition("--report ")[2]
    assert answer.split(": ")[0].split(" on ")[0] in re.sub(r"&nbsp;|\xa0|\u202f", " ", Path(report).read_text())
