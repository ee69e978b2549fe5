"""Which methods are compared."""

import numpy as np
import pytest

from baserate.adapters import RegressAndReweight
from baserate.backtesting.methods import CALIBRATED, DEFAULT, HINDSIGHT, LONG, NOTHING, chosen, every_tracker

from .logs import drifting


def test_every_tracker_is_there_without_its_gate(drift):
    assert [score.method for score in drift.scores] == [NOTHING, DEFAULT, CALIBRATED, *every_tracker(3), HINDSIGHT]
    assert not drift.left_out
    proba, y = drifting()
    for name, tracker in every_tracker(3).items():
        adapter = RegressAndReweight(tracker, gate=False).fit(proba[:1000], y[:1000])
        for start in range(1000, 2000, 25):
            assert adapter.step(proba[start : start + 25]).prior == pytest.approx(
                drift.played[name].prior[(start - 1000) // 25],
                abs=2e-3,  # the margin of the holdout is smaller where the source prior is given
            )


def test_slow_trackers_are_left_out_of_long_logs_unless_asked_for():
    path = np.full((150_000, 2), 0.5)
    found, left_out = chosen(path, None)
    assert set(left_out) == {"FLH-FTL", "FLH-FTL (window)", "LowSwitching"}
    assert "150,000" in left_out["FLH-FTL"]
    assert "Arrows" in found
    assert set(chosen(path, ["FLH-FTL"])[0]) == {NOTHING, DEFAULT, CALIBRATED, "FLH-FTL", HINDSIGHT}
    found, left_out = chosen(np.full((LONG + 1, 2), 0.5), None)
    assert set(found) == {NOTHING, DEFAULT, CALIBRATED, HINDSIGHT}
    assert set(left_out) == set(every_tracker(2))
