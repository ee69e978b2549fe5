"""Thrift's compact protocol, as far as the footer of a Parquet file uses it: read, change, write again.

No library joins Parquet files without decoding them, and a run that goes on where it was killed has to. A value is kept
with its wire type, so that what is not understood is written as it was read. Nothing here knows what fields mean.
"""

import struct
from typing import Any, NamedTuple

STOP, TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(13)


class Value(NamedTuple):
    """A value and its wire type; of a list, the items' type too."""

    kind: int
    value: Any
    items: int = STOP


_SMALL = [bytes([number]) for number in range(0x80)]

Struct = dict[int, Value]
"""Fields by number."""


class Reader:
    """Reads values from bytes, front to back."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self) -> Struct:
        """The fields of a struct."""
        fields: Struct = {}
        number = 0
        while (head := self._byte()) != STOP:
            kind, step = head & 0x0F, head >> 4
            number = number + step if step else _signed(self._varint())
            fields[number] = self._value(kind)
        return fields

    def _value(self, kind: int) -> Value:
        if kind in (I16, I32, I64):
            return Value(kind, _signed(self._varint()))
        if kind in (TRUE, FALSE):
            return Value(kind, None)
        if kind == BYTE:
            return Value(kind, self._byte())
        if kind == DOUBLE:
            return Value(kind, self._take(8))
        if kind == BINARY:
            return Value(kind, self._take(self._varint()))
        if kind in (LIST, SET):
            head = self._byte()
            items, size = head & 0x0F, head >> 4
            size = self._varint() if size == 15 else size
            # A boolean is part of its field's head in a struct, and a byte of its own in a list.
            found = [Value(items, self._byte()) if items in (TRUE, FALSE) else self._value(items) for _ in range(size)]
            return Value(kind, found, items)
        if kind == STRUCT:
            return Value(kind, self.struct())
        raise ValueError(f"a footer with a value of the unknown type {kind}")

    def _byte(self) -> int:
        if self._at >= len(self._data):
            raise ValueError("a footer that ends too early")
        self._at += 1
        return self._data[self._at - 1]

    def _take(self, n: int) -> bytes:
        taken = self._data[self._at : self._at + n]
        if len(taken) != n:
            raise ValueError("a footer that ends too early")
        self._at += n
        return taken

    def _varint(self) -> int:
        number, shift = self._byte(), 7
        if number < 0x80:
            return number
        number &= 0x7F
        while True:
            byte = self._byte()
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7


def write_struct(fields: Struct) -> bytes:
    """The bytes of a struct."""
    parts = []
    last = 0
    for number, value in sorted(fields.items()):
        step = number - last
        parts.append(bytes([step << 4 | value.kind]) if 0 < step < 16 else bytes([value.kind]) + _zigzag(number))
        parts.append(_write(value))
        last = number
    return b"".join(parts) + b"\0"


def list_head(items: int, size: int) -> bytes:
    """The bytes before the items of a list."""
    return bytes([size << 4 | items]) if size < 15 else bytes([0xF0 | items]) + _varint(size)


def _write(value: Value) -> bytes:
    kind, content = value.kind, value.value
    if kind in (TRUE, FALSE):
        return b""
    if kind == BYTE:
        return bytes([content])
    if kind in (I16, I32, I64):
        return _zigzag(content)
    if kind == DOUBLE:
        return bytes(content)
    if kind == BINARY:
        return _varint(len(content)) + bytes(content)
    if kind in (LIST, SET):
        flags = value.items in (TRUE, FALSE)
        items = [bytes([item.value]) if flags else _write(item) for item in content]
        return list_head(value.items, len(items)) + b"".join(items)
    return write_struct(content)


def _signed(number: int) -> int:
    return number >> 1 ^ -(number & 1)


def _zigzag(number: int) -> bytes:
    return _varint(number << 1 if number >= 0 else (-number << 1) - 1)


def _varint(number: int) -> bytes:
    if number < 0x80:
        return _SMALL[number]
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def length_of_footer(tail: bytes) -> int:
    """The length of a Parquet file's footer, from the file's last 8 bytes; 0 if they are not those of one."""
    return struct.unpack("<I", tail[:4])[0] if len(tail) == 8 and tail[4:] == b"PAR1" else 0
