"""What all parts are shown on: paths of class mixes, and classes that a linear model fits, or does not."""

from collections.abc import Callable

import numpy as np

from baserate.protocols import FloatArray, IntArray
from baserate.shifts import Monotone, Square


def uniform(k: int) -> FloatArray:
    """All classes alike."""
    return np.full(k, 1.0 / k)


def skewed(k: int) -> FloatArray:
    """Class 0 has most, but every class has something: the theorems ask for a least share of each."""
    return np.asarray(0.2 / k + 0.8 * np.eye(k)[0])


PATHS: dict[str, Callable[[int, int], FloatArray]] = {
    "step": lambda n, k: Square(length=n // 2, second=skewed(k)).path(n, k),
    "ramp": lambda n, k: Monotone(second=skewed(k)).path(n, k),
    "steps": lambda n, k: Square(second=skewed(k)).path(n, k),
}
"""From uniform to skewed once, at a stroke or evenly (V is fixed), or back and forth every sqrt(T) rounds."""

FIXED = ("step", "ramp")

# Class by class, the centres of its two clusters; both the same: one cluster, and logistic regression is the truth.
_CENTRES = {
    "well specified": np.array([[[0.0, 0.0]] * 2, [[2.0, 0.0]] * 2, [[0.0, 2.0]] * 2]),
    "misspecified": np.array([[[-2.0, 0.0], [2.0, 1.0]], [[0.0, 0.0]] * 2, [[0.0, 3.0], [3.0, -2.0]]]),
}
N_CLASSES = 3


def samples(problem: str, y: IntArray, rng: np.random.Generator) -> FloatArray:
    """A point in the plane for each label, Gaussian around the centres of its class, the second in three of ten."""
    cluster = (rng.random(len(y)) < 0.3).astype(int)
    return np.asarray(_CENTRES[problem][y, cluster] + rng.standard_normal((len(y), 2)))
