"""File formats: one module each, which knows everything about its format. A new one is registered in `MODULES`."""

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import IO

from baserate.files.errors import FileProblemError
from baserate.files.formats.csv import CSV
from baserate.files.formats.format import CELLS, Chunk, Format, Reader, Sink, SinkMark
from baserate.files.source import Source

__all__ = [
    "CELLS", "CSV", "FORMATS", "Chunk", "Format", "Reader", "Sink", "SinkMark", "check_readable", "format_names",
    "open_reader", "open_sink", "source_named",
]  # fmt: skip

MODULES = (
    "csv",
    "parquet",
    "json_lines",
)
"""The modules with formats, in the order in which help texts list these. A new one gets a line here."""

FORMATS: dict[str, Format] = {
    found.name: found for module in MODULES for found in import_module(f"{__name__}.{module}").FORMATS
}
"""Every format, by its name."""


def format_names(between: str = ", ", last: str = ", ") -> str:
    """The names of the formats, for help texts and messages.

    Examples
    --------
    >>> format_names(last=" or ")
    'csv, tsv, ...'
    """
    *names, end = FORMATS
    return between.join(names) + last + end


def source_named(name: str, format: str | None = None, *, option: str | None = "--format") -> Source:  # noqa: A002
    """A file by its name, and its format: the one that an option gives, or the one of the suffix.

    Parameters
    ----------
    name : str
        A path, or ``-`` for standard input or output, which is CSV unless the option says otherwise.
    format : str, optional
        The name of a format.
    option : str, optional
        The option that gives it, for messages; None if there is none.

    Examples
    --------
    >>> source_named("today.parquet").format.name, source_named("-", "tsv").format.name
    ('parquet', 'tsv')
    """
    if format is not None:
        if format not in FORMATS:
            raise ValueError(f"{option} is {format}; choose one of {format_names()}.")
        return Source(name, FORMATS[format])
    if name == "-":
        return Source(name, CSV)
    by_suffix = {suffix: found for found in FORMATS.values() for suffix in found.suffixes}
    found = by_suffix.get(Path(name).suffix.lower())
    if found is None:
        ways = f"; name a file that ends in {', '.join(by_suffix)}"
        if option is not None:
            ways += f", or say it with {option} ({format_names()})"
        raise ValueError(f"{name}: its suffix does not say what it is{ways}.")
    return Source(name, found)


def check_readable(*sources: Source | None) -> None:
    """Check, of each source that is given, that there is something to read. `open_reader` relies on it."""
    for source in sources:
        if source is not None:
            _check_readable(source)


def _check_readable(source: Source) -> None:
    if source.is_stream:
        if source.format.no_pipe is not None:
            raise FileProblemError(
                "standard input",
                f"{source.format.title} cannot be read from a pipe, {source.format.no_pipe}; give a file, or CSV",
            )
        return
    if source.path.is_dir():
        raise FileProblemError(source.name, "is a folder; name a file")
    if source.path.exists() and not source.path.is_file():
        raise FileProblemError(
            source.name, "is a pipe or a device, and no file; pipe it in and name it -, or write it to a file first"
        )
    try:
        with source.path.open("rb") as file:
            if not file.read(1):
                raise FileProblemError(source.name, "is empty; expected a header and at least one row")
    except FileNotFoundError as error:
        raise FileProblemError(source.name, "there is no such file") from error
    except OSError as error:
        raise FileProblemError(source.name, f"cannot be read ({error.strerror})") from error


def open_reader(source: Source) -> Reader:
    """Open a file that was checked by `check_readable`."""
    return source.format.reader(source)


def open_sink(path: Path | None, format: Format, mark: SinkMark | None = None) -> Sink:  # noqa: A002
    """Open a file to append to it.

    Parameters
    ----------
    path : path or None
        Where; None is standard output.
    format : Format
        The file's format.
    mark : SinkMark, optional
        Continue from a mark: what was written after it is cut off. Default: an empty file.
    """
    file: IO[bytes]
    if path is None:
        file = sys.stdout.buffer
    elif mark is None:
        file = open(path, "w+b", buffering=0, opener=_not_through_links)  # noqa: SIM115
    else:
        file = open(path, "r+b", buffering=0, opener=_not_through_links)  # noqa: SIM115
        file.truncate(mark.size)
        file.seek(0, os.SEEK_END)
    return format.sink(file, mark)


def _not_through_links(path: str, flags: int) -> int:
    """Open a file that is ours alone: a link in its place would lead to another, which would be written over."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)
