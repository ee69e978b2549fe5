"""The guide to `baserate adapt` can be followed: its code and its commands are run."""

import os
import re
import subprocess
import sys
from pathlib import Path

GUIDE = (Path(__file__).parent.parent / "docs" / "adapt.md").read_text()


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", GUIDE, flags=re.DOTALL | re.MULTILINE)


def test_the_guide_can_be_followed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    exec(code, {})
    commands = [line[2:] for block in blocks("console") for line in block.splitlines()]
    assert len(commands) > 8
    script = "\n".join(["set -e", 'baserate() { "$PYTHON" -m baserate "$@"; }', *commands])
    done = subprocess.run(
        ["sh", "-c", script], env=os.environ | {"PYTHON": sys.executable}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Last file: tuesday.csv, finished." in done.stdout
    assert "Of 500 rows with a label" in done.stdout
    assert (tmp_path / "adapted.csv").read_text().count("\n") == 5001
