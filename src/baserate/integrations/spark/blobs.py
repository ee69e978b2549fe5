"""Blobs: a saved object as one run of bytes, which is written and read by few copies.

A blob holds what a state file does, the manifest and the arrays, without the archive around them: each micro-batch
writes and reads all of them, and Spark's state store has checksums of its own. Arrays that become a good deal smaller
are compressed; most of a learned state is digits, and does not.
"""

import json
import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baserate.integrations.spark._pyspark import pyarrow
from baserate.state import Component, loads
from baserate.state.decoding import decoded
from baserate.state.encoding import encoded
from baserate.state.unreadable import UnreadableError

_MAGIC = b"BASERATE"
_BITS = 7  # of each byte: Spark hands bytes from Java to Python as text, in which those from 128 on take twice the room
_BEGIN = len(_MAGIC) + 16  # the number of bytes is written as text
_TRIED = 16_384  # bytes of an array that are compressed to see whether all of it should be
_SMALL = 512  # bytes of an array that is left as it is
_WORTH = 0.88  # part that is left of what is compressed, at most
_MOST = 256  # times as many bytes as a blob has, of its arrays together: LZ4 itself can do no more
_ALIGNED = 8
_NARROW = [np.dtype(kind) for kind in ("u1", "u2", "u4")]  # whole numbers of eight bytes, which need fewer


def pack(obj: Component) -> bytes:
    """Return an object as a blob; equal states have equal bytes."""
    manifest, arrays = encoded(obj)
    described, parts = [], []
    for array in arrays:
        narrow, least = _narrowed(array)
        data, whole = _stored(narrow)
        described.append([array.dtype.str, list(array.shape), narrow.dtype.str, least, len(data), whole])
        parts += [data, bytes(-len(data) % _ALIGNED)]
    head = json.dumps([manifest, described]).encode()
    head += b" " * (-len(head) % _ALIGNED)
    return _in_seven_bits(b"".join([len(head).to_bytes(_ALIGNED, "little"), head, *parts]))


def unpack(blob: bytes, name: str) -> Any:
    """Return the object of a blob, or of a state file, which blobs were before: as it is, or compressed."""
    if blob[: len(_MAGIC)] == _MAGIC:
        return decoded(lambda: _read(_in_eight_bits(blob)), name)
    if blob[:2] != b"PK":
        blob = pyarrow().CompressedInputStream(pyarrow().BufferReader(blob), "lz4").read()
    return loads(blob, name=name)


def _narrowed(array: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], int]:
    """Return whole numbers less the least of them, in as few bytes as they need, and the least; others as they are."""
    if array.dtype != np.int64 or not array.size:
        return array, 0
    least = int(array.min())
    kind = np.min_scalar_type(int(array.max()) - least)
    return (array - least).astype(kind) if kind.itemsize < 8 else array, least if kind.itemsize < 8 else 0


def _stored(array: np.ndarray[Any, Any]) -> tuple[Any, bool]:
    """Return the bytes that are stored of an array, and whether they are as they were."""
    data = array.reshape(-1).view(np.uint8) if array.size else np.empty(0, dtype=np.uint8)
    if len(data) < _SMALL or len(_compressed(data[:_TRIED])) > _WORTH * min(len(data), _TRIED):
        return data.data, True
    return _compressed(data), False


def _compressed(data: np.ndarray[Any, Any]) -> bytes:
    out: bytes = _codec().compress(data, asbytes=True)
    return out


@cache
def _codec() -> Any:
    return pyarrow().Codec("lz4_raw")


def _in_seven_bits(data: bytes) -> bytes:
    """Return bytes below 128: their number, the lower bits of all, and the highest bits, of seven bytes in one."""
    size, places = len(data), -(-len(data) // _BITS)
    out = np.zeros(_BEGIN + (_BITS + 1) * places, dtype=np.uint8)
    out[:_BEGIN] = np.frombuffer(b"%s%16d" % (_MAGIC, size), dtype=np.uint8)
    given, highest = np.frombuffer(data, dtype=np.uint8), out[_BEGIN + _BITS * places :]
    np.bitwise_and(given, 127, out=out[_BEGIN : _BEGIN + size])
    for row in range(_BITS):
        part = given[row * places : (row + 1) * places]
        highest[: len(part)] |= part >> 7 << row
    return out.tobytes()


def _in_eight_bits(blob: bytes) -> NDArray[np.uint8]:
    """Return the bytes that `_in_seven_bits` was given."""
    size, folded = int(blob[len(_MAGIC) : _BEGIN]), np.frombuffer(blob, dtype=np.uint8, offset=_BEGIN)
    places = -(-size // _BITS)
    if size < 0 or len(folded) != (_BITS + 1) * places:
        raise UnreadableError(f"holds {size} bytes in {len(folded)}")
    out, highest = np.empty(size, dtype=np.uint8), folded[_BITS * places :]
    for row in range(_BITS):
        part = out[row * places : (row + 1) * places]
        np.bitwise_or(folded[row * places : row * places + len(part)], highest[: len(part)] >> row << 7, out=part)
    return out


def _read(data: NDArray[np.uint8]) -> tuple[Any, list[np.ndarray[Any, Any]]]:
    """Return the manifest of a blob, and its arrays, which share its memory where they can."""
    end = _ALIGNED + int.from_bytes(data[:_ALIGNED].tobytes(), "little")
    manifest, described = json.loads(data[_ALIGNED:end].tobytes())
    arrays, at, total = [], end, 0
    for kind, shape, narrow, least, size, whole in described:
        dtype, held = np.dtype(kind), np.dtype(narrow)
        n = math.prod(shape) * held.itemsize
        total += math.prod(shape) * dtype.itemsize
        if dtype.kind not in "fiubU" or not dtype.isnative or dtype.hasobject or min(shape, default=0) < 0:
            raise UnreadableError(f"holds an array of {dtype} {shape}, which baserate does not write")
        if held != dtype and (dtype != np.int64 or held not in _NARROW):
            raise UnreadableError(f"holds an array of {dtype} as {held}, which baserate does not write")
        if not 0 <= size <= len(data) - at or total > _MOST * len(data) or (whole and size != n):
            raise UnreadableError(f"holds an array of {size} bytes whose header says {dtype} {shape}")
        stored: Any = data[at : at + size]
        if not whole:
            stored = _codec().decompress(stored, decompressed_size=n)
            if stored.size != n:
                raise UnreadableError(f"holds an array of {stored.size} bytes whose header says {dtype} {shape}")
        array = np.frombuffer(stored, held, math.prod(shape)).reshape(shape)
        arrays.append(array if held == dtype else array.astype(dtype) + np.int64(least))
        at += size + -size % _ALIGNED
    return manifest, arrays
