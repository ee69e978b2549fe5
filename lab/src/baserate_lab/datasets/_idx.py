"""The idx format of MNIST and Fashion-MNIST: a magic number, the sizes, then bytes."""

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baserate.datasets import Dataset
from baserate_lab.datasets._arrays import Arrays
from baserate_lab.datasets._fetch import Layout

_BYTES = 0x08  # the only type in these data sets


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read one file, with or without ``.gz``; `path` is given without it."""
    raw = path.read_bytes() if path.exists() else gzip.decompress(path.with_name(f"{path.name}.gz").read_bytes())
    if len(raw) < 4 or raw[:2] != b"\0\0" or raw[2] != _BYTES:
        raise ValueError(f"{path.name} is not an idx file of bytes")
    start = 4 + 4 * raw[3]
    shape = struct.unpack_from(f">{raw[3]}I", raw, 4) if len(raw) >= start else ()
    if len(raw) - start != np.prod(shape, dtype=np.int64):
        raise ValueError(f"{path.name} is cut short, or too long")
    return np.frombuffer(raw, dtype=np.uint8, offset=start).reshape(shape)


def _read(folder: Path) -> Arrays:
    return {name: read_idx(folder / file) for name, file in _FILES.items()}


_FILES = {
    "source_X": "train-images-idx3-ubyte",
    "source_y": "train-labels-idx1-ubyte",
    "target_X": "t10k-images-idx3-ubyte",
    "target_y": "t10k-labels-idx1-ubyte",
}
LAYOUT = Layout(tuple(_FILES.values()), _read, suffix=".gz")


def as_dataset(arrays: Arrays, class_names: tuple[str, ...], provenance: str) -> Dataset:
    """Images as rows of numbers in [0, 1], labels as int64."""

    def flattened(images: NDArray[Any]) -> NDArray[np.float32]:
        return images.reshape(len(images), -1).astype(np.float32) / np.float32(255)

    return Dataset(
        flattened(arrays["source_X"]),
        arrays["source_y"].astype(np.int64),
        flattened(arrays["target_X"]),
        arrays["target_y"].astype(np.int64),
        class_names,
        provenance,
    )
