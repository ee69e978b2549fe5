"""Moments in words."""

import polars as pl
import pytest

from baserate.files.moments import Calendar, Moment, dates

from .paths import DAY, MARCH

NOON = Moment(37, MARCH + 3.5 * DAY + 65)


@pytest.mark.parametrize(
    ("days", "said", "short"),
    [
        (30, "on 4 March", "4 Mar"),
        (400, "on 4 March 2026", "4 Mar 2026"),
    ],
)
def test_a_long_stretch_is_told_by_days(days, said, short):
    calendar = Calendar(MARCH, MARCH + days * DAY)
    assert (calendar.on(NOON), calendar.short(NOON)) == (said, short)
    assert calendar.since(NOON) == said.replace("on", "since")


def test_a_short_stretch_is_told_by_the_clock():
    two_days = Calendar(MARCH + 3 * DAY, MARCH + 5 * DAY)
    assert (two_days.on(NOON), two_days.short(NOON)) == ("on 4 March at 12:01", "4 Mar 12:01")
    one_day = Calendar(MARCH + 3 * DAY, MARCH + 3.9 * DAY)
    assert (one_day.on(NOON), one_day.short(NOON)) == ("on 4 March at 12:01", "12:01")
    an_hour = Calendar(MARCH + 3.5 * DAY, MARCH + 3.54 * DAY)
    assert an_hour.short(NOON) == "12:01:05"


def test_without_dates_rounds_are_named():
    assert Calendar().on(NOON) == "in round 37"
    assert Calendar().since(Moment(1234)) == "since round 1,234"
    assert Calendar(MARCH, MARCH + DAY).short(Moment(5)) == "round 5"


class TestDates:
    @pytest.mark.parametrize(
        "stamps",
        [
            ["2026-03-01T00:00:00", "2026-03-02T00:00:00"],
            ["2026-03-01", "2026-03-02"],
            [str(MARCH), str(MARCH + DAY)],
            [MARCH, MARCH + DAY],
        ],
    )
    def test_they_are_understood(self, stamps):
        assert dates(pl.Series("time", stamps)).tolist() == [MARCH, MARCH + DAY]

    def test_dates_before_the_first_second_are_dates(self):
        assert dates(pl.Series(["1969-12-31", "1970-01-01"])).tolist() == [-DAY, 0]
        assert Calendar(-DAY, 20 * DAY).short(Moment(1, -DAY)) == "31 Dec 1969"

    @pytest.mark.parametrize(
        "stamps",
        [
            ["0", "60"],  # a count of something
            ["yesterday", "today"],
            ["2026-03-02", "2026-03-01"],  # an axis cannot go back
        ],
    )
    def test_what_is_no_date_is_left_alone(self, stamps):
        assert dates(pl.Series("time", stamps)) is None
