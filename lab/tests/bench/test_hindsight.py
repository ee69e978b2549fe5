"""The benchmark of the class mix in hindsight."""

import numpy as np
import pytest

from baserate_lab.bench import hindsight
from baserate_lab.bench.trust._draws import World


@pytest.fixture
def world():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=3000)
    odds = np.exp(2.0 * (rng.normal(size=3000) + 2.0 * y - 1.0))
    return World(np.column_stack([1 / (1 + odds), odds / (1 + odds)]), y)


def test_hindsight_is_nearer_than_the_causal_path_and_its_limits_hold(world, monkeypatch):
    monkeypatch.setattr(hindsight, "world_of", lambda name: world)
    rows = hindsight.measure_hindsight("any", 500, 2, n_rounds=200)
    assert {row.shift for row in rows} == set(hindsight.shifts(2, np.random.default_rng(0)))
    assert np.exp(np.mean([np.log(row.ratio) for row in rows])) < 0.6
    assert np.mean([row.coverage for row in rows]) >= 0.87
    assert "10 rows a round: MSE" in hindsight.summary(rows)
    assert hindsight.table(rows).count("\n") == len(rows) + 1
