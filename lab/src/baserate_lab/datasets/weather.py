"""Weather of Bellevue, Nebraska: does it rain? Every day for fifty years, with the seasons' drift."""

import os

from baserate.datasets import Dataset
from baserate_lab.datasets._fetch import DatasetRecipe, obtain
from baserate_lab.datasets._multiflow import MULTIFLOW, table
from baserate_lab.datasets._third_first import third_first

RECIPE = DatasetRecipe(
    "weather",
    page="https://www.ncei.noaa.gov/products/land-based-station",
    ways=((table("weather.csv"), MULTIFLOW),),
    sha256="e39fdc3dbe819d8399552439c5bfd0fdacec44e805f41a24f4f88e292e0447ae",
)


def load(folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the data: the first third as source, the rest as target in time order; eight measurements per day.

    Parameters
    ----------
    folder : path, optional
        Folder of ``weather.csv``. Default: fetched once and cached.
    """
    arrays = obtain(RECIPE, folder)
    return third_first(
        **arrays,
        class_names=("no rain", "rain"),
        provenance=(
            "NOAA weather of Offutt Air Force Base (Elwell, Polikar): temperature, pressure, sight and wind of a day; "
            "the first third as source, the rest as target. Rain in winter is not rain in summer, so p(x|y) moves, too."
        ),
    )
