"""Moments of a stream in words: by date where there are time stamps, else by the number of the round."""

import re
import warnings
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import numpy as np

from baserate.files.errors import FileProblemError
from baserate.files.times import LATEST, TimeStamps
from baserate.protocols import FloatArray

_EARLIEST = 3e8  # seconds since 1970, in 1979: smaller numbers are rather counts of something
_DAY = 86_400.0
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


class Moment(NamedTuple):
    """A round, and the seconds since 1970 of its first row, if that is known."""

    round: int
    seconds: float | None = None


class Calendar(NamedTuple):
    """Writes moments as finely as the whole stretch of time asks for.

    Parameters
    ----------
    first, last : float, optional
        The seconds since 1970 that the stretch begins and ends with; None: there are no dates, and rounds are named.

    Examples
    --------
    >>> march = Calendar(1772323200.0, 1774915200.0)
    >>> march.on(Moment(37, 1772627400.0)), march.short(Moment(37, 1772627400.0))
    ('on 4 March', '4 Mar')
    >>> Calendar().on(Moment(1037)), Calendar().short(Moment(1037))
    ('in round 1,037', 'round 1,037')
    """

    first: float | None = None
    last: float | None = None

    @property
    def has_dates(self) -> bool:
        """True if moments are named by dates."""
        return self.first is not None

    def on(self, moment: Moment) -> str:
        """Such as "on 4 March" or "in round 37"."""
        return f"on {self._date(moment, 20)}" if self._dated(moment) else f"in {self._round(moment)}"

    def since(self, moment: Moment) -> str:
        """Such as "since 4 March" or "since round 37"."""
        return f"since {self._date(moment, 20) if self._dated(moment) else self._round(moment)}"

    def short(self, moment: Moment) -> str:
        """As short as possible, for a table: "4 Mar" or "round 37"."""
        return self._date(moment, 3) if self._dated(moment) else self._round(moment)

    def in_table(self, moment: Moment) -> str:
        """Shorter yet, for a table in a terminal: a day, a month in a stretch of years, or a time within one day."""
        if not self._dated(moment):
            return self._round(moment)
        assert moment.seconds is not None
        assert self.first is not None
        assert self.last is not None
        at, first, last = (_datetime(value) for value in (moment.seconds, self.first, self.last))
        if first.date() == last.date():
            return self._date(moment, 3)
        month = _MONTHS[at.month - 1][:3]
        return f"{at.day} {month}" if self.last - self.first < 360 * _DAY else f"{month} {at.year}"

    def _dated(self, moment: Moment) -> bool:
        return self.first is not None and moment.seconds is not None

    def _round(self, moment: Moment) -> str:
        return f"round {moment.round:,}"

    def _date(self, moment: Moment, letters: int) -> str:
        assert moment.seconds is not None
        assert self.first is not None
        assert self.last is not None
        at, first, last = (_datetime(value) for value in (moment.seconds, self.first, self.last))
        span = self.last - self.first
        day = f"{at.day} {_MONTHS[at.month - 1][:letters]}"
        if first.year != last.year:
            return f"{day} {at.year}"
        if span > 3 * _DAY:
            return day
        clock = at.strftime("%H:%M:%S" if span < _DAY / 12 else "%H:%M")
        if letters <= 3 and first.date() == last.date():
            return clock
        return f"{day}{' at' if letters > 3 else ''} {clock}"


def dates(values: Any) -> FloatArray | None:
    """Seconds since 1970 of a column of time stamps; None if these are no dates, or go back."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what numbers are taken for was said when the file was read
            found = TimeStamps("").seconds(values, 0)
    except FileProblemError:
        return None
    usual = (np.abs(found) <= LATEST).all() and (_is_text(values) or are_dates(found))
    return found if usual and (np.diff(found) >= 0).all() else None


def are_dates(values: FloatArray) -> bool:
    """Tell whether numbers are seconds since 1970, and not a count of something."""
    return bool(((values >= _EARLIEST) & (values <= LATEST)).all())


def _is_text(values: Any) -> bool:
    """Tell whether time stamps are written as dates, and not as numbers."""
    return re.fullmatch(r"[\s\d.eE+-]*", str(values[0])) is None or str(values[0]).count("-") >= 2


def _datetime(value: float) -> datetime:
    # Not from a time stamp, which some systems refuse before 1970.
    return datetime(1970, 1, 1) + timedelta(seconds=value)
