"""The estimated accuracy is near, and its limits hold it."""

import numpy as np

from baserate_lab.bench.trust import accuracy


def test_the_estimated_accuracy_is_near_and_its_limits_hold_it(world, monkeypatch):
    monkeypatch.setattr(accuracy, "world_of", lambda name: world)
    rows = accuracy.measure_accuracy("any", 1000, 4, n_windows=2)
    assert len(rows) == 6
    for row in rows:
        assert row.error <= 1.5
        assert row.width < 6.0
    assert np.mean([row.coverage for row in rows]) >= 0.8
    assert max(row.accuracy for row in rows) - min(row.accuracy for row in rows) > 2.0  # there is something to estimate
