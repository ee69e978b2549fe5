"""Elec2: does the price of electricity in New South Wales rise? Every half hour, May 1996 to December 1998."""

import os

from baserate.datasets import Dataset
from baserate_lab.datasets._fetch import DatasetRecipe, obtain
from baserate_lab.datasets._multiflow import MULTIFLOW, table
from baserate_lab.datasets._third_first import third_first

RECIPE = DatasetRecipe(
    "elec2",
    page="https://www.openml.org/d/151",
    ways=((table("elec.csv"), MULTIFLOW),),
    sha256="a19e163cc30cea18a5218bcf726eefda16780e9fac5c0919804592b223d3955f",
)


def load(folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the data: the first third as source, the rest as target in time order; six numbers per half hour.

    Parameters
    ----------
    folder : path, optional
        Folder of ``elec.csv``. Default: fetched once and cached.
    """
    arrays = obtain(RECIPE, folder)
    return third_first(
        **arrays,
        class_names=("down", "up"),
        provenance=(
            "Elec2 (Harries): time of day, prices, demands and transfer between two states, scaled; the first third as "
            "source, the rest as target. A label is the price against its mean of the last day, and the market was "
            "widened during the time, so p(x|y) moves, too."
        ),
    )
