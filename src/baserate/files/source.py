"""Where a stream comes from and in what form: a name on the command line, or ``-`` for standard input."""

import hashlib
import sys
from pathlib import Path
from typing import IO, NamedTuple

from baserate.files.problem import FileProblemError

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
FORMATS = tuple(dict.fromkeys(SUFFIXES.values()))
_SAMPLES, _SAMPLE = 64, 1 << 16


class Source(NamedTuple):
    """A file to read or to write.

    Parameters
    ----------
    name : str
        Its path, or ``-``: standard input or output.
    format : {"csv", "tsv", "parquet", "jsonl"}
        How it is written.
    """

    name: str
    format: str

    @property
    def is_stream(self) -> bool:
        """Whether it is standard input or output."""
        return self.name == "-"

    @property
    def path(self) -> Path:
        """Its path."""
        return Path(self.name)

    @property
    def shown(self) -> str:
        """Its name in messages."""
        return "standard input" if self.is_stream else self.name

    def open(self) -> IO[bytes]:
        """The bytes."""
        return sys.stdin.buffer if self.is_stream else self.path.open("rb")


def named(name: str, format: str | None = None, *, option: str | None = "--format") -> Source:  # noqa: A002
    """A file by its name; its form is told by the suffix where it is not given by an option, if there is one.

    Examples
    --------
    >>> named("today.parquet").format, named("-", "csv").format
    ('parquet', 'csv')
    """
    if format is not None:
        if format not in FORMATS:
            raise ValueError(f"{option} is {format}; choose one of {', '.join(FORMATS)}.")
        return Source(name, format)
    if name == "-":
        return Source(name, "csv")
    found = SUFFIXES.get(Path(name).suffix.lower())
    if found is None:
        ways = f"; name a file that ends in {', '.join(SUFFIXES)}"
        if option is not None:
            ways += f", or say it with {option} ({', '.join(FORMATS)})"
        raise ValueError(f"{name}: its suffix does not say what it is{ways}.")
    return Source(name, found)


def check_readable(source: Source) -> None:
    """Check that there is something to read."""
    if source.is_stream:
        if source.format == "parquet":
            raise FileProblemError(
                "standard input", "Parquet cannot be read from a pipe, its end comes first; give a file, or CSV"
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


def fingerprint(path: Path) -> str:
    """A hash by which a file is known again, whatever it is called: of its size and samples from all over it.

    Files of up to 4 MB are hashed as a whole.
    """
    found = hashlib.sha256()
    with path.open("rb") as file:
        size = file.seek(0, 2)
        found.update(str(size).encode())
        step = max((size - _SAMPLE) // (_SAMPLES - 1), _SAMPLE)
        for start in range(0, size, step):
            file.seek(min(start, max(size - _SAMPLE, 0)) if size > _SAMPLES * _SAMPLE else start)
            found.update(file.read(_SAMPLE))
    return found.hexdigest()
