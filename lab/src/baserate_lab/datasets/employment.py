"""Employment in Massachusetts: does a person have a job? Answers to the US census' yearly survey, 2015 to 2018."""

import os
from pathlib import Path

import numpy as np

from baserate.datasets import Dataset
from baserate.frames import no_panic, polars
from baserate_lab.datasets._arrays import Arrays
from baserate_lab.datasets._fetch import DatasetRecipe, Layout, obtain
from baserate_lab.datasets._packages import PipPackage

_SOURCE, _TARGET, _TARGET_LABELS = (f"employment_MA_{part}.pq" for part in ("reference", "analysis", "analysis_target"))
_FEATURES = (
    "AGEP", "SCHL", "MAR", "RELP", "DIS", "ESP", "CIT", "MIG", "MIL", "ANC", "NATIVITY", "DEAR", "DEYE", "DREM", "SEX",
    "RAC1P",
)  # fmt: skip


def _read(folder: Path) -> Arrays:
    """Read the answers, numbers that are stored as text; rows of a year stay in the order of the file."""
    pl = polars()
    try:
        with no_panic():
            source, target, labels = (pl.read_parquet(folder / name) for name in (_SOURCE, _TARGET, _TARGET_LABELS))
            if not target["id"].equals(labels["id"]):
                raise ValueError(f"{_TARGET_LABELS} has labels of other rows than those of {_TARGET}")
            arrays: Arrays = {}
            for part, table in (("source", source), ("target", target.with_columns(labels["employed"]))):
                table = table.sort("year", maintain_order=True)
                numbers = table.select(pl.col(_FEATURES).cast(pl.String).cast(pl.Float64))
                arrays[f"{part}_X"] = np.ascontiguousarray(numbers.to_numpy())
                arrays[f"{part}_y"] = table["employed"].cast(pl.Int64).to_numpy()
            return arrays
    except pl.exceptions.PolarsError as error:
        raise ValueError(str(error)) from error


RECIPE = DatasetRecipe(
    "employment",
    page="https://github.com/socialfoundations/folktables",
    ways=(
        (
            Layout((_SOURCE, _TARGET, _TARGET_LABELS), _read),
            # The data are the same for every Python; no code of the package is used.
            PipPackage(
                "nannyml",
                "0.13.1",
                sha256="cf5f4a33489834ae6773cb1baa33a0f98c0a3ee6ed9b43049478b25ce22fe869",
                options=("--ignore-requires-python",),
            ),
        ),
    ),
    sha256="380965474db19694a58303dc8c5da1d98b496118bf76908fad0f9a36b205947e",
)


def load(folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the data: answers of 2015 as source, of 2016 to 2018 as target, year by year; sixteen numbers per person.

    The files are read by polars.

    Parameters
    ----------
    folder : path, optional
        Folder of ``employment_MA_reference.pq``, ``employment_MA_analysis.pq`` and
        ``employment_MA_analysis_target.pq``. Default: fetched once and cached.
    """
    arrays = obtain(RECIPE, folder)
    return Dataset(
        arrays["source_X"],
        arrays["source_y"],
        arrays["target_X"],
        arrays["target_y"],
        class_names=("not employed", "employed"),
        provenance=(
            "American Community Survey of Massachusetts (US Census Bureau; task by Ding, Hardt, Miller, Schmidt, "
            "Folktables; files by NannyML): 2015 as source, 2016 to 2018 as target. Years are in order; within a year "
            "the order is the file's. It has people in institutions and other group quarters among all others until "
            "2016, last in 2017 and first in 2018. Few of them have a job, and they are others than those at home who "
            "have none, so p(x|y) moves, too."
        ),
        in_time_order=True,
    )
