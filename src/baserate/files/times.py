"""Time stamps of a file as seconds since 1970: dates, ISO 8601, numbers of a size that tells their unit, or a format.

An offset such as +01:00 is honoured; without one, a time is taken for UTC, and a file has one or the other.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baserate.files.errors import FileProblemError, shortened
from baserate.files.time_formats import dates_in_numbers, likely_formats, spreadsheet_dates
from baserate.frames import polars, unnamed
from baserate.protocols import FloatArray
from baserate.validation import warn_user

LATEST = 1e11
"""The largest number of seconds since 1970 that is taken for one: the year 5138. In milliseconds, it is 1973."""
_UNITS = (("seconds", 1.0), ("milliseconds", 1e3), ("microseconds", 1e6), ("nanoseconds", 1e9))
_EARLIEST = -30_610_224_000.0  # the year 1000: a year of two digits is none of the first century
_ISO = ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d", "%Y%m%dT%H%M%S%.f")
_ZONED = tuple(f"{form}%#z" for form in _ISO if "%H" in form)
_READ = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".jsonl": "ndjson"}


_SEVERAL = 10  # so many fractions are no seconds since 1970 by chance


class TimeStamps:
    """The time stamps of one file, in chunks that follow each other.

    Parameters
    ----------
    file : str
        Its name in messages.
    form : str, optional
        The format of its texts, in the letters of `datetime.strptime`. Default: ISO 8601, or numbers.
    """

    def __init__(self, file: str, form: str | None = None) -> None:
        if form is not None and "%Z" in form.replace("%%", ""):
            raise ValueError(
                f"--time-format {form!r}: names of time zones (%Z) are not read; write offsets, such as +01:00, and "
                "give %z in its place."
            )
        self._file, self._form = file, form
        self._unit: str | None = None
        self._zoned: bool | None = None
        self._last: tuple[float, Any] | None = None  # the row before

    def seconds(self, values: Any, row: int) -> FloatArray:
        """The seconds of some rows, the first of which is number `row`."""
        pl = polars()
        times = unnamed(values)
        if self._form is not None:
            found = self._by_format(times, values.name, row)
        elif times.dtype.is_temporal() and times.dtype not in (pl.Time, pl.Duration):
            found = _epoch(times)
        elif times.dtype.is_numeric():
            found = self._by_size(times.cast(pl.Float64).to_numpy(), values, row)
        elif times.dtype == pl.String:
            numbers = times.cast(pl.Float64, strict=False)
            if numbers.null_count() < len(numbers):
                found = self._by_size(numbers.to_numpy(), values, row)
            else:
                found = self._by_iso(times, values.name, row)
        else:
            found = np.full(len(times), np.nan)
        bad = ~np.isfinite(found)
        if bad.any():
            self._refuse(values, bad, row)
        return found

    def check_order(self, values: Any, row: int, window: float) -> None:
        """Check that rows do not go back in time; within a `window` of some seconds they may, as no order counts there.

        Raises
        ------
        FileProblemError
            If one does. Rows are checked in the order of the file, across calls.
        """
        found = self.seconds(values, row)
        places = np.floor(found / window) if window else found
        first, text = (found[0], values[0]) if self._last is None else self._last
        early = np.flatnonzero(np.diff(places, prepend=np.floor(first / window) if window else first) < 0)
        if len(early):
            bad = int(early[0])
            before = values[bad - 1] if bad else text
            raise FileProblemError(
                self._file,
                f"{values[bad]} comes after {before}, and rows must be in the order of time; sort the file by "
                f"{shortened(values.name)} first{self._sorting(values.name)}",
                row=row + bad,
                column=values.name,
            )
        self._last = float(found[-1]), values[-1]

    def _sorting(self, column: str) -> str:
        """A line of Python that sorts the file, where texts sort as times do."""
        kind = _READ.get(Path(self._file).suffix.lower())
        if kind is None or self._form is not None or self._zoned:
            return ""
        tabs = ", separator='\\t'" if self._file.lower().endswith(".tsv") else ""
        sorting = f"polars.read_{kind}({self._file!r}{tabs}).sort({column!r})"
        line = f"import polars; {sorting}.write_{kind}('sorted{Path(self._file).suffix}'{tabs})"
        return f', such as with python -c "{line}"'

    def _by_format(self, times: Any, column: str, row: int) -> FloatArray:
        pl = polars()
        assert self._form is not None
        if times.dtype.is_temporal():
            raise FileProblemError(self._file, "holds dates already; leave --time-format out", column=column)
        # Python's letters mean other things there: %f nanoseconds, and %z nothing like Z.
        form = self._form.replace(".%f", "%.f").replace("%f", "%6f").replace("%z", "%#z")
        first, more = _first_of(form)
        try:
            texts = times.cast(pl.Int64) if times.dtype.is_float() else times
            texts = first + texts.cast(pl.String).str.strip_chars()
            return _epoch(texts.str.strptime(pl.Datetime("us"), more + form, strict=False))
        except pl.exceptions.PolarsError as error:
            raise ValueError(
                f"--time-format {self._form!r} is no format of a date and a time ({str(error).splitlines()[0]}); "
                f"{self._guesses(times, row)}"
            ) from error

    def _by_iso(self, texts: Any, column: str, row: int) -> FloatArray:
        found, zoned = _iso(texts, zoned_first=self._zoned is True)
        if not np.isnan(found).any():
            self._check_zones(zoned, column, row)
        return found

    def _check_zones(self, zoned: NDArray[np.bool_], column: str, row: int) -> None:
        self._zoned = bool(zoned[0]) if self._zoned is None else self._zoned
        if (zoned != self._zoned).any():
            one, other = ("one", "no") if self._zoned else ("none", "a")
            raise FileProblemError(
                self._file,
                f"has {other} time zone, and the rows before it have {one}; write all times with an offset, such as "
                "+01:00 or Z, or none of them, which is UTC",
                row=row + int((zoned != self._zoned).argmax()),
                column=column,
            )

    def _by_size(self, numbers: FloatArray, values: Any, row: int) -> FloatArray:
        """Numbers as seconds; their size says what they count, and all of a file must count the same."""
        known = numbers[np.isfinite(numbers)]
        begins = self._unit is None  # later rows may be few, and look like dates by chance
        if begins and dates_in_numbers(known):
            raise FileProblemError(
                self._file,
                f"holds {values[0]}, which is a date and no number of seconds; {self._guesses(values, row)} (for "
                "seconds since 1970, --time-format '%s')",
                row=row,
                column=values.name,
            )
        if spreadsheet_dates(known):
            raise FileProblemError(
                self._file,
                f"holds {values[0]}, which looks like a date of a spreadsheet, in days since 1900; write it there as "
                "2026-03-01 12:30:00, and save the file again (for seconds since 1970, --time-format '%s')",
                row=row,
                column=values.name,
            )
        if begins and len(known) >= _SEVERAL and _are_scores(known):
            raise FileProblemError(
                self._file,
                f"holds {values[0]}, and the others are between 0 and 1, too, like a score; name the column of times "
                "(for seconds since 1970, --time-format '%s')",
                row=row,
                column=values.name,
            )
        sizes = np.abs(numbers)
        units = np.searchsorted([LATEST * 1e3**i for i in range(3)], sizes)
        counted = units[np.isfinite(numbers) & (numbers != 0.0)]
        names = [name for name, _ in _UNITS]
        if len(counted) and self._unit is None:
            self._unit = names[counted[0]]
            if self._unit != "seconds":
                i = int(np.flatnonzero(np.isfinite(numbers) & (numbers != 0.0))[0])
                date = np.datetime64(int(numbers[i] / _UNITS[counted[0]][1]), "s")
                warn_user(
                    f"{self._file}, column {shortened(values.name)}: numbers such as {values[i]} are taken for "
                    f"{self._unit} since 1970 (this one is {date} UTC)."
                )
        mine = names.index(self._unit or "seconds")
        others = np.isfinite(numbers) & (numbers != 0.0) & (units != mine)
        if others.any():
            i = int(others.argmax())
            raise FileProblemError(
                self._file,
                f"holds {values[i]}, which looks like {names[units[i]]} since 1970, and the rows before it look like "
                f"{names[mine]}; give all in one unit",
                row=row + i,
                column=values.name,
            )
        return np.where(sizes <= LATEST * 1e9, numbers / _UNITS[mine][1], np.nan)

    def _refuse(self, values: Any, bad: NDArray[np.bool_], row: int) -> None:
        pl = polars()
        i = int(bad.argmax())
        value = shortened(repr(values[i]), 40)
        if values[i] is None and not bad.all():
            what = "is empty; expected a time. Fill it in, or drop the row"
            raise FileProblemError(self._file, what, row=row + i, column=values.name)
        if self._form is not None and values.dtype == pl.String and np.isfinite(_iso(unnamed(values))[0]).all():
            what = f"holds {value}, which is ISO 8601, and does not fit --time-format '{self._form}'; leave that out"
        elif self._form is not None:
            told = bad.all() or self._forms(values)
            fix = self._guesses(values, row) if told else "other rows do. Fix the row, or drop it"
            what = f"holds {value}, which does not fit --time-format '{self._form}'; {fix}"
        elif bad.all():
            what = f"holds {value}, which is no time that is understood here; {self._guesses(values, row)}"
        else:
            what = (
                f"holds {value}, which is no time that is understood here; expected such as 2026-03-01T12:30:00, or "
                "seconds since 1970. Fix the row, or drop it"
            )
        raise FileProblemError(self._file, what, row=row + i, column=values.name)

    def _forms(self, values: Any) -> list[str]:
        """The formats that the first values may have, other than the one that was given."""
        return [form for form in likely_formats(_first_texts(values)) if form != self._form]

    def _guesses(self, values: Any, row: int) -> str:
        """The options to add, by what the first values look like; the values themselves, if they say more than one."""
        texts, forms = _first_texts(values), self._forms(values)
        firsts = ", ".join(shortened(repr(text), 30) for text in dict.fromkeys(texts[:3]))
        if not forms:
            write = f"the first are {firsts or 'empty'}. Write times as 2026-03-01T12:30:00 or as seconds since 1970"
            if self._form is not None:
                return f"{write}, or give their format"
            return f"{write}, or add their format, such as --time-format '%d/%m/%Y %H:%M'"
        if len(forms) == 1:
            return f"the first are {firsts}. Add --time-format '{forms[0]}'"
        told = " or ".join(f"--time-format '{form}'{_order(form)}" for form in forms)
        return f"the first are {firsts}, which can be read in {len(forms)} ways. Add {told}"


def _are_scores(numbers: FloatArray) -> bool:
    return bool(((numbers >= 0.0) & (numbers <= 1.0)).all() and (numbers % 1.0 != 0.0).mean() > 0.5)


def _first_texts(values: Any) -> list[str]:
    return [str(value) for value in values.head(1000).to_list() if value is not None]


def _order(form: str) -> str:
    first = min(
        (form.find(letter), word) for letter, word in (("%d", "day"), ("%m", "month"), ("%y", "year")) if letter in form
    )
    return f" ({first[1]} first)"


def _first_of(form: str) -> tuple[str, str]:
    """Text to put before a time, and before its format, that leaves out the day or the minute: the first one."""
    letters = set(re.findall("%[.#]?[0-9]?([A-Za-z])", form.replace("%%", "")))
    texts, forms = "", ""
    if letters & set("HI") and not letters & set("MTRXcs"):
        texts, forms = "00 ", "%M "
    if letters & set("mbB") and letters & set("Yy") and not letters & set("dejDFxc"):
        texts, forms = texts + "01 ", forms + "%d "
    return texts, forms


def _iso(texts: Any, *, zoned_first: bool = False) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Texts of ISO 8601 as seconds, NaN for others; and which of them have a time zone."""
    pl = polars()
    found = np.full(len(texts), np.nan)
    zoned = np.zeros(len(texts), dtype=bool)
    texts = texts.str.strip_chars().str.replace(" ", "T", literal=True)
    for tidy in (False, True):  # as it is usual first, because to look for what is not takes longer
        if tidy:
            texts = texts.str.replace(r"(\d),(\d)", "$1.$2").str.replace(r"\s?([+-]\d[\d:]*|Z)$", "$1")
            texts = texts.str.replace(r"\s?(UTC|GMT)$", "Z")
        for form in _ZONED + _ISO if zoned_first else _ISO + _ZONED:
            left = np.flatnonzero(np.isnan(found))
            if not len(left):
                return found, zoned
            here = texts if len(left) == len(texts) else texts.gather(left)
            parsed = _epoch(here.str.strptime(pl.Datetime("us"), form, strict=False))
            found[left] = parsed
            zoned[left[np.isfinite(parsed)]] = "z" in form
    return found, zoned


def _epoch(times: Any) -> FloatArray:
    """Dates and times as seconds; NaN where there is none, or one of the first centuries, which a format made up."""
    pl = polars()
    found = times.cast(pl.Datetime("us")).dt.epoch("us").cast(pl.Float64).to_numpy() / 1e6
    return np.where(found < _EARLIEST, np.nan, found)
