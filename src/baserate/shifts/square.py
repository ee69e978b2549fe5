"""Square shift (Squ)."""

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import FloatArray
from baserate.shifts._base import MixtureShift, period


class Square(MixtureShift):
    """Switches between two class mixes every `length` rounds.

    Parameters
    ----------
    length : int, optional
        Default: floor(sqrt(T)).
    first, second : (k,) arrays, optional
        The two class mixes. Default: uniform, and class 0 alone.

    Examples
    --------
    >>> Square(length=1).path(3, 2)
    array([[0.5, 0.5],
           [1. , 0. ],
           [0.5, 0.5]])
    """

    def __init__(
        self, *, length: int | None = None, first: ArrayLike | None = None, second: ArrayLike | None = None
    ) -> None:
        self.length = length
        self.first = first
        self.second = second

    def _alpha(self, n_rounds: int, rng: np.random.Generator) -> FloatArray:
        return (np.arange(n_rounds) // period(self.length, n_rounds) % 2).astype(np.float64)
