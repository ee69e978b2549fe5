"""RandomWalk: a class mix that moves at random in small steps."""

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import FloatArray
from baserate.shifts._shift import MIX, BaseShift, fits_classes, mix_or_uniform
from baserate.simplex import project
from baserate.state.declarations import Number, Saves
from baserate.validation import check_real


class RandomWalk(BaseShift, saved_as="random_walk"):
    """A Gaussian random walk, projected back onto the simplex after every step.

    Parameters
    ----------
    scale : float
        Standard deviation of a step in each class.
    start : (k,) array, optional
        The first round's class mix. Default: uniform.

    Examples
    --------
    >>> RandomWalk(scale=0.1).path(3, 2, rng=0).round(2)
    array([[0.5 , 0.5 ],
           [0.53, 0.47],
           [0.48, 0.52]])
    """

    saves = Saves(params={"scale": Number(0.0, 1e6), "start": MIX}, check=fits_classes)

    def __init__(self, *, scale: float = 0.02, start: ArrayLike | None = None) -> None:
        self.scale = scale
        self.start = start

    def _path(self, n_rounds: int, n_classes: int, rng: np.random.Generator) -> FloatArray:
        scale = check_real(self.scale, "scale", 0.0, 1e6)
        steps = scale * rng.standard_normal((n_rounds, n_classes))
        path = np.empty((n_rounds, n_classes))
        path[0] = mix_or_uniform(self.start, n_classes, "start")
        lower, upper = np.zeros(n_classes), np.ones(n_classes)
        for t in range(1, n_rounds):
            path[t] = project((path[t - 1] + steps[t])[np.newaxis], lower, upper)[0]
        return path
