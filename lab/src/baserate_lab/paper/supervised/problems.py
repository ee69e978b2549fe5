"""Test problems: paths of class mixes, and classes that a linear model can or cannot fit."""

from collections.abc import Callable

import numpy as np

from baserate.protocols import FloatArray, IntArray
from baserate.shifts import Monotone, Square


def uniform(k: int) -> FloatArray:
    """The uniform mix."""
    return np.full(k, 1.0 / k)


def skewed(k: int) -> FloatArray:
    """A mix in which class 0 has most and every class has some, as the theorems require."""
    return np.asarray(0.2 / k + 0.8 * np.eye(k)[0])


PATHS: dict[str, Callable[[int, int], FloatArray]] = {
    "step": lambda n, k: Square(length=n // 2, second=skewed(k)).path(n, k),
    "ramp": lambda n, k: Monotone(second=skewed(k)).path(n, k),
    "steps": lambda n, k: Square(second=skewed(k)).path(n, k),
}
"""Paths from uniform to skewed: once, at once or gradually (V is fixed); or back and forth every sqrt(T) rounds."""

FIXED = ("step", "ramp")

# Centres of the two clusters of each class. If both are the same, logistic regression is the true model.
_CENTRES = {
    "well specified": np.array([[[0.0, 0.0]] * 2, [[2.0, 0.0]] * 2, [[0.0, 2.0]] * 2]),
    "misspecified": np.array([[[-2.0, 0.0], [2.0, 1.0]], [[0.0, 0.0]] * 2, [[0.0, 3.0], [3.0, -2.0]]]),
}
N_CLASSES = 3


def samples(problem: str, y: IntArray, rng: np.random.Generator) -> FloatArray:
    """A point in the plane for each label, Gaussian around a centre of its class: the second with probability 0.3."""
    cluster = (rng.random(len(y)) < 0.3).astype(int)
    return np.asarray(_CENTRES[problem][y, cluster] + rng.standard_normal((len(y), 2)))
