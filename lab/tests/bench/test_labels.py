"""The benchmark of a few labels: on a small world, and its figures worked by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from baserate.adapters import RegressAndReweight
from baserate_lab.bench import labels


@pytest.fixture
def biased(monkeypatch):
    """A stream whose class mix stands still, and whose model has become biased: labels alone can tell."""
    rng = np.random.default_rng(0)

    def outputs(n, bias):
        y = rng.integers(0, 2, n)
        odds = np.exp(2.0 * rng.normal(2.0 * y - 1.0, 1.0) + bias)
        return np.column_stack([1 / (1 + odds), odds / (1 + odds)]), y

    (proba, y), (target, target_y) = outputs(600, 0.0), outputs(3005, 3.0)
    found = SimpleNamespace(holdout_proba=proba, holdout_y=y, target_proba=target, target_y=target_y)
    monkeypatch.setattr(labels, "outputs", lambda *model, progress: found)
    return found


@pytest.mark.parametrize("late", [0, 20])
def test_labels_repair_what_the_class_mix_does_not_explain(biased, late):
    run = labels.play_real(("any", "any"), 500, 0, 0.1, late)
    assert run.base.shape == (3000,)
    assert run.base.tolist() == (biased.target_proba.argmax(axis=1) != biased.target_y)[:3000].tolist()
    assert run.adapted.mean() < run.base.mean() - 0.1
    without = labels.play_real(("any", "any"), 500, 0, 0.0, late)
    assert without.adapted.mean() > run.adapted.mean() + 0.05


def test_late_labels_come_so_many_rounds_after_their_samples():
    calls = []

    class Watched(RegressAndReweight):
        def update_labels(self, ids, y):
            calls.append((self.rounds_, list(ids), list(y)))
            return super().update_labels(ids, y)

    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    proba = np.where(y[:, np.newaxis] == [0, 1], 0.8, 0.2)
    adapter = Watched().fit(proba, y)
    told = np.where(np.arange(100) % 10 == 3, y, -1)
    labels.play(adapter, proba, told, late=2)
    assert [call[:2] for call in calls] == [(t + 1, [10 * (t - 2) + 3]) for t in range(2, 10)]
    assert [label for *_, found in calls for label in found] == y[3:80:10].tolist()


def test_rows_and_shares_by_hand():
    ones, zeros = np.ones(20), np.zeros(20)
    half = np.arange(20) % 2.0
    rows = [
        labels.row("A", 9, [labels.Run(ones, half, zeros)], same=True),
        labels.row("A, forest", 9, [labels.Run(half, zeros, half / 2)], same=True),
        labels.row("B", 9, [labels.Run(half, half, half)], same=True),
        labels.row("C", 9, [labels.Run(half, ones, zeros)], same=True),
    ]
    assert [row.kept for row in rows[:2]] == [0.5, 1.0]
    assert np.isnan(rows[2].kept)
    assert rows[3].kept == -1.0
    assert [row.worse for row in rows] == [False, False, False, True]
    assert labels.mean_kept(rows) == pytest.approx(((0.75 - 1.0) / 2, 2, 0.5 / 3, 3))
    assert "1 of 4 are worse" in labels.summary(rows)
    assert labels.table(rows, "hindsight").count("\n") == 5
