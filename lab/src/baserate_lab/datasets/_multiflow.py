"""The Python package scikit-multiflow, whose version 0.4.1 contains tables of real streams."""

from functools import partial
from pathlib import Path

import numpy as np

from baserate_lab.datasets._arrays import Arrays
from baserate_lab.datasets._fetch import Layout
from baserate_lab.datasets._packages import PipPackage

# Only its wheels contain the data, and they are for older Pythons: no code of the package is used.
MULTIFLOW = PipPackage(
    "scikit-multiflow",
    "0.4.1",
    sha256="17842a0719992871f66f2edd475c3cf947be73d16595cb28d9ec26a79cfc58de",
    options=("--only-binary=:all:", "--python-version=37", "--platform=manylinux1_x86_64"),
)


def read_table(name: str, headings: int, dtype: str, folder: Path) -> Arrays:
    """Read a table below some header lines; the last column is the class."""
    path = folder / name
    table = np.loadtxt(
        path if path.exists() else path.with_name(f"{name}.gz"), delimiter=",", skiprows=headings, ndmin=2
    )
    return {"X": table[:, :-1].astype(dtype), "y": table[:, -1].astype(np.int64)}


def table(name: str, *, headings: int = 1, dtype: str = "float64") -> Layout:
    """Layout of one table in a file, compressed or not; `dtype` is the type of its numbers."""
    return Layout((name,), partial(read_table, name, headings, dtype), suffix=".gz")
