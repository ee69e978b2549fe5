"""Parquet files that grow: row groups are appended as they come, and the footer is written at the end.

Each piece is written by polars as a file of its own, at the end of what is there; then its footer is cut off, and the
offsets in it are moved to where the piece stands. So a run that is killed has lost nothing that it had appended, and
the file does not depend on where it was killed.
"""

import io
import os
from pathlib import Path
from typing import IO, Any, NamedTuple

from baserate.files.formats._thrift import (
    I64,
    LIST,
    STRUCT,
    Reader,
    Struct,
    Value,
    length_of_footer,
    list_head,
    write_struct,
)

MAGIC = b"PAR1"
# Numbers of fields, from the definition of the format.
_N_ROWS, _ROW_GROUPS, _COLUMNS, _GROUP_ROWS, _GROUP_OFFSET, _ORDINAL = 3, 4, 1, 3, 5, 7
_CHUNK_OFFSET, _CHUNK_META, _INDEXES = 2, 3, (4, 5, 6, 7)
_COMPRESSED_SIZE = 7
_META_OFFSETS = (9, 10, 11)  # of the data pages, an index page, a dictionary page
_BLOOM = (14, 15)


class Part(NamedTuple):
    """The footer of a piece: its row groups, how many rows they have, and the rest."""

    groups: list[bytes]
    n_rows: int
    frame: bytes


def read_footer(path: Path, longest: int) -> Struct | None:
    """The footer of a file; None if it is longer than `longest`. ValueError if there is none."""
    with path.open("rb") as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(max(size - 8, 0))
        length = length_of_footer(file.read(8))
        if not 0 < length <= size - 12:
            raise ValueError("it has no footer")
        if length > longest:
            return None
        file.seek(size - 8 - length)
        return Reader(file.read(length)).struct()


def group_rows(footer: Struct) -> list[int]:
    """The number of rows of each row group."""
    return [group.value[_GROUP_ROWS].value for group in footer[_ROW_GROUPS].value]


def group_ends(footer: Struct) -> list[int]:
    """The place in the file at or after which each row group ends."""
    return [
        max((_chunk_end(chunk.value[_CHUNK_META].value) for chunk in group.value[_COLUMNS].value), default=0)
        for group in footer[_ROW_GROUPS].value
    ]


def _chunk_end(meta: Struct) -> int:
    # The dictionary, if there is one, comes before the data, so that this may be too far by its length.
    begin = max(int(meta[field].value) for field in _META_OFFSETS if field in meta)
    return begin + int(meta[_COMPRESSED_SIZE].value)


def take_footer(file: IO[bytes], place: int, n_groups: int) -> Part:
    """Cut the footer off a file that ends with a whole Parquet file.

    Parameters
    ----------
    file : binary file
        Is left at its end.
    place : int
        The place in it where the Parquet file begins.
    n_groups : int
        The number of row groups before it.
    """
    size = file.seek(-8, os.SEEK_END) + 8
    length = length_of_footer(file.read(8))
    file.seek(size - 8 - length)
    footer = Reader(file.read(length)).struct()
    file.truncate(file.seek(size - 8 - length))
    groups = []
    for i, group in enumerate(footer[_ROW_GROUPS].value):
        fields: Struct = group.value
        for column in fields[_COLUMNS].value:
            _move(column.value, (_CHUNK_OFFSET,), place)
            _move(column.value[_CHUNK_META].value, _META_OFFSETS, place)
            # Optional pages beside the data, which hold offsets themselves.
            for number in _INDEXES:
                column.value.pop(number, None)
            for number in _BLOOM:
                column.value[_CHUNK_META].value.pop(number, None)
        _move(fields, (_GROUP_OFFSET,), place)
        if _ORDINAL in fields:
            fields[_ORDINAL] = Value(fields[_ORDINAL].kind, min(n_groups + i, 2**15 - 1))
        groups.append(write_struct(fields))
    return Part(groups, footer[_N_ROWS].value, write_struct(_frame_of(footer)))


def footer_of(frame: bytes, groups: list[bytes], n_rows: int) -> bytes:
    """The end of a file made of parts: its footer, the footer's length, and the magic number."""
    fields = Reader(frame).struct()
    fields[_N_ROWS] = Value(I64, n_rows)
    fields[_ROW_GROUPS] = Value(LIST, [], STRUCT)
    # The row groups are bytes already: they are put where an empty list would stand.
    before = {number: value for number, value in fields.items() if number < _ROW_GROUPS}
    after = {number: value for number, value in fields.items() if number > _ROW_GROUPS}
    head = write_struct(before)[:-1] + bytes([(_ROW_GROUPS - max(before)) << 4 | LIST])
    # Written as if field 4 came before: its number is what the next field's step is counted from.
    tail = write_struct({number - _ROW_GROUPS: value for number, value in after.items()})
    whole = head + list_head(STRUCT, len(groups)) + b"".join(groups) + tail
    return whole + len(whole).to_bytes(4, "little") + MAGIC


def part_of_footer(end: bytes) -> Part:
    """Take the end of a file apart again that `footer_of` has made."""
    footer = Reader(end[:-8]).struct()
    groups = [write_struct(group.value) for group in footer[_ROW_GROUPS].value]
    return Part(groups, footer[_N_ROWS].value, write_struct(_frame_of(footer)))


def _frame_of(footer: Struct) -> Struct:
    """The fields of a footer that are not about its rows."""
    return {number: value for number, value in footer.items() if number not in (_N_ROWS, _ROW_GROUPS)}


def _move(fields: Struct, numbers: tuple[int, ...], shift: int) -> None:
    for number in numbers:
        found: Any = fields.get(number)
        # Writers that have no offset to tell write 0.
        if found is not None and found.value > 0:
            fields[number] = Value(found.kind, found.value + shift)
