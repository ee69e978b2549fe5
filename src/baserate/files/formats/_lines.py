"""Bytes of a text file in blocks of whole lines, so that none has to fit into memory at once."""

import re
from collections.abc import Callable, Iterator
from typing import IO, NamedTuple

from baserate.files.content import WatchedFile
from baserate.files.errors import FileProblemError
from baserate.files.packing import PackedFile

BLOCK = 1 << 23
_LONGEST = 1 << 26
_IN_QUOTES = re.compile(rb'"[^"]*"')
BOM = b"\xef\xbb\xbf"
"""The bytes that some programs begin a file of UTF-8 with."""


class Block(NamedTuple):
    """Whole lines, and where in the file they start."""

    data: bytes
    start: int


def blocks(
    file: IO[bytes] | WatchedFile | PackedFile, start: int, name: str, *, quoted: bool, size: int = BLOCK
) -> Iterator[Block]:
    """Blocks of whole lines from where the file stands to its end.

    Parameters
    ----------
    file : binary file
        The file to read.
    start : int
        The place where it stands.
    name : str
        Its name in messages.
    quoted : bool
        True if a line may go on within quotes, as in CSV.
    size : int
        The number of bytes to read at a time.
    """
    rest = b""
    read = getattr(file, "read1", file.read)  # of a pipe, take what is there
    while more := _more(read, size, name):
        data = rest + more if rest else more
        cut = _end_of_lines(data, quoted)
        if cut == 0 and len(data) > _LONGEST:
            _check_line_ends(data, name)
            raise FileProblemError(
                name,
                f"no line ends within {_LONGEST >> 20} MB after byte {start:,}; look for a quote that is missing, or "
                "for another kind of file",
            )
        if cut:
            yield Block(data[:cut], start)
            start += cut
        rest = data[cut:]
    rest = rest.rstrip(b"\r\n")
    if rest:
        yield Block(rest + b"\n", start)


def guess_rows(file: IO[bytes] | WatchedFile | PackedFile, data: bytes) -> int | None:
    """The number of rows of a file, guessed by the lines of its first block; None for a pipe."""
    if not data or not isinstance(file, WatchedFile | PackedFile):
        return None
    return int(file.guess_size() / len(data) * data.count(b"\n"))


def _more(read: Callable[[int], bytes], size: int, name: str) -> bytes:
    try:
        return read(size)
    except OSError as error:
        raise FileProblemError(name, f"cannot be read ({error.strerror or error})") from error


def _end_of_lines(data: bytes, quoted: bool) -> int:
    """The end of the last whole line, or 0."""
    cut = data.rfind(b"\n") + 1
    if not quoted or b'"' not in data:
        return _without_blank_end(data, cut)
    quotes = data.count(b'"', 0, cut)
    while cut and quotes % 2:
        before = data.rfind(b"\n", 0, cut - 1) + 1
        quotes -= data.count(b'"', before, cut)
        cut = before
    return _without_blank_end(data, cut)


def _without_blank_end(data: bytes, cut: int) -> int:
    """The end of the last line that is not blank: those at the end of a file mean nothing, and this may be it."""
    end = cut
    while end and data[end - 1] in b"\r\n":
        end -= 1
    return data.find(b"\n", end, cut) + 1 if end else 0


def check_text(head: bytes, name: str) -> None:
    """Check from its first bytes that a file is text as it is read here."""
    # What tells a format by its first bytes comes first: such files hold any byte, and zeros, too.
    if head.startswith(b"PAR1"):
        raise FileProblemError(name, "is a Parquet file; rename it to end in .parquet, or add --format parquet")
    if head.startswith((b"\x1f\x8b", b"(\xb5/\xfd")):  # of files, these are unpacked before
        unpack = "gzip -dc" if head[0] == 0x1F else "zstd -dc"
        raise FileProblemError(name, f"is compressed; unpack it before it comes in: {unpack} FILE | baserate ... -")
    if head.startswith(b"PK\x03\x04"):
        raise FileProblemError(
            name, "is compressed: a zip file, or a workbook of a spreadsheet. Save the sheet as CSV, or unpack the file"
        )
    zeros = [head[:4096:2].count(0), head[1:4096:2].count(0)]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or max(zeros) > 20 * min(zeros) + len(head[:4096]) // 4:
        raise FileProblemError(
            name,
            "is not UTF-8 text: it looks like UTF-16; convert it, such as with iconv -f UTF-16 -t UTF-8",
            row=0,
        )
    if sum(zeros):
        raise FileProblemError(
            name, "is not text, but another kind of file; write the model's probabilities as CSV, or as Parquet"
        )
    _check_line_ends(head, name)


def _check_line_ends(data: bytes, name: str) -> None:
    """Refuse lines that end in carriage returns alone, which are one line to everybody else."""
    data = data.rstrip(b"\r\n")
    if b"\n" not in data and b"\r" in data and b"\r" in _IN_QUOTES.sub(b"", data):
        raise FileProblemError(
            name, "its lines end in carriage returns alone; convert them, such as with tr '\\r' '\\n'", row=0
        )
