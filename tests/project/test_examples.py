"""Every script in examples/ runs, and what it claims is so."""

import ast
import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import baserate

FOLDER = Path(__file__).parents[2] / "examples"
PERCENT = r"([\d.]+)%"
ADAPTERS = {"adapter", "self.adapter", "wrapper.adapter"}  # the names that examples have for one
# Nothing goes to a network: some of these libraries would report that they are used.
ALONE = {"DO_NOT_TRACK": "1", "MLFLOW_DISABLE_TELEMETRY": "true", "BENTOML_DO_NOT_TRACK": "true"}
ALONE |= {"RAY_USAGE_STATS_ENABLED": "0", "HF_HUB_OFFLINE": "1"}
CLAIMS = {
    "fraud_scores": ([], r"log.csv: (\d+) rows, (\d+) of them fraud", lambda rows, frauds: 0.02 < frauds / rows < 0.05),
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
    "shared_stream": (
        [],
        rf"wrong: {PERCENT}.*?{PERCENT}.*batches: (\d+), rounds of the shared adapter: (\d+)",
        lambda own, adapted, batches, rounds: adapted < 0.8 * own and batches == rounds == 90,
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
    "spark_stream": (
        ["pyspark"],
        rf"24000 rows; error of the model {PERCENT}, adapted {PERCENT}.*shop",
        lambda own, adapted: adapted < 0.6 * own,
    ),
    "mlflow_model": (
        ["mlflow", "sqlalchemy", "alembic"],
        rf"logged: (\d+) models.*wrong: {PERCENT}.*?{PERCENT}.*process gives: yes",
        lambda logged, own, adapted: logged == 5 and adapted < 0.7 * own,
    ),
    "bentoml_service": (
        ["bentoml"],
        rf"wrong: {PERCENT}.*?{PERCENT}.*state file: (\d+), labels used: (\d+).*status (\d+), .*2 columns; expected 10",
        lambda own, adapted, rounds, used, status: adapted < 0.7 * own and rounds == used == 300 and status == 400,
    ),
    "ray_serve": (
        ["ray.serve"],
        rf"wrong: {PERCENT}.*?{PERCENT}.*killed once: it knows (\d+) of (\d+) batches, and took (\d+) labels",
        lambda own, adapted, known, sent, used: adapted < 0.7 * own and known == sent == 200 and used > 190,
    ),
    "opentelemetry_metrics": (
        ["opentelemetry.sdk"],
        rf"round 299: (\d+) values, alarm (\d), correction weight ([\d.]+).*eights: {PERCENT} "
        rf".*?{PERCENT} and {PERCENT}.*accuracy: {PERCENT} .*? {PERCENT} true",
        lambda values, alarm, weight, share, low, high, estimated, true: (
            values == 36
            and alarm == 0
            and weight > 0.9
            and share > 80
            and low < share < high
            and abs(estimated - true) < 4
        ),
    ),
    "huggingface_pipeline": (
        ["torch", "transformers"],
        rf"complaint now.*wrong: {PERCENT}.*?{PERCENT}",
        lambda own, adapted: adapted < 0.8 * own,
    ),
}


def installed(library):
    """A part of a library, such as ``ray.serve``, counts only if the library has it."""
    try:
        return importlib.util.find_spec(library) is not None
    except ModuleNotFoundError:
        return False


def test_every_example_has_a_claim():
    assert {path.stem for path in FOLDER.glob("*.py")} == set(CLAIMS)


@pytest.mark.parametrize("name", CLAIMS)
def test_what_it_claims_is_so(name, tmp_path):
    needs, pattern, claim = CLAIMS[name]
    for library in needs:
        if not installed(library):
            pytest.skip(f"needs {library}")
    if "pyspark" in needs and shutil.which("java") is None:
        pytest.skip("needs java")
    command = [sys.executable, FOLDER / f"{name}.py"]
    alone = {**os.environ, **ALONE}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False, env=alone)
    assert done.returncode == 0, done.stderr
    found = re.search(pattern, done.stdout, re.DOTALL)
    assert found, done.stdout
    assert claim(*map(float, found.groups())), done.stdout
    made = {"log.csv", "labelled.csv", "today.csv"} if name == "fraud_scores" else set()
    assert {path.name for path in tmp_path.iterdir()} == made, "it leaves nothing behind"


@pytest.mark.parametrize("name", CLAIMS)
def test_what_it_uses_of_baserate_exists(name):
    """Looked up without running it: its library may not be installed."""
    path = FOLDER / f"{name}.py"
    tree = ast.parse(path.read_text(), path.name)
    compile(tree, path.name, "exec")
    known = baserate.RegressAndReweight(calibrator=None).fit([[0.9, 0.1], [0.1, 0.9]] * 50, [0, 1] * 50)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] in ("baserate", "baserate_lab"):
            for used in node.names:
                found = hasattr(importlib.import_module(node.module), used.name)
                assert found or installed(f"{node.module}.{used.name}"), f"{node.module}.{used.name}"
        if isinstance(node, ast.Attribute) and (owner := ast.unparse(node.value)) in {"baserate", *ADAPTERS}:
            assert hasattr(baserate if owner == "baserate" else known, node.attr), ast.unparse(node)
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and ast.unparse(node.func.value) in ADAPTERS
        ):
            given = {word.arg: None for word in node.keywords}
            inspect.signature(getattr(known, node.func.attr)).bind(*node.args, **given)
