"""Labels that come in a file of their own, for rows of earlier files."""

import contextlib
from collections.abc import Iterator
from typing import Any

from baserate.files.adapting.unique_ids import UniqueIds
from baserate.files.columns import Classes
from baserate.files.errors import FileProblemError, listed
from baserate.files.formats import open_reader
from baserate.files.source import Source
from baserate.frames import polars
from baserate.protocols import IntArray


def ids_of(frame: Any, column: str) -> list[str]:
    """The ids of rows, as text, whatever they were written as: 7 in one file is "7" in another."""
    ids: list[str] = frame.get_column(column).cast(polars().String).to_list()
    return ids


def late_labels(source: Source, classes: Classes, id_column: str, label_column: str) -> Iterator[tuple[Any, IntArray]]:
    """Ids and labels, a chunk at a time; rows whose label is still empty have -1.

    Parameters
    ----------
    source : Source
        The file.
    classes : Classes
        The classes that labels name.
    id_column, label_column : str
        Its columns of ids and of labels.
    """
    with contextlib.closing(open_reader(source)) as reader:
        for column, way in ((id_column, "Name ids as in STREAM"), (label_column, "Name the labels' with --late-label")):
            if column not in reader.columns:
                known = listed(reader.columns)
                raise FileProblemError(source.shown, f"there is no such column; it has {known}. {way}", column=column)
        unique = UniqueIds(id_column, source.shown, otherwise="")
        for chunk in reader.chunks(set()):
            unique.add(chunk.frame.get_column(id_column))
            unique.check()
            ids = ids_of(chunk.frame, id_column)
            yield ids, classes.labels(chunk.frame.get_column(label_column), source.shown, chunk.row)
