"""Shuffling of files that are sorted by class, so that a slice of rows is a fair sample."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from baserate.protocols import IntArray


def mixed(X: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], IntArray]:
    """Shuffle samples and classes, always in the same way."""
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order].astype(np.int64)
