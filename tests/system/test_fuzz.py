"""Crafted state files are refused, or work: a few hundred of them here, many more by ``make fuzz``."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzzing.goldens import goldens
from tests.fuzzing.mutations import Mutator

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(sys.platform != "linux", reason="it forks processes, and limits their memory")
def test_crafted_states_are_refused_or_work(tmp_path):
    pytest.importorskip("torch")
    command = [sys.executable, "tools/fuzz.py", "--cases", "500", "--seed", "7", "--jobs", "1", "--keep", str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    kept = "\n".join(file.read_text() for file in sorted(tmp_path.glob("*.json")))
    assert run.returncode == 0, run.stdout + run.stderr + kept


def test_a_number_gives_the_same_file_whatever_was_made_before():
    pytest.importorskip("torch")
    mutator = Mutator(goldens(), seed=7)
    first = [mutator.case(number)[0] for number in range(1000)]
    for number in range(1000, 4000):
        mutator.case(number)
    again = [mutator.case(number)[0] for number in range(1000)]
    assert [number for number in range(1000) if first[number] != again[number]] == []
