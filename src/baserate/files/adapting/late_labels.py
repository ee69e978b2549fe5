"""Labels that come in a file of their own, for rows of earlier files."""

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from baserate.files.adapting.job import PROBABILITY, ROW, WHY
from baserate.files.adapting.unique_ids import UniqueIds
from baserate.files.columns import Classes
from baserate.files.errors import FileProblemError, listed, shortened
from baserate.files.formats import open_reader
from baserate.files.source import Source
from baserate.frames import polars
from baserate.protocols import UNLABELLED, FloatArray, IntArray


def ids_of(frame: Any, column: str) -> list[str]:
    """The ids of rows, as text, whatever they were written as: 7 in one file is "7" in another."""
    ids: list[str] = frame.get_column(column).cast(polars().String).to_list()
    return ids


class LateChunk(NamedTuple):
    """Rows of a file of late labels: ids, labels (-1 where one is still empty), and the probabilities, if known."""

    ids: list[str]
    labels: IntArray
    chosen: FloatArray | None


def late_labels(
    source: Source, classes: Classes, id_column: str, label_column: str, probability_column: str | None = None
) -> Iterator[LateChunk]:
    """Read ids and labels, a chunk at a time.

    Parameters
    ----------
    source : Source
        The file.
    classes : Classes
        The classes that labels name.
    id_column, label_column : str
        Its columns of ids and of labels.
    probability_column : str, optional
        The column of the probabilities with which rows were chosen for a label. Default: that of a file that ``--ask``
        has written, which is known by its columns; in any other file there is none.
    """
    with contextlib.closing(open_reader(source)) as reader:
        if probability_column is None and {ROW, PROBABILITY, WHY} <= set(reader.columns):
            probability_column = PROBABILITY
        ways = {
            id_column: "Name ids as in STREAM",
            label_column: "Name the labels' with --late-label",
            probability_column: "Name the probabilities' with --late-probability",
        }
        for column, way in ways.items():
            if column is not None and column not in reader.columns:
                known = listed(reader.columns)
                raise FileProblemError(source.shown, f"there is no such column; it has {known}. {way}", column=column)
        unique = UniqueIds(id_column, source.shown, otherwise="")
        for chunk in reader.chunks(set()):
            unique.add(chunk.frame.get_column(id_column))
            unique.check()
            labels = classes.labels(chunk.frame.get_column(label_column), source.shown, chunk.row)
            chosen = None
            if probability_column is not None:
                chosen = _chosen(chunk.frame.get_column(probability_column), labels, source.shown, chunk.row)
            yield LateChunk(ids_of(chunk.frame, id_column), labels, chosen)


def _chosen(values: Any, labels: IntArray, file: str, row: int) -> FloatArray:
    """Read the probabilities with which rows were chosen for a label; those of rows without one do not matter."""
    numbers: FloatArray = values.cast(polars().Float64, strict=False).fill_null(float("nan")).to_numpy()
    bad = np.flatnonzero((labels != UNLABELLED) & ~((numbers > 0.0) & (numbers <= 1.0)))
    if len(bad):
        i = int(bad[0])
        found = "is empty" if values[i] is None else f"holds {shortened(str(values[i]), 30)}"
        what = f"{found}; expected the probability with which the row was chosen for a label, above 0 and at most 1"
        raise FileProblemError(file, f"{what}. Put back what --ask has written there", row=row + i, column=values.name)
    return numbers
