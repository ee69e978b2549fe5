"""The benchmark of calibration, on a small scale."""

import numpy as np
import pytest

from baserate_lab.bench import calibration
from baserate_lab.bench.calibration import Cell
from baserate_lab.bench.trackers.sets import SetLogits


@pytest.fixture
def tiny(monkeypatch):
    """A calibrated model of three classes in place of every set."""
    rng = np.random.default_rng(0)
    logits = 2.0 * rng.standard_normal((3000, 3))
    proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = (proba.cumsum(axis=1) > rng.random((3000, 1))).argmax(axis=1)
    monkeypatch.setattr(calibration, "load", lambda name: SetLogits(logits[:1500], y[:1500], logits[1500:], y[1500:]))


def test_scores_by_hand():
    """Two rows of class 0 and one of class 1; shifted to equal shares, from a source of 3 : 1."""
    proba = np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])
    y = np.array([0, 0, 1])
    error, shifted_error, loss, shifted_loss = calibration.score(
        proba, y, np.array([[0.5, 0.5]]), np.array([0.75, 0.25])
    )
    assert error == pytest.approx(200 / 3)
    assert loss == pytest.approx(-100 * np.log([0.9, 0.4, 0.3]).mean())
    own = np.array([0.9 / (0.9 + 0.3), 0.4 / (0.4 + 1.8), 0.9 / (0.7 + 0.9)])  # odds times three for class 1
    assert shifted_error == pytest.approx(25.0)
    assert shifted_loss == pytest.approx(-100 * np.log(own) @ [0.25, 0.25, 0.5])


def test_a_biased_model_is_helped_by_biases(tiny):
    rows = calibration.measure(Cell("any", 0.5, 1.0, 400), 3)
    assert set(rows) == {"none", "temperature", "BCTS", "vector", "auto"}
    assert all(found.shape == (3, 4) for found in rows.values())
    losses = {name: found[:, 2].mean() for name, found in rows.items()}
    assert losses["auto"] < losses["temperature"] < losses["none"]
    assert calibration.distance(rows, 2, "auto")[0] < 2.0
    mean, error, best = calibration.distance(rows, 2, "none")
    assert mean == pytest.approx(losses["none"] - losses[best])
    assert error > 0.0


def test_the_rare_class_has_its_share():
    drawn = calibration.draw(Cell("rare", 1.0, 0.0, 500), np.random.default_rng(0))
    assert drawn.holdout_y.sum() == 5
    assert drawn.y.mean() == pytest.approx(0.01)
    proba = 1 / (1 + np.exp(drawn.logits[:, 0] - drawn.logits[:, 1]))
    assert proba.mean() == pytest.approx(0.01, abs=0.001)  # calibrated


def test_the_page(tiny, tmp_path):
    out = tmp_path / "page.md"
    calibration.main(["--seeds", "2", "--sets", "cifar10", "fashion", "--sizes", "50", "--out", str(out)])
    text = out.read_text()
    assert "## Sets that were not used for the design" in text
    assert "| fashion | T = 0.5, biased |" in text
    assert "| cifar10 | T = 1 |" in text
    assert "Rare positives" not in text
