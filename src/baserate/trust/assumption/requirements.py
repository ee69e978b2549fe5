"""Requirements on a holdout that label shift can be tested with."""

import numpy as np

from baserate.protocols import FloatArray, IntArray
from baserate.trust.assumption.regions import RANGES

FEWEST = 20
"""Number of samples of every class that the holdout must have."""
LEAST_SINGULAR = 0.1
"""A limit of the confusion matrix: below it, classes are too similar to tell what label shift can explain."""
MOST_CLASSES = 300
"""Largest number of classes that is tested; the number of comparisons grows with its square."""


def too_few(sizes: IntArray) -> str:
    """Return why class sizes are too small, or ``""``."""
    few = int(sizes.argmin())
    if sizes[few] < FEWEST:
        return (
            f"the holdout has {sizes[few]} samples of class {few}; testing label shift takes at least {FEWEST} of "
            "every class."
        )
    return ""


def least_singular(holdout: FloatArray) -> float:
    """Return the least singular value of the confusion matrix, given counts by class and cell."""
    k = len(holdout)
    confusion = holdout.reshape(k, k, RANGES).sum(axis=2) / holdout.sum(axis=1, keepdims=True)
    return float(np.linalg.svd(confusion, compute_uv=False)[-1])


def too_alike(holdout: FloatArray) -> str:
    """Return why classes are too similar, given counts by class and cell, or ``""``."""
    least = least_singular(holdout)
    if least < LEAST_SINGULAR:
        return (
            f"the model confuses classes too much (least singular value of the confusion matrix {least:.2g}, at least "
            f"{LEAST_SINGULAR} is needed): almost anything could be a change of the class mix."
        )
    return ""
