"""No shift over time."""

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import FloatArray
from baserate.state import Component
from baserate.validation import check_integer, check_prior


class Constant(Component):
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

    def __init__(self, q: ArrayLike | None = None) -> None:
        self.q = q

    def path(self, n_rounds: int, n_classes: int, rng: int | np.random.Generator | None = None) -> FloatArray:
        """The class mix of each round, (n_rounds, n_classes); nothing about it is random."""
        check_integer(n_rounds, "n_rounds", 1)
        check_integer(n_classes, "n_classes", 2)
        q = np.full(n_classes, 1 / n_classes) if self.q is None else check_prior(self.q, n_classes, "q")
        return np.tile(q, (n_rounds, 1))
