"""Pieces of a stream: their values read out of the frame and checked, and what adapting makes of them."""

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from baserate.files.adapting.job import ColumnRoles
from baserate.files.adapting.late_labels import ids_of
from baserate.files.adapting.state import LabelCounts
from baserate.files.columns import Classes
from baserate.files.errors import FileProblemError, shortened
from baserate.files.rounds import Piece
from baserate.frames import polars, unnamed
from baserate.protocols import UNLABELLED, FloatArray, IntArray


class Round(NamedTuple):
    """One round of a piece: the rows ``start:end`` of it. What the stream does not have is None."""

    start: int
    end: int
    proba: FloatArray
    labels: IntArray | None
    keys: list[str] | None
    ids: list[str] | None
    window: int | None
    time: str | None


class CheckedPiece(NamedTuple):
    """The values of a piece, checked. What the stream does not have is None.

    Parameters
    ----------
    piece : Piece
        The rows as they were read.
    proba : (n, k) array
        The model's probabilities.
    labels : (n,) array of int, optional
        Numbers of classes; -1 where there is none.
    keys : list of str, optional
        The key of each row.
    times : list of str, optional
        The time of the first row of each round.
    ids : list of str, optional
        By which labels may come later.
    file, id_column : str
        The file and the column of the ids, for messages.
    """

    piece: Piece
    proba: FloatArray
    labels: IntArray | None
    keys: list[str] | None
    times: list[str] | None
    ids: list[str] | None = None
    file: str = ""
    id_column: str = ""

    def rounds(self) -> Iterator[Round]:
        """The rounds, one after the other. Where none of its rows has a label, a round has no labels."""
        starts, windows = self.piece.starts.tolist(), self.piece.windows
        for j, (start, end) in enumerate(itertools.pairwise(starts)):
            labels = None if self.labels is None else self.labels[start:end]
            if labels is not None and (labels == UNLABELLED).all():
                labels = None
            yield Round(
                start,
                end,
                self.proba[start:end],
                labels,
                None if self.keys is None else self.keys[start:end],
                None if self.ids is None else self.ids[start:end],
                None if windows is None else int(windows[j]),
                None if self.times is None else self.times[j],
            )


class AdaptedPiece(NamedTuple):
    """A piece with its adapted probabilities, and the lines of its rounds.

    Parameters
    ----------
    source : CheckedPiece
        The piece.
    proba : (k, n) array
        The adapted probabilities, a row for each class.
    labels : (n,) array of int
        The most probable classes.
    round_numbers : list of int
        The number of each round, from 1.
    round_table : dict of lists
        Columns with a line for each round, or for each key of a round.
    decisions : (n,) array of int, optional
        What is decided by costs or a threshold.
    """

    source: CheckedPiece
    proba: FloatArray
    labels: IntArray
    round_numbers: list[int]
    round_table: dict[str, list[Any]]
    decisions: IntArray | None = None

    def numbers(self) -> IntArray:
        """The number of the round that each row is in."""
        return np.repeat(self.round_numbers, np.diff(self.source.piece.starts))

    def lines(self) -> IntArray:
        """The line of the table of rounds that belongs to each row."""
        sizes = np.diff(self.source.piece.starts)
        if self.source.keys is None:
            return np.repeat(np.arange(len(sizes)), sizes)
        table = self.round_table
        line_of = {pair: i for i, pair in enumerate(zip(table["round"], table["key"], strict=True))}
        pairs = zip(self.numbers().tolist(), self.source.keys, strict=True)
        return np.fromiter((line_of[pair] for pair in pairs), np.int64, int(sizes.sum()))

    def label_counts(self) -> LabelCounts:
        """Count how often labels agree with the model, and with the adapted probabilities."""
        if self.source.labels is None:
            return LabelCounts()
        known = self.source.labels != UNLABELLED
        truth = self.source.labels[known]
        model = self.source.proba[known].argmax(axis=1)
        return LabelCounts(len(truth), int((model == truth).sum()), int((self.labels[known] == truth).sum()))


def check_piece(
    piece: Piece, classes: Classes, columns: ColumnRoles, file: str, *, with_ids: bool = False
) -> CheckedPiece:
    """Read the values of a piece, and check them; the ids only if rows are to wait for their labels."""
    frame = piece.frame
    labels = keys = times = ids = None
    if columns.labels is not None:
        labels = classes.labels(frame.get_column(columns.labels), file, piece.row)
    if columns.key is not None:
        keys = _keys(frame.get_column(columns.key), file, piece.row)
    if columns.time is not None:
        times = unnamed(frame.get_column(columns.time)).gather(piece.starts[:-1]).cast(polars().String).to_list()
    if with_ids and columns.id is not None:
        ids = ids_of(frame, columns.id)
    proba = classes.proba(frame, file, piece.row)
    return CheckedPiece(piece, proba, labels, keys, times, ids, file, columns.id or "")


def _keys(values: Any, file: str, row: int) -> list[str]:
    """Keys as text, whatever they were written as: 7 in one file is "7" in another."""
    pl = polars()
    if not (values.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null) or values.dtype.is_integer()):
        raise FileProblemError(
            file, f"keys are of the type {values.dtype}; expected text or whole numbers", row=row, column=values.name
        )
    if values.null_count():
        bad = int(unnamed(values).is_null().arg_max() or 0)
        raise FileProblemError(
            file, "the key is missing; fill it in, or drop the row", row=row + bad, column=shortened(values.name)
        )
    found: list[str] = values.cast(pl.String).to_list()
    return found
