"""Covertype: seven kinds of trees on 581,012 patches of forest, 54 numbers each."""

import os

import numpy as np

from baserate.datasets import Dataset
from baserate_lab.datasets._fetch import DatasetRecipe, obtain
from baserate_lab.datasets._multiflow import MULTIFLOW, table
from baserate_lab.datasets._official import Download, Published

_OFFICIAL = Published(
    "https://ndownloader.figshare.com/files/5976039",
    "sha256:614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
    name="covtype.data.gz",
)
RECIPE = DatasetRecipe(
    "covertype",
    page="https://archive.ics.uci.edu/dataset/31/covertype",
    ways=(
        (table("covtype.data", headings=0, dtype="int16"), Download((_OFFICIAL,))),
        (table("covtype.csv", dtype="int16"), MULTIFLOW),
    ),
    sha256="2eaa103bdc533e19b9f4d6ab0f7e997d93f3bba1f116f534852f474238b5e7e0",
)
_N_SOURCE = 15_120  # the first patches are a sample with equal classes, meant for training
_CLASSES = (
    "spruce/fir", "lodgepole pine", "ponderosa pine", "cottonwood/willow", "aspen", "douglas-fir", "krummholz",
)  # fmt: skip


def load(folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the data: the 15,120 patches meant for training as source, the other 565,892 as target.

    Parameters
    ----------
    folder : path, optional
        Folder of ``covtype.data.gz``. Default: fetched once and cached.
    """
    arrays = obtain(RECIPE, folder)
    X, y = arrays["X"].astype(np.float64), arrays["y"] - 1
    return Dataset(
        X[:_N_SOURCE],
        y[:_N_SOURCE],
        X[_N_SOURCE:],
        y[_N_SOURCE:],
        class_names=_CLASSES,
        provenance=(
            "Covertype (Blackard; UCI): the training and validation patches, of equal classes, as source, the others "
            "as target, in the order of the file. It follows the land, not time, and p(x|y) with it."
        ),
    )
