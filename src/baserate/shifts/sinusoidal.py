"""Sinusoidal shift (Sin): half sine waves between two class mixes."""

import numpy as np

from baserate.protocols import FloatArray
from baserate.shifts._shift import SAVED_PERIODIC, PeriodicShift


class Sinusoidal(PeriodicShift, saved_as="sinusoidal"):
    """Moves to the second class mix and back in half sine waves: alpha_t = sin(pi (t mod L) / L).

    Parameters
    ----------
    length : int, optional
        L, the length of one half wave. Default: floor(sqrt(T)).
    first, second : (k,) arrays, optional
        The two class mixes. Default: uniform, and class 0 alone.

    Examples
    --------
    >>> Sinusoidal(length=2).path(3, 2)
    array([[0.5, 0.5],
           [1. , 0. ],
           [0.5, 0.5]])
    """

    saves = SAVED_PERIODIC

    def _alpha(self, n_rounds: int, rng: np.random.Generator) -> FloatArray:
        length = self._period(n_rounds)
        return np.asarray(np.sin(np.pi * (np.arange(n_rounds) % length) / length))
