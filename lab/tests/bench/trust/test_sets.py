"""The benchmark of prediction sets, on a short stream."""

import pytest

from baserate_lab.bench.trust import sets


@pytest.fixture
def row(monkeypatch):
    monkeypatch.setattr(sets, "ROUNDS", 60)
    return sets.run_sets("Synthetic", sets.SIMULATED["Synthetic"], "Bernoulli", seed=1)


def test_sets_of_a_short_stream(row):
    assert 80.0 < row.exact <= row.ours <= 100.0
    assert 0.5 < row.exact_size <= row.size < 3.0
    assert row.doubted == 0.0


def test_a_row_is_the_mean_over_seeds(row):
    shown = sets.table([row._replace(plain=80.0), row._replace(plain=90.0)]).splitlines()
    assert len(shown) == 3
    assert "85.0" in shown[2]
