"""Periods of a log: days, weeks and months of the calendar, or so many rows."""

import itertools
import re
from typing import NamedTuple

import numpy as np

from baserate.protocols import FloatArray, IntArray

_UNITS = {"h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_MONDAY = 4 * 86400.0  # 1970 began on a Thursday
_MOST = 100_000


class Period(NamedTuple):
    """The length of a period: in rows, or in seconds, or in months."""

    rows: int = 0
    seconds: float = 0.0
    months: int = 0

    @property
    def by_time(self) -> bool:
        """True if a period is a length of time."""
        return self.rows == 0


def parse_period(text: str) -> Period:
    """Read the length of a period as it is written on the command line.

    Examples
    --------
    >>> parse_period("1w").seconds, parse_period("3mo").months, parse_period("500").rows
    (604800.0, 3, 500)
    """
    found = re.fullmatch(r"\s*(\d{1,9})\s*(h|d|w|mo|)\s*", text)
    number = int(found[1]) if found else 0
    if found is None or number == 0:
        raise ValueError(
            f"--period is {text!r}; give a length of time, such as 1d, 1w or 1mo (h, d, w, mo), or a number of rows."
        )
    if found[2] == "mo":
        return Period(months=number)
    return Period(rows=number) if not found[2] else Period(seconds=number * _UNITS[found[2]])


def cut_periods(period: Period, n: int, times: FloatArray | None) -> tuple[IntArray, list[str]]:
    """Return the row that each period starts with, and the number of rows; and what to call each.

    Weeks start on a Monday, months on their first day, in UTC. Empty periods between others are periods, too.

    Parameters
    ----------
    period : Period
    n : int
        The number of rows.
    times : (n,) array, optional
        Seconds since 1970, in order; needed where a period is a length of time.

    Examples
    --------
    >>> days = 86400.0 * np.array([0.0, 4.0, 5.0, 17.0])
    >>> starts, names = cut_periods(Period(seconds=604800.0), 4, days)
    >>> starts.tolist(), names
    ([0, 1, 3, 4], ['1969-12-29', '1970-01-05', '1970-01-12'])
    """
    if not period.by_time:
        starts = np.append(np.arange(0, n, period.rows), n).astype(np.int64)
        return starts, [f"rows {first + 1:,} to {last:,}" for first, last in itertools.pairwise(starts)]
    assert times is not None
    if period.months:
        stamps = (1e6 * times).astype("datetime64[us]")
        windows = stamps.astype("datetime64[M]").astype(np.int64) // period.months
    else:
        windows = np.floor((times - _MONDAY) / period.seconds).astype(np.int64)
    numbers = np.arange(windows[0], windows[-1] + 1)
    if len(numbers) > _MOST:
        raise ValueError(f"--period is too short: the log would have {len(numbers):,} periods; give a longer one.")
    starts = np.append(np.searchsorted(windows, numbers), n).astype(np.int64)
    if period.months:
        first = (numbers * period.months).astype("datetime64[M]").astype("datetime64[D]")
    else:
        first = np.round(numbers * period.seconds + _MONDAY).astype(np.int64).astype("datetime64[s]")
        first = first.astype("datetime64[m]" if period.seconds % 86400 else "datetime64[D]")
    return starts, [str(day) for day in first]
