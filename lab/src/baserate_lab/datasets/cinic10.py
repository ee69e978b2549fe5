"""CINIC-10: CIFAR-10's ten classes with ImageNet images added, 32 x 32 pixels, 90,000 as source, 90,000 as target."""

import os
from pathlib import Path

from baserate.datasets import Dataset
from baserate_lab.datasets._arrays import Arrays
from baserate_lab.datasets._fetch import DatasetRecipe, Layout, obtain
from baserate_lab.datasets._images import read_class_folders
from baserate_lab.datasets._mixing import mixed
from baserate_lab.datasets._official import Download, Published
from baserate_lab.datasets.cifar10 import CLASSES

_SIDE = 32


def _read(folder: Path) -> Arrays:
    source_X, source_y = read_class_folders(folder / "train", CLASSES, _SIDE, ".png")
    target_X, target_y = read_class_folders(folder / "test", CLASSES, _SIDE, ".png")
    return {"source_X": source_X, "source_y": source_y, "target_X": target_X, "target_y": target_y}


_OFFICIAL = Published(
    "https://datashare.ed.ac.uk/bitstream/handle/10283/3192/CINIC-10.tar.gz", "md5:6ee4d0c996905fe93221de577967a372"
)
RECIPE = DatasetRecipe(
    "cinic10",
    page="https://datashare.ed.ac.uk/handle/10283/3192",
    ways=((Layout(("train", "test"), _read), Download((_OFFICIAL,))),),
)


def load(folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the data: the training part as source, the test part as target; bytes of shape (n, 32, 32, 3).

    The validation part is left out: a holdout is taken from the source, as for the other data sets.

    Parameters
    ----------
    folder : path, optional
        Folder of the folders ``train`` and ``test`` of the official archive, each with a folder of PNG files per class.
        Default: the archive (650 MB) is fetched once and cached.
    """
    arrays = obtain(RECIPE, folder)
    return Dataset(
        *mixed(arrays["source_X"], arrays["source_y"]),
        *mixed(arrays["target_X"], arrays["target_y"]),
        class_names=CLASSES,
        provenance="CINIC-10 (Darlow, Crowley, Antoniou, Storkey): training part as source, test part as target.",
    )
