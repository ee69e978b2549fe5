"""The one-line forms of docs/howto/serving.md, run as they are printed there."""

import json
import math
import re
import shutil
import sqlite3
import subprocess
from pathlib import Path

import numpy as np
import pytest

import baserate
from baserate.calibrators import BCTS, TemperatureScaling, VectorScaling

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "serving.md").read_text()
RNG = np.random.default_rng(0)
K = 4
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of holdouts that are small, or of a boastful model


def block(language):
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return found


def served(adapter):
    """The function of that name on the page."""
    lines = re.search(r"^>>> (def served.*?)(?=^>>>)", PAGE, re.MULTILINE | re.DOTALL)[1]
    names = {"np": np}
    exec(re.sub(r"^\.\.\. ", "", lines, flags=re.MULTILINE), names)  # what the page says is what is tested
    return names["served"](adapter)


@pytest.fixture(params=[None, "auto", TemperatureScaling(), BCTS(), VectorScaling()], ids=str)
def case(request):
    """An adapter that has moved, its correction, and rows with what it makes of them."""
    honest = RNG.dirichlet(np.ones(K), size=400)
    y = (honest.cumsum(axis=1) > RNG.random((400, 1))).argmax(axis=1)
    boastful = honest**2.5 * [1.0, 2.0, 1.0, 0.5]
    boastful /= boastful.sum(axis=1, keepdims=True)
    adapter = baserate.RegressAndReweight(calibrator=request.param).fit(boastful, y)
    for _ in range(20):
        adapter.update(boastful[y == 2][:10])
    rows = np.vstack([boastful[:20], np.eye(K)])  # the model may be perfectly sure
    expected = adapter.predict_proba(rows)
    assert np.abs(expected - rows).max() > 0.1, "there must be something to correct"
    return served(adapter), rows, expected


def test_sql(case):
    correction, rows, expected = case
    with sqlite3.connect(":memory:") as base:
        base.create_function("POWER", 2, math.pow)  # SQLite has it or not, depending on how it was built
        base.execute("CREATE TABLE scores (id, class, p)")
        base.execute("CREATE TABLE correction (class, scale, factor)")
        base.executemany(
            "INSERT INTO scores VALUES (?, ?, ?)",
            [(i, c, p) for i, row in enumerate(rows.tolist()) for c, p in enumerate(row)],
        )
        base.executemany(
            "INSERT INTO correction VALUES (?, ?, ?)",
            list(zip(range(K), correction["scales"], correction["factors"], strict=True)),
        )
        answer = {(i, c): p for i, c, p in base.execute(block("sql"), {"floor": correction["floor"]})}
    base.close()
    assert len(answer) == rows.size
    np.testing.assert_allclose([[answer[i, c] for c in range(K)] for i in range(len(rows))], expected, atol=1e-12)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_javascript(case):
    correction, rows, expected = case
    script = f"{block('js')}\nconst [rows, correction] = JSON.parse(require('fs').readFileSync(0));\n"
    script += "console.log(JSON.stringify(rows.map((row) => adapt(row, correction))));"
    given = json.dumps([rows.tolist(), correction])
    done = subprocess.run(["node", "-e", script], input=given, capture_output=True, text=True, check=True)
    np.testing.assert_allclose(json.loads(done.stdout), expected, atol=1e-12)


def test_numpy(case):
    correction, proba, expected = case
    line = re.search(r"^>>> (adapted = .*)$", PAGE, re.MULTILINE)[1]
    names = {"np": np, "proba": proba, **{name: np.asarray(value) for name, value in correction.items()}}
    exec(line, names)
    np.testing.assert_allclose(names["adapted"], expected, atol=1e-12)


def test_one_probability_and_one_logit():
    p = RNG.random(200)
    proba = np.column_stack([1 - p, p])
    adapter = baserate.RegressAndReweight(calibrator=None).fit(proba, (RNG.random(200) < p).astype(int))
    adapter.set_prior([0.9, 0.1])
    offsets, expected = adapter.log_offsets(), adapter.predict_proba(proba)[:, 1]
    formula = re.search(r"`(p \* f / \(p \* f \+ 1 - p\))`", PAGE)[1]
    f = np.exp(offsets[1] - offsets[0])
    np.testing.assert_allclose(eval(formula, {"p": p, "f": f}), expected, atol=1e-12)
    logit = np.log(p / (1 - p))
    assert "`logit + offsets[1] - offsets[0]`" in PAGE
    np.testing.assert_allclose(1 / (1 + np.exp(-(logit + offsets[1] - offsets[0]))), expected, atol=1e-12)
