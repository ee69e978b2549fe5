"""Monotone shift (Mon): from one class mix to another."""

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import FloatArray
from baserate.shifts._shift import MIX, MixtureShift, fits_classes
from baserate.state.declarations import Saves


class Monotone(MixtureShift, saved_as="monotone"):
    """Moves steadily from one class mix to another: alpha_t = t / T, t = 0..T-1.

    Parameters
    ----------
    first, second : (k,) arrays, optional
        The two class mixes. Default: uniform, and class 0 alone.

    Examples
    --------
    >>> Monotone().path(2, 2)
    array([[0.5 , 0.5 ],
           [0.75, 0.25]])
    """

    saves = Saves(params={"first": MIX, "second": MIX}, check=fits_classes)

    def __init__(self, *, first: ArrayLike | None = None, second: ArrayLike | None = None) -> None:
        self.first = first
        self.second = second

    def _alpha(self, n_rounds: int, rng: np.random.Generator) -> FloatArray:
        return np.arange(n_rounds) / n_rounds
