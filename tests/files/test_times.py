"""Time stamps as seconds since 1970, in UTC; what can be read in two ways is refused."""

import re
from datetime import UTC, date, datetime

import numpy as np
import polars as pl
import pytest

from baserate.files.errors import FileProblemError
from baserate.files.times import TimeStamps

NOON = datetime(2026, 3, 1, 12, 30, tzinfo=UTC).timestamp()


def seconds(values, form=None, name="at"):
    return TimeStamps("s.csv", form).seconds(pl.Series(name, values), 0)


@pytest.mark.parametrize(
    ("text", "after_noon"),
    [
        ("2026-03-01T12:30:00", 0.0),
        ("2026-03-01 12:30:00", 0.0),
        ("2026-03-01T12:30", 0.0),
        ("2026-03-01T12:30:00.25", 0.25),
        ("2026-03-01 12:30:00,25", 0.25),
        ("2026-03-01", -12.5 * 3600),
        ("20260301T123000", 0.0),
        ("2026-03-01T12:30:00Z", 0.0),
        ("2026-03-01 12:30:00 UTC", 0.0),
        ("2026-03-01T12:30:00+01:00", -3600.0),
        ("2026-03-01T12:30:00+0100", -3600.0),
        ("2026-03-01T12:30:00-05", 5 * 3600.0),
        ("2026-03-01 12:30:00.5 +02:00", 0.5 - 7200.0),
    ],
)
def test_iso_8601(text, after_noon):
    np.testing.assert_allclose(seconds([text, text]) - NOON, after_noon, atol=1e-6)


def test_lengths_of_iso_8601_may_differ():
    np.testing.assert_allclose(seconds(["2026-03-01T12:30", "2026-03-01T12:30:01.5"]) - NOON, [0.0, 1.5], atol=1e-6)


@pytest.mark.parametrize("kind", [pl.Datetime("us"), pl.Datetime("ms", "Europe/Berlin"), pl.Datetime("ns", "UTC")])
def test_columns_of_dates(kind):
    stamps = pl.Series([int(NOON)] * 2).cast(pl.Int64) * {"ms": 10**3, "us": 10**6, "ns": 10**9}[kind.time_unit]
    np.testing.assert_array_equal(seconds(stamps.cast(kind)), NOON)


def test_a_column_of_days():
    np.testing.assert_array_equal(seconds([date(2026, 3, 1)]), NOON - 12.5 * 3600)


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize(("unit", "count"), [("milliseconds", 1e3), ("microseconds", 1e6), ("nanoseconds", 1e9)])
def test_numbers_tell_their_unit_by_their_size_and_a_warning_says_so(unit, count, text):
    numbers = [int(NOON * count), int((NOON + 60) * count)]
    with pytest.warns(UserWarning, match=f"taken for {unit} since 1970 \\(this one is 2026-03-01T12:30:00 UTC"):
        found = seconds([str(number) for number in numbers] if text else numbers)
    np.testing.assert_allclose(found - NOON, [0.0, 60.0], atol=1e-3)


@pytest.mark.parametrize("numbers", [[int(NOON), int(NOON) + 5], [0, 5], [-5.5, 0.25]])
def test_small_numbers_are_seconds(numbers):
    np.testing.assert_array_equal(seconds(numbers), numbers)


def test_numbers_of_several_units():
    said = refused([int(NOON), int(NOON) * 1000])
    assert "row 2, column at: holds 1772368200000, which looks like milliseconds" in said
    assert "in one unit" in said


def test_the_unit_of_a_file_is_the_same_in_every_chunk():
    stamps = TimeStamps("s.csv")
    stamps.seconds(pl.Series("at", [NOON]), 0)
    with pytest.raises(FileProblemError, match=r"row 11.*looks like milliseconds"):
        stamps.seconds(pl.Series("at", [NOON * 1e3]), 10)


def refused(values, form=None):
    with pytest.raises(FileProblemError) as error:
        seconds(values, form)
    return str(error.value)


@pytest.mark.parametrize(
    ("values", "formats"),
    [
        (["03/01/2026"], ["%d/%m/%Y", "%m/%d/%Y"]),
        (["03/01/2026", "13/01/2026"], ["%d/%m/%Y"]),
        (["1/13/26 2:05 PM"], ["%m/%d/%y %I:%M %p"]),
        (["01.03.2026 12:30:00"], ["%d.%m.%Y %H:%M:%S", "%m.%d.%Y %H:%M:%S"]),
        (["01/Mar/2026:12:30:00 +0100"], ["%d/%b/%Y:%H:%M:%S %z"]),
        (["20260301"], ["%Y%m%d"]),
        ([20260301, 20260302], ["%Y%m%d"]),
        (["20260301123000"], ["%Y%m%d%H%M%S"]),
        ([202603011230, 202603011231], ["%Y%m%d%H%M"]),
        ([2026030112, 2026030113], ["%Y%m%d%H"]),
        (["2026030112"], ["%Y%m%d%H"]),
        ([202602, 202603], ["%Y%m"]),
        (["26-03-01"], ["%d-%m-%y", "%y-%m-%d"]),
        (["01-03-26"], ["%d-%m-%y", "%m-%d-%y", "%y-%m-%d"]),  # and not the 26th of March of the year 1
    ],
)
def test_other_dates_need_a_format_and_the_likely_ones_are_shown_and_work(values, formats):
    said = refused(values)
    assert re.findall(r"--time-format '(%[^s].*?)'", said) == formats
    assert str(values[0]) in said
    for form in formats:
        assert np.isfinite(seconds(values, form)).all()


