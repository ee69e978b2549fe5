"""Requirements on a holdout that label shift can be tested with."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from baserate.class_labels import called
from baserate.protocols import FloatArray, IntArray
from baserate.trust.assumption.regions import RANGES

FEWEST = 20
"""Number of samples of every class that the holdout must have."""
LEAST_SINGULAR = 0.1
"""A limit of the confusion matrix: below it, classes are too similar to tell what label shift can explain."""
MOST_CLASSES = 300
"""Largest number of classes that is tested; the number of comparisons grows with its square."""
_HARDLY_EVER = 0.2  # share of any class's rows below which a class is hardly ever the most probable one


def too_few(sizes: IntArray, names: Sequence[Any] | None = None) -> str:
    """Return why class sizes are too small, or ``""``."""
    few = int(sizes.argmin())
    if sizes[few] < FEWEST:
        return (
            f"the holdout has {sizes[few]} samples of class {called(few, names)}; testing label shift takes at least "
            f"{FEWEST} of every class."
        )
    return ""


def least_singular(holdout: FloatArray) -> float:
    """Return the least singular value of the confusion matrix, given counts by class and cell."""
    return float(np.linalg.svd(_confusion(holdout), compute_uv=False)[-1])


def too_alike(holdout: FloatArray, names: Sequence[Any] | None = None) -> str:
    """Return why classes are too similar, given counts by class and cell, or ``""``.

    Examples
    --------
    >>> counts = np.zeros((2, 2, RANGES))
    >>> counts[:, :, 0] = [[999, 1], [48, 2]]
    >>> print(too_alike(counts.reshape(2, -1), ["good", "fraud"]))
    the model's probability of 'fraud' is hardly ever above 50 % (on 4 % of its own rows; ...). Check the model on ...
    """
    confusion = _confusion(holdout)
    least = least_singular(holdout)
    if least >= LEAST_SINGULAR:
        return ""
    figure = f"least singular value of the confusion matrix {least:.2g}, at least {LEAST_SINGULAR} is needed"
    rare = int(np.diagonal(confusion).argmin())
    if len(confusion) > 2:
        why = f"the model confuses classes too often to tell drift from a change of the class mix ({figure})"
    elif confusion[:, rare].max() < _HARDLY_EVER:
        own = f"on {100 * confusion[rare, rare]:.2g} % of its own rows"
        name = f"class {rare}" if names is None else called(rare, names)
        why = f"the model's probability of {name} is hardly ever above 50 % ({own}; {figure})"
    else:
        why = f"the class that the model finds more probable says next to nothing about the true one ({figure})"
    return f"{why}. Check the model on fresh labels now and then."


def _confusion(holdout: FloatArray) -> FloatArray:
    """(k, k) the share of each class's samples, by row, for which each class is the most probable."""
    k = len(holdout)
    shares: FloatArray = holdout.reshape(k, k, RANGES).sum(axis=2) / holdout.sum(axis=1, keepdims=True)
    return shares
