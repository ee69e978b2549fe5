"""Square shift (Squ): periodic switches between two class mixes."""

import numpy as np

from baserate.protocols import FloatArray
from baserate.shifts._shift import SAVED_PERIODIC, PeriodicShift


class Square(PeriodicShift, saved_as="square"):
    """Switches between two class mixes every `length` rounds.

    Parameters
    ----------
    length : int, optional
        Number of rounds between switches. Default: floor(sqrt(T)).
    first, second : (k,) arrays, optional
        The two class mixes. Default: uniform, and class 0 alone.

    Examples
    --------
    >>> Square(length=1).path(3, 2)
    array([[0.5, 0.5],
           [1. , 0. ],
           [0.5, 0.5]])
    """

    saves = SAVED_PERIODIC

    def _alpha(self, n_rounds: int, rng: np.random.Generator) -> FloatArray:
        return (np.arange(n_rounds) // self._period(n_rounds) % 2).astype(np.float64)