def test_days_of_a_spreadsheet_are_no_seconds():
    assert "46025.58, which looks like a date of a spreadsheet" in refused([46025.58, 46025.6])
    assert seconds([46025.0, 46026.0]).tolist() == [46025, 46026]  # a count of something, or seconds


def test_a_format_is_python_s():
    text = "01.03.2026 12:30:00.250000 +0100"
    found = seconds([text], "%d.%m.%Y %H:%M:%S.%f %z")
    assert found[0] == datetime.strptime(text, "%d.%m.%Y %H:%M:%S.%f %z").timestamp()
    assert seconds([str(int(NOON))], "%s")[0] == NOON


def test_a_format_that_does_not_fit():
    assert "Add --time-format '%d/%m/%Y %H:%M' (day first) or" in refused(["01/03/2026 12:30"], "%d/%m/%Y")
    assert "is ISO 8601" in refused(["2026-03-01"], "%d/%m/%Y")
    assert "leave --time-format out" in refused([date(2026, 3, 1)], "%d/%m/%Y")


def test_a_format_without_day_or_minute_means_the_first():
    assert seconds([2026030112], "%Y%m%d%H")[0] == NOON - 1800
    assert seconds([202603], "%Y%m")[0] == NOON - 12.5 * 3600
    assert seconds(["Mar 2026 1 PM"], "%b %Y %I %p")[0] == NOON + 1800


def test_later_rows_that_look_like_months_are_seconds_as_those_before():
    stamps = TimeStamps("s.csv")
    stamps.seconds(pl.Series("at", [5, 202600]), 0)
    assert stamps.seconds(pl.Series("at", [202601, 202602]), 2).tolist() == [202601, 202602]


def test_names_of_zones_are_no_offsets():
    with pytest.raises(ValueError, match=r"give %z in its place"):
        seconds(["2026-03-01 12:30 CET"], "%Y-%m-%d %H:%M %Z")
    assert seconds(["2026-03-01 12:30 %Z"], "%Y-%m-%d %H:%M %%Z")[0] == NOON


def test_the_format_that_was_given_is_not_advised_again():
    said = refused(["01/13/2026"] * 1000 + ["soon"], "%m/%d/%Y")
    assert "row 1,001" in said
    assert said.count("%m/%d/%Y") == 1
    assert "drop it" in said
    assert "Add --time-format '%d/%m/%Y'" in refused(["01/03/2026", "13/03/2026"], "%m/%d/%Y")


@pytest.mark.parametrize("values", [["yesterday"], [None, None], [""], [True]])
def test_what_is_no_time(values):
    assert "no time that is understood here" in refused(values)
    assert "--time-format" in refused(values)


def test_one_row_that_is_no_time():
    said = refused(["2026-03-01", "2026-03-02", "soon"])
    assert "s.csv, row 3, column at: holds 'soon', which is no time" in said
    assert "drop it" in said


@pytest.mark.parametrize(("first", "then", "words"), [("", "Z", "has a time zone"), ("+01:00", "", "has no time zone")])
def test_times_with_and_without_a_zone(first, then, words):
    said = refused([f"2026-03-01T12:30:00{zone}" for zone in (first, first, then)])
    assert f"s.csv, row 3, column at: {words}" in said
    stamps = TimeStamps("s.csv")
    stamps.seconds(pl.Series("at", [f"2026-03-01T12:30:00{first}"]), 0)
    with pytest.raises(FileProblemError, match=f"row 8.*{words}"):
        stamps.seconds(pl.Series("at", [f"2026-03-01T12:30:00{then}"]), 7)


class TestOrder:
    @staticmethod
    def check(parts, window=0.0):
        stamps, row = TimeStamps("s.csv"), 0
        for part in parts:
            stamps.check_order(pl.Series("at", part), row, window)
            row += len(part)

    def test_equal_stamps_are_fine(self):
        self.check([[1, 1, 2], [2, 3]])

    @pytest.mark.parametrize("parts", [[[1, 5, 4]], [[1, 5], [4]]])
    def test_the_first_row_that_goes_back(self, parts):
        with pytest.raises(FileProblemError) as error:
            self.check(parts)
        assert "s.csv, row 3, column at: 4 comes after 5" in str(error.value)
        assert "polars.read_csv('s.csv').sort('at').write_csv('sorted.csv')" in str(error.value)

    @pytest.mark.parametrize("parts", [[[1, 5, 4]], [[1, 5], [4]]])
    def test_within_a_window_no_order_counts(self, parts):
        self.check(parts, window=10.0)
        with pytest.raises(FileProblemError):
            self.check(parts, window=4.5)

    def test_offsets_count(self):
        self.check([["2026-03-01T12:00:00+01:00", "2026-03-01T11:30:00Z"]])
