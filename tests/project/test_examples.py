"""Every script in examples/ runs, and what it claims is so."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
PERCENT = r"([\d.]+)%"
CLAIMS = {
    "spam_filter": (
        [],
        rf"wrong: {PERCENT}.*?{PERCENT}.*?{PERCENT}",
        lambda own, adapted, marked: adapted < 0.7 * own and marked < 0.5 * own,
    ),
    "xgboost_tabular": (
        ["xgboost"],
        rf"wrong: {PERCENT}.*?{PERCENT}.*log loss: ([\d.]+) .*?([\d.]+) of",
        lambda own, adapted, loss, adapted_loss: adapted < 0.95 * own and adapted_loss < 0.95 * loss,
    ),
    "torch_net": (["torch"], rf"wrong: {PERCENT}.*?{PERCENT}", lambda own, adapted: adapted < 0.85 * own),
    "late_labels": (
        [],
        rf"wrong: {PERCENT}.*?{PERCENT}.*mix: ([\d.]+) .*?([\d.]+) with.*waiting: (\d+), too late: (\d+)",
        lambda without, late, off, late_off, waiting, missed: (
            late < without and late_off < 0.8 * off and waiting <= 500 and missed > 0
        ),
    ),
    "cron_job": (
        ["polars"],
        rf"killed, exit status -9.*wrong: {PERCENT}.*?{PERCENT}.*process gives: yes",
        lambda own, adapted: adapted < 0.8 * own,
    ),
    "onnx_offsets": (
        ["onnx", "onnxruntime"],
        rf"calibrated with.*wrong: {PERCENT}.*?{PERCENT}.*baserate: (\S+)",
        lambda own, adapted, difference: adapted < 0.9 * own and difference < 1e-6,
    ),
    "river_stream": (
        ["river"],
        rf"wrong: {PERCENT}.*?{PERCENT}.*log loss: ([\d.]+) .*?([\d.]+) in",
        lambda own, adapted, loss, adapted_loss: adapted < 0.8 * own and adapted_loss < 0.8 * loss,
    ),
}


def test_every_example_has_a_claim():
    assert {path.stem for path in FOLDER.glob("*.py")} == set(CLAIMS)


@pytest.mark.parametrize("name", CLAIMS)
def test_what_it_claims_is_so(name, tmp_path):
    needs, pattern, claim = CLAIMS[name]
    for library in needs:
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"needs {library}")
    command = [sys.executable, FOLDER / f"{name}.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found = re.search(pattern, done.stdout, re.DOTALL)
    assert found, done.stdout
    assert claim(*map(float, found.groups())), done.stdout
    assert list(tmp_path.iterdir()) == [], "it leaves nothing behind"
