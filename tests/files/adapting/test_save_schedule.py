"""The moments at which a state is saved."""

import pytest

from baserate.files.adapting import save_schedule
from baserate.files.adapting.pipeline import DONE
from baserate.files.adapting.save_schedule import SaveSchedule


@pytest.mark.parametrize(
    ("takes", "a_row", "at_least", "at_most"),
    [
        (0.001, 0.001, 32, 32),
        (0.03, 0.0001, 30, 32),  # 1 second of saves are free, even if the file takes less
        (0.5, 0.001, 3, 4),
        (10.0, 0.001, 1, 1),
        (10.0, 1.0, 31, 40),  # 10 seconds are nothing in an hour, and every 30 seconds will do
    ],
)
def test_a_state_that_takes_long_is_saved_less_often(takes, a_row, at_least, at_most, monkeypatch):
    clock = 0.0
    monkeypatch.setattr(save_schedule.time, "monotonic", lambda: clock)
    schedule, saves, lost, last = SaveSchedule(3200, 0), 0, 0, 0
    for row in range(10, 3201, 10):
        clock += 10 * a_row
        if schedule.is_due(row, DONE):
            lost, last, saves = max(lost, row - last), row, saves + 1
            with schedule.saving():
                clock += takes
    assert at_least <= saves <= at_most
    assert takes > 0.1 * 3200 * a_row or lost <= 0.15 * 3200
