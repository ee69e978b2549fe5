"""Where the published runs deviate from the algorithms as stated, so that their numbers can be met; nowhere else."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from baserate.adapters import ATLAS, UOGD
from baserate.adapters.atlas import doubling_steps
from baserate.protocols import Evidence, FloatArray, Tracker
from baserate.state import Component


class Lagged(Component):
    """A tracker that hears of each sighting one round late, as FLH-FTL did in the published runs."""

    def __init__(self, tracker: Tracker) -> None:
        self.tracker = tracker
        self._waiting: FloatArray | None = None

    def predict(self) -> FloatArray:
        """What the tracker predicts from all sightings but the last."""
        return self.tracker.predict()

    def update(self, z: ArrayLike, evidence: Evidence | None = None) -> None:
        """Hand the previous sighting on, and keep this one."""
        if self._waiting is not None:
            self.tracker.update(self._waiting)
        self._waiting = np.array(z, dtype=np.float64)

    def reset(self) -> None:
        """Forget every sighting."""
        self.tracker.reset()
        self._waiting = None


class _OnTheSphere:
    """The weights are put back to their trained length after every step, not only when they leave the ball.

    Intercepts stay as they were trained: only weights were moved.
    """

    source_head_: FloatArray
    intercept: ArrayLike | None

    def _projected(self, heads: FloatArray) -> FloatArray:
        n_weights = heads.shape[2] - (self.intercept is not None)
        weights, trained = heads[:, :, :n_weights], self.source_head_
        lengths = np.sqrt((weights**2).sum(axis=(1, 2), keepdims=True))
        moved = np.repeat(trained[np.newaxis], len(heads), axis=0)
        moved[:, :, :n_weights] = weights * (np.linalg.norm(trained[:, :n_weights]) / lengths)
        return moved


class PublishedUOGD(_OnTheSphere, UOGD):
    """UOGD as run."""


class PublishedATLAS(_OnTheSphere, ATLAS):
    """ATLAS as run, but for its look at the batch that it is about to predict."""


def published_step_sizes(coef: FloatArray, lipschitz: float, sigma: float, horizon: int) -> dict[str, Any]:
    """The step size of UOGD and the step sizes of ATLAS as run.

    Parameters
    ----------
    coef : (k, d) array
        The last layer as trained.
    lipschitz : float
        The longest gradient that was met when trying random weights and samples.
    sigma : float
        The least eigenvalue of the joint confusion matrix.
    horizon : int
        The number of rounds.
    """
    length = float(np.linalg.norm(coef))
    return {
        "step_size": 2 * length / (lipschitz * np.sqrt(horizon)),
        "step_sizes": doubling_steps(2 * length * sigma / (2 * lipschitz), len(coef), horizon),
    }
