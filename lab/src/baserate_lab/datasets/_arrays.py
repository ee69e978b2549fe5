"""Named arrays: their checksum, and one file of the cache that holds them; no pickle, written whole or not at all."""

import hashlib
import io
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baserate.state import write_atomically

Arrays = dict[str, NDArray[Any]]


class Kept(NamedTuple):
    """What a file of the cache holds, and the folder or way it came from."""

    arrays: Arrays
    origin: str


def checksum(arrays: Arrays) -> str:
    """SHA-256 over the names, dtypes, shapes and bytes of arrays, whatever order they are named in."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        digest.update(f"{name} {little.dtype.str} {array.shape}\n".encode())
        digest.update(little.data if little.size else b"")
    return digest.hexdigest()


def write_arrays(path: Path, arrays: Arrays, origin: str) -> None:
    """Write arrays to a file that appears complete, or not at all."""
    if any(array.dtype.hasobject for array in arrays.values()):
        raise TypeError("arrays of objects would be pickled; pack texts first")
    members: dict[str, Any] = {"note.sha256": np.array(checksum(arrays)), "note.origin": np.array(origin), **arrays}
    file = io.BytesIO()
    np.savez(file, **members)
    write_atomically(path, file.getvalue())


def read_arrays(path: Path, sha256: str | None) -> Kept | None:
    """What a file holds; None if there is no such file, or it is not what was written, or has another checksum."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        written = str(arrays.pop("note.sha256"))
        origin = str(arrays.pop("note.origin"))
        found = checksum(arrays)
    except Exception:  # a damaged file can trip any part of the reader
        return None
    return Kept(arrays, origin) if found == (sha256 or written) else None
