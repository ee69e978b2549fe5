"""Split of a real stream into source and target by time."""

from typing import Any

from numpy.typing import NDArray

from baserate.datasets import Dataset
from baserate.protocols import IntArray


def third_first(X: NDArray[Any], y: IntArray, class_names: tuple[str, ...], provenance: str) -> Dataset:
    """A real stream in time order: the first third as source, the rest as target."""
    third = len(y) // 3
    return Dataset(X[:third], y[:third], X[third:], y[third:], class_names, provenance, in_time_order=True)
