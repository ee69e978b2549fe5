"""The paths of keys through a file, from its table of rounds: which moved most, and which have too few rows to tell.

A key has no band, and after its first few rows its class mix jumps about. So a key is looked at in stretches of the
file, and has moved if its mean in one of them is further from its start than chance explains by its rows there.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from baserate.files.adapting.tracked import Times, distance
from baserate.files.moments import Calendar, Moment
from baserate.protocols import FloatArray, IntArray

FEW = 100
"""Rows of a key below which its class mix is not told."""
STRETCHES = 24
"""The stretches of a file that keys are looked at in."""
_CHANCE = 5.0  # times the noise of a share that is counted: no model sees classes as well as one who counts them
_FEWEST = 25  # rows in a stretch that tell anything


class KeyPath(NamedTuple):
    """The path of a key, told by the class of it that moved most.

    Attributes
    ----------
    key : str
        The key.
    rows : int
        Its rows in the file.
    name : str
        The class.
    start, now : float
        Its share at the first and the last round of the key.
    extreme : float
        The mean of the stretch that is furthest from the start, or the last share if that is further yet.
    at : Moment
        The start of that stretch, or the last round.
    path : list of float or None
        The mean of each stretch; None where it has no row.
    """

    key: str
    rows: int
    name: str
    start: float
    now: float
    extreme: float
    at: Moment
    path: list[float | None]

    def plain(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "key": self.key,
            "rows": self.rows,
            "class": self.name,
            "start": self.start,
            "extreme": self.extreme,
            "extreme_round": self.at.round,
            "now": self.now,
        }


class TrackedKeys(NamedTuple):
    """The keys of a file.

    Attributes
    ----------
    moved : list of KeyPath
        Those that moved by more than chance explains, those first that moved most.
    doubtful : list of KeyPath
        Those that have too few rows to tell, those with most rows first.
    steady : int
        The number of all others.
    calendar : Calendar
        Writes the moments.
    """

    moved: list[KeyPath]
    doubtful: list[KeyPath]
    steady: int
    calendar: Calendar

    @property
    def total(self) -> int:
        """The number of keys."""
        return len(self.moved) + len(self.doubtful) + self.steady


def follow_keys(frames: Iterable[Any], names: list[str], n_rows: int) -> TrackedKeys | None:
    """Follow every key through the table of rounds; None if it has no line.

    Parameters
    ----------
    frames : iterable of polars.DataFrame
        The table, see `read_rounds`.
    names : list of str
        The classes.
    n_rows : int
        The rows of the file.
    """
    fold = _KeyFold(names, n_rows)
    for frame in frames:
        if len(frame):
            fold.add(frame)
    return fold.result() if fold.places else None


class _KeyFold:
    """Everything known about all keys after some lines."""

    def __init__(self, names: list[str], n_rows: int) -> None:
        self._names, self._n_rows, self._times = names, max(n_rows, 1), Times()
        self.places: dict[str, int] = {}
        k = len(names)
        self._rows: IntArray = np.zeros((0, STRETCHES), dtype=np.int64)
        self._sums: Any = np.zeros((0, STRETCHES, k), dtype=np.float32)
        self._first, self._last = np.zeros((0, k)), np.zeros((0, k))
        self._moments: dict[int, Moment] = {}
        self._ended = Moment(0)

    def add(self, frame: Any) -> None:
        moments = self._times.moments(frame)
        stretch = (frame["first_row"].cast(int).to_numpy() - 1) * STRETCHES // self._n_rows
        stretch = np.clip(stretch, 0, STRETCHES - 1)
        for s, line in zip(*np.unique(stretch, return_index=True), strict=True):
            self._moments.setdefault(int(s), moments.at(int(line)))
        known = len(self.places)
        places = np.array([self.places.setdefault(key, len(self.places)) for key in frame["key"].to_list()])
        self._grow(len(self.places) - known)
        prior = np.column_stack([frame[f"prior_{name}"].to_numpy().astype(np.float64) for name in self._names])
        rows = frame["rows"].to_numpy()
        here, first = np.unique(places, return_index=True)
        new = here >= known
        self._first[here[new]] = prior[first[new]]
        self._last[places] = prior  # of the lines of a key, the last one stays
        self._ended = moments.at(len(frame) - 1)
        np.add.at(self._rows, (places, stretch), rows)
        np.add.at(self._sums, (places, stretch), prior * rows[:, None])

    def _grow(self, more: int) -> None:
        if more:
            self._rows, self._sums, self._first, self._last = (
                np.concatenate([held, np.zeros((more, *held.shape[1:]), dtype=held.dtype)])
                for held in (self._rows, self._sums, self._first, self._last)
            )

    def result(self) -> TrackedKeys:
        moved, extreme, stretch = self._furthest()
        rows = self._rows.sum(axis=1)
        # Of two classes, both move alike; the rarer one tells it.
        away = np.round(distance(extreme, self._first), 6)
        told = np.lexsort((self._first, -away), axis=1)[:, 0]
        keys, here = list(self.places), np.arange(len(self.places))
        moved, away = moved[here, told] & (rows >= FEW), away[here, told]
        doubtful = rows < FEW

        def path(i: int) -> KeyPath:
            c = told[i]
            with np.errstate(invalid="ignore"):
                means = self._sums[i, :, c] / self._rows[i]
            start, now, furthest = (float(held[i, c]) for held in (self._first, self._last, extreme))
            drawn = [None if np.isnan(mean) else float(mean) for mean in means]
            at = self._moments[int(stretch[i, c])]
            if moved[i] and (now - start) / (furthest - start) > 1.0:
                furthest, at = now, self._ended
            return KeyPath(keys[i], int(rows[i]), self._names[c], start, now, furthest, at, drawn)

        by_distance = sorted(np.flatnonzero(moved).tolist(), key=lambda i: -away[i])
        by_rows = sorted(np.flatnonzero(doubtful).tolist(), key=lambda i: -rows[i])
        steady = int((~moved & ~doubtful).sum())
        return TrackedKeys([path(i) for i in by_distance], [path(i) for i in by_rows], steady, self._times.calendar)

    def _furthest(self) -> tuple[Any, FloatArray, IntArray]:
        """Tell of each key and class if it moved, its furthest mean, and the start of that stretch, short or long."""
        shape = self._first.shape
        moved, extreme = np.zeros(shape, dtype=bool), self._first.copy()
        best, stretch = np.zeros(shape), np.zeros(shape, dtype=np.int64)
        seen = sorted(self._moments)
        for length in (1, 2, 4, 8):
            for begin in range(0, STRETCHES, length):
                rows = self._rows[:, begin : begin + length].sum(axis=1)
                enough = rows >= _FEWEST
                means = self._sums[:, begin : begin + length].sum(axis=1) / np.maximum(rows, 1)[:, None]
                away = distance(means, self._first)
                clear = (away > _CHANCE / (2.0 * np.sqrt(np.maximum(rows, 1)))[:, None]) & enough[:, None]
                further = clear & (~moved | (away > best))
                moved |= clear
                extreme[further], best[further] = means[further], away[further]
                stretch[further] = next((s for s in seen if s >= begin), seen[-1])
        stretch[~moved] = seen[0]
        return moved, extreme, stretch
