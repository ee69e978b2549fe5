"""Periods of the calendar, and of rows."""

import numpy as np
import pytest

from baserate.files.periods import Period, cut_periods, parse_period


def seconds(*days):
    return np.array(days, dtype="datetime64[s]").astype(np.float64)


def test_months_are_those_of_the_calendar_and_empty_ones_count():
    starts, names = cut_periods(
        parse_period("1mo"), 4, seconds("2026-01-31", "2026-02-01", "2026-02-28T23:59:59", "2026-04-01")
    )
    assert names == ["2026-01-01", "2026-02-01", "2026-03-01", "2026-04-01"]
    assert starts.tolist() == [0, 1, 3, 3, 4]


def test_weeks_start_on_monday():
    starts, names = cut_periods(parse_period("1w"), 3, seconds("2026-03-01T23:00", "2026-03-02", "2026-03-08T23:59"))
    assert names == ["2026-02-23", "2026-03-02"]
    assert starts.tolist() == [0, 1, 3]


def test_rows():
    starts, names = cut_periods(Period(rows=2), 5, None)
    assert starts.tolist() == [0, 2, 4, 5]
    assert names == ["rows 1 to 2", "rows 3 to 4", "rows 5 to 5"]


@pytest.mark.parametrize("text", ["", "0", "1y", "w", "-1d", "1.5w", "0mo"])
def test_other_lengths_are_refused(text):
    with pytest.raises(ValueError, match="--period is"):
        parse_period(text)


def test_too_many_periods_are_refused():
    with pytest.raises(ValueError, match="too short"):
        cut_periods(parse_period("1h"), 2, seconds("1990-01-01", "2026-01-01"))
