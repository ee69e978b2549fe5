"""Labels that are asked for against labels at random: budgets are kept, and the table says who was better."""

from types import SimpleNamespace

import numpy as np
import pytest

from baserate.adapters import RegressAndReweight
from baserate_lab.bench import requests


@pytest.fixture
def stream(monkeypatch):
    rng = np.random.default_rng(0)
    y = (rng.random(3000) < np.where(np.arange(3000) < 1000, 0.5, 0.85)).astype(int)
    odds = np.exp(2.0 * rng.normal(2.0 * y - 1.0, 1.0))
    proba = np.column_stack([1 / (1 + odds), odds / (1 + odds)])
    found = SimpleNamespace(
        holdout_proba=proba[:1000], holdout_y=y[:1000], target_proba=proba[1000:], target_y=y[1000:]
    )
    monkeypatch.setattr(requests, "outputs", lambda *model, progress: found)
    return found


def test_each_arm_gets_its_budget_and_only_requests_say_their_probabilities(stream, monkeypatch):
    told = []

    def counted(self, ids, y, *, y_probability=None, real=RegressAndReweight.update_labels):
        assert real(self, ids, y, y_probability=y_probability) == len(ids)
        told.append((len(ids), y_probability))
        return len(ids)

    monkeypatch.setattr(RegressAndReweight, "update_labels", counted)
    wrong = requests.play(("any", "any"), 500, 0, 0.1)
    assert wrong.shape == (4, 2000)
    assert wrong[0].tolist() == (stream.target_proba.argmax(axis=1) != stream.target_y).tolist()
    blocks = 10
    numbers = [sum(n for n, _ in told[i * blocks : (i + 1) * blocks]) for i in range(3)]
    assert numbers == [100, 200, 100]
    assert [p is None for _, p in told] == [True] * 20 + [False] * 10
    assert (wrong[1:].mean(axis=1) < wrong[0].mean()).all()


def test_a_row_and_what_is_said_of_it(stream):
    row = requests.compare("Elec2", 500, range(2), 0.02)
    assert row.base > row.random
    assert row.error > 0.0
    text = requests.table([row])
    assert f"| Elec2 | 2 | {row.base:.2f} |" in text
    worse = row._replace(requested=row.random + 5 * row.error)
    assert requests.summary([worse]).endswith("not as good.")
    assert requests.summary([row._replace(requested=row.random - 0.1)]).endswith("): as good.")
    assert requests.summary([row._replace(requested=row.random + row.error)]).endswith("within two standard errors.")
