"""Bernoulli shift (Ber): random switches between two class mixes."""

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import FloatArray
from baserate.shifts._shift import MIX, MixtureShift, fits_classes
from baserate.state.declarations import Maybe, Number, Saves
from baserate.validation import check_real


class Bernoulli(MixtureShift, saved_as="bernoulli"):
    """Switches between two class mixes at random, starting with the first.

    Parameters
    ----------
    flip : float, optional
        Probability of a switch in a round. Default: 1 / sqrt(T). (The paper's text calls it the probability of
        staying; its experiments, and its total variation of order sqrt(T), use it as here.)
    first, second : (k,) arrays, optional
        The two class mixes. Default: uniform, and class 0 alone.

    Examples
    --------
    >>> Bernoulli(flip=1.0).path(3, 2, rng=0)
    array([[0.5, 0.5],
           [1. , 0. ],
           [0.5, 0.5]])
    """

    saves = Saves(
        params={"flip": Maybe(Number(0.0, 1.0)), "first": MIX, "second": MIX},
        check=fits_classes,
    )

    def __init__(
        self, *, flip: float | None = None, first: ArrayLike | None = None, second: ArrayLike | None = None
    ) -> None:
        self.flip = flip
        self.first = first
        self.second = second

    def _alpha(self, n_rounds: int, rng: np.random.Generator) -> FloatArray:
        flip = 1 / np.sqrt(n_rounds) if self.flip is None else check_real(self.flip, "flip", 0.0, 1.0)
        flips = rng.random(n_rounds) < flip
        flips[0] = False
        return (np.cumsum(flips) % 2).astype(np.float64)
