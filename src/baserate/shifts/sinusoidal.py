"""Sinusoidal shift (Sin)."""

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import FloatArray
from baserate.shifts._base import MixtureShift, period


class Sinusoidal(MixtureShift):
    """Swings to the second class mix and back in half sine waves: alpha_t = sin(pi (t mod L) / L).

    Parameters
    ----------
    length : int, optional
        L, the length of one swing. Default: floor(sqrt(T)).
    first, second : (k,) arrays, optional
        The two class mixes. Default: uniform, and class 0 alone.

    Examples
    --------
    >>> Sinusoidal(length=2).path(3, 2)
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
        swing = period(self.length, n_rounds)
        return np.asarray(np.sin(np.pi * (np.arange(n_rounds) % swing) / swing))
