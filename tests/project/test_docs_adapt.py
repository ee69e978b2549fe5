"""The guide to `baserate adapt` can be followed: its code and its commands are run."""

import re
import shlex
from pathlib import Path

from typer.testing import CliRunner

from baserate.cli import app

GUIDE = (Path(__file__).parents[2] / "docs" / "howto" / "adapt.md").read_text()


def blocks(kind):
    """The blocks of a language, without those that are only checked."""
    return re.findall(rf"(?<! -->\n)^```{kind}\n(.*?)^```", GUIDE, flags=re.DOTALL | re.MULTILINE)


def run(line):
    """Run a command, which may have a file piped in and its output sent into another."""
    found = re.fullmatch(r"\$ (?:cat (\S+) \| )?baserate (.*?)(?: > (\S+))?", line)
    source, words, target = found.groups()
    data = Path(source).read_bytes() if source else None
    done = CliRunner().invoke(app, shlex.split(words), input=data)
    assert done.exit_code == 0, (line, done.output, done.exception)
    if target:
        Path(target).write_text(done.stdout)
    return done.stdout


def test_the_guide_can_be_followed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    exec(code, {})
    said = [run(line) for block in blocks("console") for line in block.splitlines()]
    assert len(said) > 8
    assert any("Last file: tuesday.csv, finished." in text for text in said)
    assert "1,000 late labels found the row that was remembered for it; 0 did not." in said[-1]
    assert any("Of 500 rows with a label" in text for text in said)
    assert any(
        re.search(r"Decisions on these rows: class 0 \d.*, ask \d.*; expected cost per 1,000 rows: ", text)
        for text in said
    )
    assert Path("adapted.csv").read_text().count("\n") == 5001
    assert Path("report.html").exists()
