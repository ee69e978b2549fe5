"""The path of the class mix through a file, from its table of rounds: where it began, how far it went, and when."""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baserate.files.adapting.state import StreamState
from baserate.files.formats import CSV, open_reader
from baserate.files.moments import Calendar, Moment, dates
from baserate.files.source import Source
from baserate.files.times import TimeStamps
from baserate.frames import polars
from baserate.protocols import FloatArray

BACK, STAYED, BETWEEN = "back", "stayed", "between"
_LOOKS = 1.3  # times the width of a band: its level is that of one look, and a path is looked at in every round
_NEAR = 0.8  # of the way from the start to the extreme: from there on it has stayed, and at so much less it is back


class Band(NamedTuple):
    """The limits of a share."""

    low: float
    high: float


class ClassPath(NamedTuple):
    """The path of one class through a file.

    Attributes
    ----------
    name : str
        The class.
    start : float
        Its share before the first round.
    lowest, highest : float
        The least and the largest share that a round was predicted with.
    lowest_at, highest_at : Moment
        Their rounds.
    now : float
        Its share after the last round.
    band : Band
        The band of that.
    rose, fell : bool
        True if it was above or below its start by more than the bands of both allow.
    since : Moment
        The first of the last rounds without break that are nearer to `now` than to `start`.
    """

    name: str
    start: float
    lowest: float
    lowest_at: Moment
    highest: float
    highest_at: Moment
    now: float
    band: Band
    rose: bool
    fell: bool
    since: Moment

    @property
    def moved(self) -> bool:
        """True if it left its start by more than the bands allow."""
        return self.rose or self.fell

    @property
    def extreme(self) -> tuple[float, Moment]:
        """The share that is furthest from the start, on a side that it clearly moved to, and when."""
        up, down = distance(self.highest, self.start), distance(self.lowest, self.start)
        if self.fell and (not self.rose or down > up):
            return self.lowest, self.lowest_at
        return (self.highest, self.highest_at) if self.rose or up >= down else (self.lowest, self.lowest_at)

    @property
    def ending(self) -> str:
        """``"back"`` where it started, ``"stayed"`` where it went, or ``"between"``."""
        way = self.extreme[0] - self.start
        gone = (self.now - self.start) / way if way else 0.0  # the part of the way that it is from its start
        if gone >= _NEAR:
            return STAYED
        return BACK if gone < 1.0 - _NEAR and self.band.low <= self.start <= self.band.high else BETWEEN

    def plain(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "start": self.start,
            "lowest": self.lowest,
            "lowest_round": self.lowest_at.round,
            "highest": self.highest,
            "highest_round": self.highest_at.round,
            "moved": self.moved,
        }


class TrackedPath(NamedTuple):
    """The paths of all classes, those first that moved most; and when the first alarm was.

    Attributes
    ----------
    classes : list of ClassPath
        One for each class.
    calendar : Calendar
        Writes the moments.
    alarm_since : Moment or None
        The first of the last rounds without break that had an alarm.
    alarm_from_start : bool
        True if that is the first round: the alarm is from before the file.
    first : Moment
        The first round.
    """

    classes: list[ClassPath]
    calendar: Calendar
    alarm_since: Moment | None
    alarm_from_start: bool
    first: Moment


def distance(one: Any, other: Any) -> Any:
    """The distance of shares, by which a rare class that grows tenfold is not outdone by a common one that wavers.

    It is that of the arcsines of their roots: in it, the noise of a share is alike for all.

    Examples
    --------
    >>> bool(distance(0.001, 0.02) > distance(0.20, 0.25))
    True
    """
    angles = [np.arcsin(np.sqrt(np.clip(share, 0.0, 1.0))) for share in (one, other)]
    return np.abs(angles[0] - angles[1])


def read_rounds(state: StreamState, path: Path) -> Iterator[Any]:
    """The table of rounds, some lines at a time, so that it may be as long as it likes.

    Time stamps that were read by a format become seconds since 1970.
    """
    pl, names = polars(), state.classes.names
    form = None if state.file is None else state.file.options.get("--time-format")
    numbers = {f"{what}_{name}" for what in ("prior", "low", "high") for name in names} | {"evidence"}
    with contextlib.closing(open_reader(Source(str(path), CSV))) as reader:
        whole = [name for name in ("round", "rows") if name in reader.columns]
        flags = [name for name in ("alarm", "fallback") if name in reader.columns]
        for chunk in reader.chunks(numbers & set(reader.columns)):
            times = [] if form is None else [pl.Series("time", TimeStamps("", form).seconds(chunk.frame["time"], 0))]
            yield chunk.frame.with_columns(
                *times,
                *(pl.col(name).cast(pl.Int64) for name in whole),
                *((pl.col(name).cast(pl.String) == "true").alias(name) for name in flags),
            )


