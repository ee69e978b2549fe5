"""The page on label requests: its code prints what it says, and its commands can be followed."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from baserate.cli import app

from ..files.streams import CLASSES, frame, holdout, write

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "label_requests.md").read_text()


@pytest.mark.filterwarnings("ignore::baserate.trust.HoldoutWarning")
def test_the_code_prints_what_the_page_says():
    code, said = re.search(r"^```python\n(.*?)^```\n\n```\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE).groups()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})
    assert out.getvalue() == said


def test_the_commands_can_be_followed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(holdout(400), Path("holdout.csv"))
    table, y = frame(3000)
    write(table[:2000], Path("monday.csv"))
    write(table[2000:], Path("tuesday.csv"))
    first, second = re.findall(r"^```console\n\$ baserate (.*)\n```", PAGE, flags=re.MULTILINE)
    done = CliRunner().invoke(app, shlex.split(first))
    assert done.exit_code == 0, done.output
    asked = pl.read_csv("monday.adapted.ask.csv")
    assert len(asked) == 50
    filled = asked.with_columns(label=pl.Series([CLASSES[y[i]] for i in asked["id"]]))
    filled.write_csv("monday.adapted.ask.csv")
    done = CliRunner().invoke(app, shlex.split(second))
    assert done.exit_code == 0, done.output
    assert "50 late labels found the row that was remembered for it; 0 did not." in done.output
