"""Formats that fit what is written."""

import numpy as np
import pytest

from baserate.files.time_formats import dates_in_numbers, likely_formats


def test_nothing_fits_nothing():
    assert likely_formats([]) == []
    assert likely_formats(["soon"]) == []
    assert likely_formats(["01/03/2026", "2026/03/01"]) == []


def test_a_later_day_settles_it():
    assert likely_formats([f"{day:02}/01/2026" for day in range(1, 13)]) == ["%d/%m/%Y", "%m/%d/%Y"]
    assert likely_formats([f"{day:02}/01/2026" for day in range(1, 14)]) == ["%d/%m/%Y"]
    assert likely_formats([f"01/{day:02}/2026" for day in range(1, 14)]) == ["%m/%d/%Y"]


@pytest.mark.parametrize(
    ("numbers", "dates"),
    [
        ([20260301, 20260430], True),
        ([202603011230], True),
        ([20260301123000], True),
        ([2026030112], True),
        ([2026030124], False),
        ([202603], True),
        ([202613], False),
        ([20261301], False),
        ([20260300], False),
        ([20260301, 5], False),
        ([1772368200], False),
        ([1772368200000], False),
        ([20260301.5], False),
        ([], False),
    ],
)
def test_dates_in_numbers(numbers, dates):
    assert dates_in_numbers(np.array(numbers, dtype=np.float64)) is dates