def carried_bands(prior: FloatArray, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bands for every round, where they are known of some only: in between, their widths are interpolated.

    The noise of a share goes with the root of ``q (1 - q)``, and widths are interpolated as multiples of that.

    Parameters
    ----------
    prior : (T, k) array
        The path.
    low, high : (T, k) arrays
        Its bands; nan where a round has none. At least one round has one.
    """
    known, every = np.flatnonzero(~np.isnan(low[:, 0])), np.arange(len(prior))
    noise = np.sqrt(np.maximum(prior * (1.0 - prior), 1e-12))
    below = np.maximum(prior[known] - low[known], 0.0) / noise[known]
    above = np.maximum(high[known] - prior[known], 0.0) / noise[known]
    filled_low, filled_high = low.copy(), high.copy()
    between = np.isnan(low[:, 0])
    for c in range(prior.shape[1]):
        filled_low[between, c] = (prior[:, c] - noise[:, c] * np.interp(every, known, below[:, c]))[between]
        filled_high[between, c] = (prior[:, c] + noise[:, c] * np.interp(every, known, above[:, c]))[between]
    return np.clip(filled_low, 0.0, 1.0), np.clip(filled_high, 0.0, 1.0)


def follow(
    frames: Iterable[Any], names: list[str], prior: FloatArray, band: FloatArray, source: FloatArray
) -> TrackedPath | None:
    """Follow the classes through the table of rounds of a stream without keys; None if it has no line.

    Parameters
    ----------
    frames : iterable of polars.DataFrame
        The table, see `read_rounds`.
    names : list of str
        The classes.
    prior : (k,) array
        The class mix at the end.
    band : (k, 2) array
        Its band.
    source : (k,) array
        The class mix of the holdout, which a stream starts with.
    """
    fold = _Fold(names, prior, source)
    for frame in frames:
        if len(frame):
            fold.add(frame)
    return fold.result(band) if fold.begun else None


class _Fold:
    """Everything known about a path after some lines of its table."""

    def __init__(self, names: list[str], now: FloatArray, source: FloatArray) -> None:
        self._names, self._now, self.begun = names, now, False
        self._start, self._start_band = source, np.stack([source, source])
        self._look: tuple[FloatArray, FloatArray, FloatArray] | None = None
        k = len(names)
        self._low, self._high = np.full(k, np.inf), np.full(k, -np.inf)
        self._rose, self._fell = np.zeros(k, dtype=bool), np.zeros(k, dtype=bool)
        self._times = Times()
        self._low_at, self._high_at, self._since = ([Moment(0)] * k for _ in range(3))
        self._alarm: Moment | None = None
        self._first = self._last = Moment(0)

    def add(self, frame: Any) -> None:
        moments = self._times.moments(frame)
        prior, low, high = (
            np.column_stack([frame[f"{what}_{name}"].to_numpy().astype(np.float64) for name in self._names])
            for what in ("prior", "low", "high")
        )
        before = self._look
        if before is not None:  # the last round with a band, so that the next ones know it
            prior, low, high = (
                np.vstack([line, lines]) for line, lines in zip(before, (prior, low, high), strict=True)
            )
        elif np.isnan(low).all():  # a short file that goes on between two bands, of which nothing is known
            low[0], high[0] = 0.0, 1.0
        last = int(np.flatnonzero(~np.isnan(low[:, 0]))[-1])
        self._look = prior[last].copy(), low[last].copy(), high[last].copy()
        low, high = (lines[before is not None :] for lines in carried_bands(prior, low, high))
        prior = prior[before is not None :]
        if not self.begun:
            self._begin(moments.at(0), prior[0], low[0], high[0])
        self._take(moments, prior, low, high)
        self._note_alarm(moments, frame["alarm"].to_numpy().astype(bool))

    def _begin(self, first: Moment, prior: FloatArray, low: FloatArray, high: FloatArray) -> None:
        self.begun, self._first = True, first
        self._since = [first] * len(self._names)
        if first.round > 1:  # the stream goes on from an earlier file, whose end has a band of its own
            self._start, self._start_band = prior, np.stack([low, high])

    def _take(self, moments: "LineMoments", prior: FloatArray, low: FloatArray, high: FloatArray) -> None:
        start = self._start
        below, above = prior - _LOOKS * (prior - low), prior + _LOOKS * (high - prior)
        self._rose |= ((below > start) & (prior > self._start_band[1])).any(axis=0)
        self._fell |= ((above < start) & (prior < self._start_band[0])).any(axis=0)
        nearer_start = np.abs(prior - start) < np.abs(prior - self._now)
        for c in range(len(self._names)):
            lowest, highest = int(prior[:, c].argmin()), int(prior[:, c].argmax())
            if prior[lowest, c] < self._low[c]:
                self._low[c], self._low_at[c] = prior[lowest, c], moments.at(lowest)
            if prior[highest, c] > self._high[c]:
                self._high[c], self._high_at[c] = prior[highest, c], moments.at(highest)
            back = np.flatnonzero(nearer_start[:, c])
            if len(back):
                self._since[c] = moments.at(min(int(back[-1]) + 1, len(prior) - 1))
        self._last = moments.at(len(prior) - 1)

    def _note_alarm(self, moments: "LineMoments", alarm: NDArray[np.bool_]) -> None:
        calm = np.flatnonzero(~alarm)
        if not alarm[-1]:
            self._alarm = None
        elif len(calm) or self._alarm is None:
            self._alarm = moments.at(int(calm[-1]) + 1 if len(calm) else 0)

    def result(self, band: FloatArray) -> TrackedPath:
        now, (low, high) = self._now, band.T  # after the last round, which the table has not
        self._rose |= (now - _LOOKS * (now - low) > self._start) & (now > self._start_band[1])
        self._fell |= (now + _LOOKS * (high - now) < self._start) & (now < self._start_band[0])
        paths = [
            ClassPath(
                name,
                float(self._start[c]),
                float(min(self._low[c], self._now[c])),
                self._low_at[c] if self._low[c] <= self._now[c] else self._last,
                float(max(self._high[c], self._now[c])),
                self._high_at[c] if self._high[c] >= self._now[c] else self._last,
                float(self._now[c]),
                Band(*band[c].tolist()),
                bool(self._rose[c]),
                bool(self._fell[c]),
                self._since[c],
            )
            for c, name in enumerate(self._names)
        ]
        # Of two classes, both move alike; the rarer one tells it.
        paths.sort(
            key=lambda path: (not path.moved, -round(float(distance(path.extreme[0], path.start)), 9), path.start)
        )
        since = self._alarm
        return TrackedPath(paths, self._times.calendar, since, since is not None and since == self._first, self._first)


class Times:
    """The time stamps of a table of rounds, as long as they are dates."""

    def __init__(self) -> None:
        self._usable = True
        self._first: float | None = None
        self._last: float | None = None

    def moments(self, frame: Any) -> "LineMoments":
        """The moments of some lines, which follow those of the call before."""
        found = None
        if self._usable and "time" in frame.columns:
            found = dates(frame["time"])
        self._usable = found is not None and (self._last is None or found[0] >= self._last)
        if found is not None:
            self._first = float(found[0]) if self._first is None else self._first
            self._last = float(found[-1])
        return LineMoments(frame["round"].to_numpy(), found)

    @property
    def calendar(self) -> Calendar:
        """The calendar of all lines so far."""
        return Calendar(self._first, self._last) if self._usable else Calendar()


class LineMoments:
    """The moments of some lines.

    Parameters
    ----------
    rounds : (n,) array of int
        The numbers of the rounds.
    seconds : (n,) array, optional
        Their times, if these are dates.
    """

    def __init__(self, rounds: NDArray[np.int64], seconds: FloatArray | None) -> None:
        self._rounds, self._seconds = rounds, seconds

    def at(self, line: int) -> Moment:
        """The moment of a line."""
        return Moment(int(self._rounds[line]), None if self._seconds is None else float(self._seconds[line]))
