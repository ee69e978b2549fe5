"""Image files as arrays of bytes; the only module that uses Pillow."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def _pillow() -> Any:
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        if error.name != "PIL":
            raise
        raise ModuleNotFoundError("this needs Pillow; run: pip install 'baserate-lab'", name="PIL") from error
    return Image


def read_image(path: Path) -> NDArray[np.uint8]:
    """Read an image of any mode and size as (height, width, 3) bytes."""
    Image = _pillow()
    limit, Image.MAX_IMAGE_PIXELS = (
        Image.MAX_IMAGE_PIXELS,
        None,
    )  # no size limit: the checksum of the whole set is checked later
    try:
        with Image.open(path, formats=("PNG", "JPEG")) as image:  # readers of rare formats are seldom looked at
            return np.array(image.convert("RGB"))
    except SyntaxError as error:  # Pillow raises this for a broken PNG
        raise ValueError(f"{path} is damaged: {error}") from error
    finally:
        Image.MAX_IMAGE_PIXELS = limit


def read_class_folders(
    folder: Path, classes: Sequence[str], side: int, suffix: str
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Read square images from one folder per class, sorted by class and name; returns images and classes."""
    paths = [sorted((folder / name).glob(f"*{suffix}")) for name in classes]
    for name, found in zip(classes, paths, strict=True):
        if not found:
            raise ValueError(f"{folder / name} holds no {suffix} files")
    y = np.repeat(np.arange(len(classes), dtype=np.uint8), [len(found) for found in paths])
    X = np.empty((len(y), side, side, 3), dtype=np.uint8)
    for i, path in enumerate(path for found in paths for path in found):
        image = read_image(path)
        if image.shape != X.shape[1:]:
            raise ValueError(f"{path} has {image.shape[1]} x {image.shape[0]} pixels, expected {side} x {side}")
        X[i] = image
    return X, y
