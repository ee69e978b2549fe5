"""File formats: one module each, which knows everything about its format. A new one is registered in `MODULES`."""

import contextlib
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import IO

from baserate.files.errors import FileProblemError, did_you_mean_file
from baserate.files.formats.csv import CSV
from baserate.files.formats.format import CELLS, EMPTY, Chunk, Format, Reader, Sink, SinkMark
from baserate.files.packing import SUFFIXES, without_packing
from baserate.files.source import Source

__all__ = [
    "CELLS", "CSV", "FORMATS", "Chunk", "Format", "Reader", "Sink", "SinkMark", "check_readable", "format_names",
    "open_reader", "open_sink", "separator_named", "source_named",
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


_UNPACK = {".bz2": "bzip2 -dc", ".xz": "xz -dc", ".zip": "unzip -p"}
_SHEETS = (".xlsx", ".xls", ".ods")


def source_named(
    name: str,
    format: str | None = None,  # noqa: A002
    *,
    option: str | None = "--format",
    separator: str | None = None,
    to_write: bool = False,
) -> Source:
    """A file by its name, and its format: the one that an option gives, or the one of the suffix.

    Parameters
    ----------
    name : str
        A path, or ``-`` for standard input or output, which is CSV unless the option says otherwise.
    format : str, optional
        The name of a format.
    option : str, optional
        The option that gives it, for messages; None if there is none.
    separator : str, optional
        The character between the fields of a CSV file; default: the header shows it.
    to_write : bool
        True for an output, which cannot be compressed.

    Examples
    --------
    >>> source_named("today.csv.gz").format.name, source_named("-", "tsv").format.name
    ('csv', 'tsv')
    """
    if to_write and name != "-" and Path(name).is_dir():
        raise FileProblemError(f"-o {name}", f"is a folder; name a file, such as {Path(name) / 'adapted.csv'}")
    if to_write and format is None and Path(name).suffix.lower() in (*_SHEETS, *_UNPACK):
        endings = ", ".join(suffix for each in FORMATS.values() for suffix in each.suffixes)
        raise ValueError(f"-o {name}: such a file cannot be written; name one that ends in {endings}.")
    found = _format_of(name, format, option)
    if name != "-" and Path(name).suffix.lower() in SUFFIXES:
        plain = without_packing(name)
        if to_write:
            raise ValueError(
                f"-o {name}: the output is not compressed; write -o {plain}, and compress that afterwards."
            )
        if not found.packable:
            raise ValueError(f"{name}: {found.title} in a compressed file is not read; unpack it to {plain} first.")
    return Source(name, found, separator=separator if found is CSV else None)


def _format_of(name: str, format: str | None, option: str | None) -> Format:  # noqa: A002
    if format is not None:
        if format not in FORMATS:
            raise ValueError(f"{option} is {format}; choose one of {format_names()}.")
        return FORMATS[format]
    if name == "-":
        return CSV
    by_suffix = {suffix: found for found in FORMATS.values() for suffix in found.suffixes}
    suffix = Path(without_packing(name)).suffix.lower()
    found = by_suffix.get(suffix)
    if found is None and suffix in _UNPACK:
        raise ValueError(f"{name} is not unpacked here; pipe it in: {_UNPACK[suffix]} {name} | baserate ... - ...")
    if found is None and suffix in _SHEETS:
        raise ValueError(f"{name} is a spreadsheet; save it as CSV, and name that file.")
    if found is None and Path(name).is_dir():
        raise FileProblemError(name, _is_folder(Path(name)))
    if found is None:
        ways = f"; name a file that ends in {', '.join(by_suffix)}"
        if option is not None:
            ways += f", or say it with {option} ({format_names()})"
        raise ValueError(f"{name}: its suffix does not say what it is{ways}.")
    return found


def separator_named(text: str | None) -> str | None:
    r"""The separator that an option gives: a character, or a word for the tab.

    Examples
    --------
    >>> separator_named(";"), separator_named("tab"), separator_named(r"\t")
    (';', '\t', '\t')
    """
    if text is None:
        return None
    found = "\t" if text.lower() in ("tab", "\\t") else text
    if len(found) != 1 or not found.isascii() or found.isalnum() or found in '"\n\r.-+_':
        raise ValueError(f"--separator is {text!r}; give one character, such as --separator ';', or --separator tab.")
    return found


def _is_folder(path: Path) -> str:
    """The problem of a folder in the place of a file, and a file in it that may be meant."""
    suffixes = tuple(suffix for found in FORMATS.values() for suffix in found.suffixes)
    with contextlib.suppress(OSError):
        files = sorted(file.name for file in path.iterdir() if without_packing(file.name).lower().endswith(suffixes))
        if files:
            return f"is a folder; name a file, such as {path / files[0]}"
    return "is a folder; name a file"


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
        raise FileProblemError(source.name, _is_folder(source.path))
    if source.path.exists() and not source.path.is_file():
        raise FileProblemError(
            source.name, "is a pipe or a device, and no file; pipe it in and name it -, or write it to a file first"
        )
    try:
        with source.path.open("rb") as file:
            if not file.read(1):
                raise FileProblemError(source.name, EMPTY)
    except FileNotFoundError as error:
        raise FileProblemError(source.name, _no_such_file(source.path)) from error
    except OSError as error:
        raise FileProblemError(source.name, f"cannot be read ({error.strerror}); check that you may read it") from error


def _no_such_file(path: Path) -> str:
    """A file that is not there: those that may be meant."""
    if not path.parent.is_dir():
        return f"there is no such file, and no folder {path.parent}; check the path"
    with contextlib.suppress(OSError):
        others = sorted(file.name for file in path.parent.iterdir())
        return f"there is no such file; check the path{did_you_mean_file(path.name, others)}"
    return "there is no such file; check the path"


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
