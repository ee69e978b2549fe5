"""The contract of a file format: what it is called, and how it is read and written."""

from collections.abc import Callable, Collection, Iterator
from typing import IO, Any, NamedTuple, Protocol

from baserate.files.errors import FileProblemError
from baserate.files.source import Source

MOST_COLUMNS = 10_000
EMPTY = "is empty; expected a header and at least one row. Check the program that writes it"
CELLS = 1 << 22
"""The most values in a chunk: 32 MB of numbers."""


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
    """An open file of one format. Its columns are known; nothing else is read until `chunks` is called."""

    columns: list[str]
    n_rows: int | None  # if it is known, or can be guessed

    def close(self) -> None:
        """Close the file."""
        ...

    def chunks(
        self, numbers: Collection[str], *, of_one_type: str | None = None, row: int = 0, mark: int = 0
    ) -> Iterator[Chunk]:
        """Read the file from a row on, which stands at `mark`.

        Parameters
        ----------
        numbers : collection of str
            The columns that are numbers.
        of_one_type : str, optional
            A column whose values must not be of several types.
        row, mark : int
            The place to start at.
        """
        ...


class SinkMark(NamedTuple):
    """A place in an output file that a new sink can continue from.

    Parameters
    ----------
    size : int
        The length of the file.
    footer : bytes
        The bytes that would end the file here, in a format that needs such an end.
    """

    size: int
    footer: bytes = b""


class Sink(Protocol):
    """An output file of one format. It takes frames, all with the same columns, and can be cut back to a mark."""

    def append(self, frame: Any) -> None:
        """Write some rows."""
        ...

    def mark(self) -> SinkMark:
        """The place that has been reached.

        Nothing is forced to the disk, which would take longer than the work: what a killed process has written is
        there, and after a power failure the file is too short, which is noticed.
        """
        ...

    def settle(self) -> None:
        """Force what was written so far to the disk; another thread may write on meanwhile."""
        ...

    def finish(self, *, settled: bool = False) -> None:
        """Write what belongs at the end, and close; `settled` on the disk, or when the system finds the time."""
        ...

    def close(self) -> None:
        """Close as it is."""
        ...


class Format(NamedTuple):
    """A file format.

    Parameters
    ----------
    name : str
        Its name on the command line (``--format csv``).
    title : str
        Its name in a sentence.
    suffixes : tuple of str
        The endings of file names that tell it, in lower case, with their dot.
    reader : callable
        Opens a file to read.
    sink : callable
        Makes a sink of an open binary file, which stands at its end, and the mark that it was cut back to, or None.
    can_hold : callable
        Tells whether a column of a type of polars can be written; polars finds out too late, or panics.
    instead : str
        The formats to suggest where a column cannot be written, in words.
    fixed_types : bool
        True if a column must keep the type that it began with.
    no_pipe : str, optional
        The reason why it cannot be read from a pipe, or written to one. Default: it can.
    packable : bool
        True if a compressed file of it can be read.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    reader: Callable[[Source], Reader]
    sink: Callable[[IO[bytes], SinkMark | None], Sink]
    can_hold: Callable[[Any], bool]
    instead: str
    fixed_types: bool = False
    no_pipe: str | None = None
    packable: bool = True


def check_columns(columns: list[str], name: str) -> list[str]:
    """Check the names of the columns of a file."""
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
