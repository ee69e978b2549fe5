"""Sussex-Huawei Locomotion: means of transport, from a phone at the hips; the paper's real stream.

The files of a day have a hundred lines per second: ``Hips_Motion.txt`` the time and 22 measurements, ``Label.txt`` the
time and the activity. A sample is one second: the mean of each measurement. Seconds in which the label changes or is
missing are left out, and so are train and subway, which are not among the paper's six classes.
"""

import os
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from baserate.datasets import Dataset
from baserate.protocols import FloatArray
from baserate_lab.datasets._arrays import Arrays
from baserate_lab.datasets._fetch import DatasetRecipe, Layout, obtain

_CLASSES = ("still", "walking", "run", "bike", "car", "bus")  # labels 1 to 6 of the second column
_MEASUREMENTS = 22  # acceleration, gyroscope, magnetometer, orientation, gravity, linear acceleration, 3 of the air
_RATE = 100
_SOURCE_SHARE = 0.3  # as in the paper: 30,000 samples as source, 70,000 as target
_SECONDS = 600  # read at once: a day has gigabytes


def _days(folder: Path) -> list[Path]:
    """Folders of days (``User1/220617``: day, month, year), sorted by date and user."""
    days = [path.parent for path in folder.glob("User*/*/Label.txt")]
    return sorted(days, key=lambda day: (day.name[4:6], day.name[2:4], day.name[:2], day.parent.name))


def _table(file: TextIO, n_columns: int) -> FloatArray:
    """Read the next lines of a file of numbers."""
    lines = list(islice(file, _SECONDS * _RATE))
    return np.loadtxt(lines, usecols=range(n_columns), ndmin=2) if lines else np.empty((0, n_columns))


def _seconds(day: Path) -> Iterator[tuple[FloatArray, NDArray[Any]]]:
    """Measurements (n, 22) and labels (n,) of the seconds of a day, in parts."""
    with (day / "Hips_Motion.txt").open() as motion_file, (day / "Label.txt").open() as label_file:
        while True:
            motion, label = _table(motion_file, 1 + _MEASUREMENTS), _table(label_file, 2)
            n = min(len(motion), len(label)) // _RATE
            if n == 0:
                return
            motion, label = motion[: n * _RATE], label[: n * _RATE]
            if not np.array_equal(motion[:, 0], label[:, 0]):
                raise ValueError(f"the times in {day / 'Hips_Motion.txt'} and Label.txt are not the same")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # a second without any value is left out below
                means = np.nanmean(motion[:, 1:].reshape(n, _RATE, _MEASUREMENTS), axis=1)
            labels = label[:, 1].reshape(n, _RATE)
            steady = (labels == labels[:, :1]).all(axis=1) & np.isfinite(means).all(axis=1)
            wanted = steady & (labels[:, 0] >= 1) & (labels[:, 0] <= len(_CLASSES))
            yield means[wanted], labels[wanted, 0].astype(np.int64) - 1


def _read(folder: Path) -> Arrays:
    parts = [part for day in _days(folder) for part in _seconds(day)]
    if not parts:
        raise ValueError(f"{folder} holds no day; expected User1/<ddmmyy>/Hips_Motion.txt and Label.txt")
    return {"X": np.concatenate([X for X, _ in parts]), "y": np.concatenate([y for _, y in parts])}


_LAYOUT = Layout(
    ("User1",),
    _read,
    note=", in it User1/<ddmmyy>/Hips_Motion.txt and Label.txt for every day, and so on for User2, ...: its makers "
    "give it away themselves, by request",
)
RECIPE = DatasetRecipe("shl", page="http://www.shl-dataset.org/download/", ways=((_LAYOUT, None),))


def load(folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the data: the first 30 % of all seconds as source, the rest as target, in time order.

    Parameters
    ----------
    folder : path, optional
        Folder of the folders ``User1``, ``User2``, ... of the data set (or its preview), each with a folder per day.
        Default: the data read before. The data set is available only from its authors, on request.

    Returns
    -------
    Dataset
        Rows of 22 means, days in the order of their dates.
    """
    arrays = obtain(RECIPE, folder)
    n = round(len(arrays["y"]) * _SOURCE_SHARE)
    return Dataset(
        arrays["X"][:n],
        arrays["y"][:n],
        arrays["X"][n:],
        arrays["y"][n:],
        class_names=_CLASSES,
        provenance=(
            "Sussex-Huawei Locomotion: means of 22 measurements of the phone at the hips over one second; the first "
            "30 % as source, the rest as target. People and roads differ, so p(x|y) moves, too."
        ),
        in_time_order=True,
    )
