"""Named arrays: their checksum, and a cache file for them that is written atomically and without pickle."""

import hashlib
import io
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baserate.state import write_atomically

Arrays = dict[str, NDArray[Any]]


class CachedArrays(NamedTuple):
    """Arrays read from a cache file, and their origin."""

    arrays: Arrays
    origin: str


def checksum(arrays: Arrays) -> str:
    """SHA-256 over the names, dtypes, shapes and bytes of arrays; independent of their order."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        digest.update(f"{name} {little.dtype.str} {array.shape}\n".encode())
        digest.update(little.data if little.size else b"")
    return digest.hexdigest()


def write_arrays(path: Path, arrays: Arrays, origin: str) -> None:
    """Write arrays to a file atomically."""
    if any(array.dtype.hasobject for array in arrays.values()):
        raise TypeError("arrays of objects would be pickled; pack texts first")
    members: dict[str, Any] = {"note.sha256": np.array(checksum(arrays)), "note.origin": np.array(origin), **arrays}
    file = io.BytesIO()
    np.savez(file, **members)
    write_atomically(path, file.getvalue())


def read_arrays(path: Path, sha256: str | None) -> CachedArrays | None:
    """Read a file of arrays; None if it is missing or damaged, or if the checksum differs."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        written = str(arrays.pop("note.sha256"))
        origin = str(arrays.pop("note.origin"))
        found = checksum(arrays)
    except Exception:  # a damaged file can raise anything
        return None
    return CachedArrays(arrays, origin) if found == (sha256 or written) else None
