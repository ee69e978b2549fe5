"""Files that training writes. A failed write is reported but not raised, because it must not end the training."""

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baserate.state import write_atomically


def say(line: str) -> None:
    """Print a line on standard error."""
    from rich.console import Console

    Console(stderr=True).print(line, markup=False, highlight=False, soft_wrap=True)


def keep(path: Path, data: bytes) -> None:
    """Write a file atomically, and create its folder; a failure is reported but not raised."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data)
    except OSError as error:
        say(f"baserate: {path} could not be written ({error}); going on without it.")


def as_npz(arrays: dict[str, NDArray[Any]], *, compressed: bool = False) -> bytes:
    """Bytes of an npz archive of arrays; refuses arrays of objects, which would be pickled."""
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(f"{name} has dtype {array.dtype}, which would be pickled; give an array of plain numbers.")
    buffer = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()
