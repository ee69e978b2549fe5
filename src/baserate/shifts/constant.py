"""Constant: no shift over time."""

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import FloatArray
from baserate.shifts._shift import MIX, BaseShift, fits_classes, mix_or_uniform
from baserate.state.declarations import Saves


class Constant(BaseShift, saved_as="constant"):
    """The same class mix in every round.

    Parameters
    ----------
    q : (k,) array, optional
        The class mix. Default: uniform.

    Examples
    --------
    >>> Constant([0.9, 0.1]).path(2, 2)
    array([[0.9, 0.1],
           [0.9, 0.1]])
    """

    saves = Saves(params={"q": MIX}, check=fits_classes)

    def __init__(self, q: ArrayLike | None = None) -> None:
        self.q = q

    def _path(self, n_rounds: int, n_classes: int, rng: np.random.Generator) -> FloatArray:
        return np.tile(mix_or_uniform(self.q, n_classes, "q"), (n_rounds, 1))
