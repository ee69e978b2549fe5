"""Crafted state files are refused, or work: a few hundred of them here, many more by ``make fuzz``."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from baserate import calibrators, marginals
from baserate.adapters import UOGD
from baserate.state import dumps
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


@pytest.mark.parametrize("k", [2, 6])
@pytest.mark.parametrize(
    "cls",
    [
        calibrators.AutoCalibrator,
        calibrators.TemperatureScaling,
        calibrators.VectorScaling,
        marginals.BBSE,
        marginals.MLLS,
        marginals.RLLS,
    ],
)
def test_a_valid_file_of_any_number_of_classes_is_fine(cls, k):
    pytest.importorskip("torch")
    from tests.fuzzing.using import outcome

    rng = np.random.default_rng(0)
    y = np.arange(240) % k
    obj = cls().fit(0.6 * np.eye(k)[y] + 0.4 * rng.dirichlet(np.ones(k), size=240), y)
    found = outcome(dumps(obj))
    assert (found.kind, found.said) == ("fine", cls.__name__)


@pytest.mark.parametrize("d", [2, 5])
def test_a_valid_file_of_any_number_of_features_is_fine(d):
    pytest.importorskip("torch")
    from tests.fuzzing.using import outcome

    rng = np.random.default_rng(0)
    y, centres = np.arange(60) % 3, 3.0 * rng.normal(size=(3, d))
    layer = UOGD(centres, -0.5 * (centres**2).sum(axis=1)).fit(centres[y] + 0.3 * rng.normal(size=(60, d)), y)
    assert outcome(dumps(layer)).kind == "fine"
