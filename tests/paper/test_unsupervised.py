"""The table on real data, on a problem small enough for a test."""

import numpy as np
import pytest
from joblib import parallel_config
from rich.console import Console

from baserate.models import LastLayer
from baserate.paper import unsupervised
from baserate.paper.unsupervised import REAL, Problem

RNG = np.random.default_rng(0)
Y = np.tile(np.arange(3), 200)
X = 2.0 * np.eye(3)[Y] + RNG.standard_normal((600, 3))
COEF, INTERCEPT = 2.0 * np.eye(3), np.zeros(3)


def softmax(logits):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def problem(*, layer=True, in_time_order=False):
    proba = softmax(X @ COEF.T)
    seen = X.astype(np.float32) if layer else None
    last = LastLayer(lambda rows: rows, COEF, INTERCEPT) if layer else None
    holdout, target = slice(0, 300), slice(300, 600)
    order = np.argsort(Y[target], kind="stable")  # one class after another: a real drift, if ever there was one
    return Problem(
        ("made", "linear"),
        proba[holdout],
        Y[holdout],
        proba[target][order],
        Y[target][order],
        last,
        None if seen is None else seen[holdout],
        None if seen is None else seen[target][order],
        0.8,
        in_time_order,
        "Made.",
    )


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(unsupervised, "N_ROUNDS", 40)
    monkeypatch.setattr(unsupervised, "HOLDOUT", 150)


def test_every_method_runs_and_nobody_beats_the_one_who_is_told_the_labels():
    found = {r.method: r for r in unsupervised.run(problem(), "Squ", 0)}
    assert list(found) == [
        "Base", "OFC", "FTH", "FTFWH", "BBSE", "ROGD", "UOGD", "ATLAS", "RT-FLH-FTL", "FLH-FTL", "FLH-FTL (window)",
        "Arrows", "Oracle (batch)", "Oracle",
    ]  # fmt: skip
    assert min(found.values(), key=lambda r: r.error).method == "Oracle (batch)"
    assert found["Oracle"].mse == 0
    assert np.isnan(found["UOGD"].mse)
    # Both follow the mix in the same way, the one from probabilities, the other from features in single precision.
    assert found["FLH-FTL (window)"].mse == pytest.approx(found["RT-FLH-FTL"].mse, rel=1e-6)
    assert found["FLH-FTL (window)"].mse < found["Base"].mse


def test_a_model_without_a_layer_has_the_methods_that_need_none():
    names = [r.method for r in unsupervised.run(problem(layer=False), "Ber", 0)]
    assert "ROGD" in names
    assert not {"UOGD", "ATLAS", "RT-FLH-FTL"} & set(names)


def test_a_real_stream_keeps_its_order():
    given = problem(in_time_order=True)
    stream = unsupervised.make_stream(given, REAL, np.random.default_rng(0))
    np.testing.assert_array_equal(np.concatenate([batch.y for batch in stream]), given.target_y)
    found = {r.method: r for r in unsupervised.run(given, REAL, 0)}
    assert found["Arrows"].error < found["Base"].error


def test_the_seed_decides():
    first, again, other = (unsupervised.run(problem(layer=False), "Ber", seed) for seed in (1, 1, 2))
    assert repr(first) == repr(again) != repr(other)


def test_the_table():
    with parallel_config(backend="threading"):  # another process would not know how short this is
        text = unsupervised.table(problem(layer=False, in_time_order=True), 2, Console(quiet=True))
    lines = text.splitlines()
    assert lines[0] == "## made linear"
    assert "Made. Accuracy on the target as it is: 80.0 %." in lines
    assert "| | Mon | Squ | Sin | Ber | real |" in lines
    (base,) = (line for line in lines if line.startswith("| Base |"))
    cells = base.split("|")[2:-1]
    runs = [unsupervised.run(problem(layer=False), "Mon", seed) for seed in (0, 1)]
    values = [result.error for results in runs for result in results if result.method == "Base"]
    assert cells[0].strip().startswith(f"{np.mean(values):.2f} ± {np.std(values):.2f} (")


def test_a_typo_is_told(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["unsupervised", "mnist/mpl"])
    with pytest.raises(SystemExit):
        unsupervised.main()
    assert "there is no mnist/mpl; choose from mnist/mlp" in capsys.readouterr().err
