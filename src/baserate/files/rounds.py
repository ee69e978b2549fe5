"""Rounds: a file is cut into them by rows or by time, and read in pieces of whole rounds."""

import itertools
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from baserate.files.errors import shortened
from baserate.files.formats import Chunk
from baserate.files.times import LATEST, TimeStamps
from baserate.frames import polars
from baserate.protocols import IntArray

LONGEST = 100_000
"""The most rows of a round by time: a longer window is several rounds, so that memory stays bounded."""
_MOST_ROWS = 10**9  # more do not fit into memory
_SHORTEST_TIME = 1e-6  # time stamps are no finer
_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


SHORTEST, SHARE, LARGEST = 100, 100, 10_000
"""Rows of a round by default: a hundredth of the file so far, within limits. A small file is then adapted nearly from
its start, and a large one is not slowed down by small rounds."""


class RoundLength(NamedTuple):
    """The length of a round, in rows or in time.

    Parameters
    ----------
    rows : int
        Rows in a round, where it is cut by rows; 0: they grow with the file.
    seconds : float
        Length of a window, where it is cut by time; else 0.
    """

    rows: int = 0
    seconds: float = 0.0


class ReadPosition(NamedTuple):
    """A row of a file, and where a reader can start to get there.

    Parameters
    ----------
    row : int
        Number of the row, from 0.
    mark, mark_row : int
        A place in the file at or before it that a reader can start from, and the number of the row there.
    """

    row: int = 0
    mark: int = 0
    mark_row: int = 0


class Piece(NamedTuple):
    """Whole rounds that follow each other.

    Parameters
    ----------
    frame : polars.DataFrame
        Their rows.
    row : int
        Number of the first row in the file, from 0.
    starts : (m + 1,) array of int
        Round j is the rows ``starts[j]:starts[j + 1]`` of the frame.
    resume : ReadPosition
        The start of the next piece.
    windows : (m,) array of int, optional
        The window of time that each round is in, where it is cut by time.
    """

    frame: Any
    row: int
    starts: IntArray
    resume: ReadPosition
    windows: IntArray | None = None


def parse_round_length(text: str) -> RoundLength:
    """RoundLength as they are written on the command line.

    Examples
    --------
    >>> parse_round_length("500")
    RoundLength(rows=500, seconds=0.0)
    >>> parse_round_length("15min").seconds
    900.0
    """
    if text == "auto":
        return RoundLength()
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text)
    if found:
        number, unit = float(found[1]), found[2]
        if not unit and 1 <= number <= _MOST_ROWS and number == int(number):
            return RoundLength(int(number))
        if unit in _UNITS and _SHORTEST_TIME <= number * _UNITS[unit] <= LATEST:
            return RoundLength(LONGEST, number * _UNITS[unit])
    raise ValueError(
        f"--rounds is {shortened(repr(text))}; give a number of rows, such as 1000, a length of time, such as 15min, "
        "1h or 7d (s, m or min, h, d, w, in small letters), or auto."
    )


def cut(
    chunks: Iterator[Chunk],
    rounds: RoundLength,
    size: int,
    *,
    file: str,
    time: str | None,
    row: int,
    time_format: str | None = None,
) -> Iterator[Piece]:
    """Pieces of at least `size` rows and of whole rounds; the last one ends where the file does.

    The cuts depend on the rows alone, and not on the chunks.

    Parameters
    ----------
    chunks : iterator of Chunk
        The file, from `row` on or from before it.
    rounds : RoundLength
        The length of a round.
    size : int
        The least number of rows of a piece.
    file : str
        Its name in messages.
    time : str, optional
        The column of time stamps; rows must be in their order, but for those within a window.
    row : int
        The first row that is wanted; a round starts there.
    time_format : str, optional
        The format of time stamps that are neither ISO 8601 nor numbers.
    """
    stamps = TimeStamps(file, time_format)
    frame: Any = None
    marks: list[tuple[int, int]] = []
    for chunk in chunks:
        skip = max(row - chunk.row, 0) if frame is None else 0
        if skip >= len(chunk.frame):
            continue
        marks.append((chunk.mark_row, chunk.mark))
        fresh = chunk.frame.slice(skip) if skip else chunk.frame
        if time is not None and len(fresh):
            stamps.check_order(fresh.get_column(time), chunk.row + skip, rounds.seconds)
        # Relaxed, because a column that was empty so far has no type.
        frame = fresh if frame is None or not len(frame) else polars().concat([frame, fresh], how="vertical_relaxed")
        if len(frame) <= size:
            continue
        starts, windows = _starts(frame, rounds, time, stamps, row)
        # The last round may go on in the next chunk.
        whole = starts if windows is None and _is_whole(starts, rounds, row) else starts[:-1]
        begin = 0
        while (i := np.searchsorted(whole, whole[begin] + size)) < len(whole):
            first, end = int(starts[begin]), int(starts[i])
            marks = _from(marks, row + end)
            yield Piece(
                frame.slice(first, end - first),
                row + first,
                starts[begin : i + 1] - first,
                ReadPosition(row + end, *marks[0][::-1]),
                None if windows is None else windows[starts[begin:i]],
            )
            begin = int(i)
        done = int(starts[begin])
        frame, row = frame.slice(done), row + done
    if frame is not None and len(frame):
        starts, windows = _starts(frame, rounds, time, stamps, row)
        end = row + len(frame)
        of_rounds = None if windows is None else windows[starts[:-1]]
        yield Piece(frame, row, starts, ReadPosition(end, *_from(marks, end)[0][::-1]), of_rounds)


def _rows(rounds: RoundLength, row: int) -> int:
    """The number of rows of the round that starts at a row."""
    return rounds.rows or min(max(row // SHARE, SHORTEST), LARGEST)


def _is_whole(starts: IntArray, rounds: RoundLength, row: int) -> bool:
    return bool(starts[-1] - starts[-2] == _rows(rounds, row + int(starts[-2])))


def _from(marks: list[tuple[int, int]], row: int) -> list[tuple[int, int]]:
    """Marks without those that have a later one at or before a row."""
    useless = sum(mark_row <= row for mark_row, _ in marks[1:])
    return marks[useless:]


def _starts(
    frame: Any, rounds: RoundLength, time: str | None, stamps: TimeStamps, row: int
) -> tuple[IntArray, IntArray | None]:
    """The first row of each round, and the number of rows; and the window of each row. A round starts at row 0."""
    n = len(frame)
    if not rounds.seconds:
        found = [0]
        while found[-1] < n:
            found.append(found[-1] + _rows(rounds, row + found[-1]))
        return np.minimum(found, n), None
    assert time is not None
    windows = np.floor(stamps.seconds(frame.get_column(time), row) / rounds.seconds).astype(np.int64)
    edges = np.concatenate([[0], np.flatnonzero(windows[1:] != windows[:-1]) + 1, [n]])
    parts = [np.arange(start, end, rounds.rows) for start, end in itertools.pairwise(edges.tolist())]
    return np.append(np.concatenate(parts), n).astype(np.int64), windows
