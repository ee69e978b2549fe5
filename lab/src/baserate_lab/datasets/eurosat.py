"""EuroSAT: pictures of land use in Europe by the satellite Sentinel-2, ten kinds, 64 x 64 pixels, 27,000 images."""

import os
from pathlib import Path

from baserate.datasets import Dataset
from baserate_lab.datasets._arrays import Arrays
from baserate_lab.datasets._fetch import DatasetRecipe, Layout, obtain
from baserate_lab.datasets._images import read_class_folders
from baserate_lab.datasets._mixing import mixed
from baserate_lab.datasets._official import Download, Published

_SIDE = 64
_TARGET_SHARE = 10 / 27  # 10,000 images, as in the paper
_CLASSES = (
    "AnnualCrop", "Forest", "HerbaceousVegetation", "Highway", "Industrial", "Pasture", "PermanentCrop", "Residential",
    "River", "SeaLake",
)  # fmt: skip


def _read(folder: Path) -> Arrays:
    X, y = read_class_folders(folder, _CLASSES, _SIDE, ".jpg")
    return {"X": X, "y": y}


_OFFICIAL = Published(
    "https://zenodo.org/records/7711810/files/EuroSAT_RGB.zip", "md5:f46e308c4d50d4bf32fedad2d3d62f3b"
)
RECIPE = DatasetRecipe(
    "eurosat",
    page="https://github.com/phelber/EuroSAT",
    ways=((Layout(_CLASSES, _read), Download((_OFFICIAL,))),),
)


def load(folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the data, drawn at random but always the same: 17,000 images as source, 10,000 as target.

    Parameters
    ----------
    folder : path, optional
        Folder of the ten folders of JPEG files of the colour version. Default: its archive (95 MB) is fetched once and
        cached.

    Returns
    -------
    Dataset
        Bytes of shape (n, 64, 64, 3).
    """
    arrays = obtain(RECIPE, folder)
    X, y = mixed(arrays["X"], arrays["y"])
    n = round(len(y) * _TARGET_SHARE)
    return Dataset(
        X[n:],
        y[n:],
        X[:n],
        y[:n],
        class_names=_CLASSES,
        provenance="EuroSAT (Helber, Bischke, Dengel, Borth), colour version, split at random.",
    )
