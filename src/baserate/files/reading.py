"""Files as frames of polars, a chunk at a time."""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple, Protocol

from baserate.files.problem import FileProblemError
from baserate.files.source import Source, check_readable

MOST_COLUMNS = 10_000
CELLS = 1 << 22
"""How many values a chunk may hold: 32 MB of numbers."""


class Chunk(NamedTuple):
    """Some rows of a file.

    Parameters
    ----------
    frame : polars.DataFrame
        The rows, all columns.
    row : int
        The number of the first one, from 0.
    mark, mark_row : int
        A place in the file at or before the chunk that a reader can start from, and the number of the row there.
    """

    frame: Any
    row: int
    mark: int
    mark_row: int


class Reader(Protocol):
    """Reads one kind of file."""

    columns: list[str]
    n_rows: int | None  # if it is known, or can be guessed

    def close(self) -> None:
        """Close the file."""
        ...

    def chunks(
        self, numbers: Collection[str], *, of_one_type: str | None = None, row: int = 0, mark: int = 0
    ) -> Iterator[Chunk]:
        """The file from a row on, which stands at `mark`.

        Parameters
        ----------
        numbers : collection of str
            The columns that are numbers.
        of_one_type : str, optional
            A column whose values must not be of several types.
        row, mark : int
            Where to start.
        """
        ...


def open_reader(source: Source) -> Reader:
    """A reader for a file; its columns are known, and nothing else is read yet."""
    check_readable(source)
    if source.format == "parquet":
        from baserate.files.parquet_reader import ParquetReader

        return ParquetReader(source)
    if source.format == "jsonl":
        from baserate.files.json_reader import JsonLinesReader

        return JsonLinesReader(source)
    from baserate.files.csv_reader import CsvReader

    return CsvReader(source)


def check_columns(columns: list[str], name: str) -> list[str]:
    """Check the names of the columns."""
    if len(columns) > MOST_COLUMNS:
        raise FileProblemError(
            name,
            f"has {len(columns):,} columns; at most {MOST_COLUMNS:,} are read. Keep the probabilities, and what "
            "you need beside them",
            column=columns[MOST_COLUMNS],
        )
    seen: set[str] = set()
    for column in columns:
        if column in seen:
            raise FileProblemError(name, "two columns have this name; rename one", column=column or '""')
        seen.add(column)
    return columns
