"""Methods as in the published runs, where these differ from the stated algorithms. Used only to reproduce the paper."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from baserate.adapters import ATLAS, ROGD, UOGD
from baserate.adapters._sightings import sighting
from baserate.adapters.atlas import doubling_steps
from baserate.adapters.rogd import class_gradients
from baserate.protocols import Evidence, FloatArray, IntArray, Tracker
from baserate.simplex import project
from baserate.state import Component
from baserate.state.declarations import Maybe, Part, Saves, vectors


class Lagged(Component, saved_as="lab_lagged"):
    """Tracker that receives each estimate one round late, as FLH-FTL did in the published runs."""

    saves = Saves(params={"tracker": Part(Tracker, {"k": "k"})}, state={"_waiting": Maybe(vectors("k"))})

    def __init__(self, tracker: Tracker) -> None:
        self.tracker = tracker
        self._waiting: FloatArray | None = None

    def predict(self) -> FloatArray:
        """Prediction from all estimates but the last."""
        return self.tracker.predict()

    def update(self, z: ArrayLike, evidence: Evidence | None = None) -> None:
        """Update with the previous estimate, and hold this one back."""
        if self._waiting is not None:
            self.tracker.update(self._waiting)
        self._waiting = np.array(z, dtype=np.float64)

    def reset(self) -> None:
        """Forget all estimates."""
        self.tracker.reset()
        self._waiting = None


class PublishedROGD(ROGD, saved_as="lab_published_rogd"):
    """ROGD as in the published runs.

    It differs from the stated algorithm in three ways. The gradient uses the joint confusion matrix. A class whose
    prior is near 0 does not contribute, so it hardly recovers. The gradient is not clipped; if it is longer than 10,
    finite differences of the loss replace it.
    """

    saves = ROGD.saves

    _LEAST, _LONGEST, _WIDTH = 1e-7, 10.0, 0.01
    _COEFFICIENTS = (1.5, -0.6, 0.1)  # of the differences over one, two and three widths

    def _observe(self, proba: FloatArray, labels: IntArray | None) -> None:
        if len(proba) == 0:
            return
        weights = sighting(self.marginals_, proba, labels) * self._sizes / self._sizes.sum()
        heard = np.where(self._prior >= self._LEAST, weights, 0.0)
        gradient = heard @ class_gradients(self._prior, self._ratios, self._sizes)
        if np.linalg.norm(gradient) > self._LONGEST:
            gradient = self._differences(weights)
        k = len(self._prior)
        step = np.sqrt(2.0 / (self.horizon or 1)) / (self.lipschitz_ or 1.0)
        self._prior = project((self._prior - step * gradient)[np.newaxis], np.zeros(k), np.ones(k))[0]

    def _differences(self, weights: FloatArray) -> FloatArray:
        k = len(self._prior)
        steps = [(j, sign) for j in (1, 2, 3) for sign in (1, -1)]
        slopes = np.zeros(k)
        for j, sign in steps:
            losses = [self._loss(self._prior + sign * j * self._WIDTH * np.eye(k)[m], weights) for m in range(k)]
            slopes += sign * self._COEFFICIENTS[j - 1] * np.array(losses) / (2 * self._WIDTH * j)
        return slopes

    def _loss(self, prior: FloatArray, weights: FloatArray) -> float:
        labels = np.repeat(np.arange(len(prior)), self._sizes)
        total = self._ratios @ prior
        own = self._ratios[np.arange(len(labels)), labels] * prior[labels]
        right = np.divide(own, total, out=np.zeros_like(own), where=total != 0)
        return float(weights @ (1 - np.bincount(labels, right) / self._sizes))


class _OnTheSphere:
    """Projection of the weights to their trained norm after every step, not only when they leave the ball.

    Intercepts keep their trained values: only weights are updated.
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


class PublishedUOGD(_OnTheSphere, UOGD, saved_as="lab_published_uogd"):
    """UOGD as in the published runs."""

    saves = UOGD.saves


class PublishedATLAS(_OnTheSphere, ATLAS, saved_as="lab_published_atlas"):
    """ATLAS as in the published runs, except that it does not use a batch before predicting it."""

    saves = ATLAS.saves


def published_step_sizes(coef: FloatArray, lipschitz: float, sigma: float, horizon: int) -> dict[str, Any]:
    """Step sizes of UOGD and ATLAS in the published runs.

    Parameters
    ----------
    coef : (k, d) array
        The last layer as trained.
    lipschitz : float
        Norm of the longest gradient found with random weights and samples.
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
