"""The last layer of a trained network as a classifier that goes on learning, for the supervised runs."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from baserate.protocols import FloatArray

_STEP_SIZE, _MOMENTUM, _L2 = 0.1, 0.9, 1e-4  # as the network was trained


class TunedLayer:
    """A softmax layer that goes on from trained weights by gradient descent with momentum, on inputs of the layer.

    It has no parameters to be cloned by: a copy starts from the trained weights, too.

    Parameters
    ----------
    coef, intercept : (k, d) and (k,) arrays
        The layer as trained.
    """

    def __init__(self, coef: FloatArray, intercept: FloatArray) -> None:
        self.weights = np.column_stack([coef, intercept])
        self.velocity = np.zeros_like(self.weights)
        self.classes_ = np.arange(len(coef))

    def partial_fit(self, X: NDArray[Any], y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Take one gradient step on the mean cross entropy of a batch."""
        inputs = _with_ones(X)
        slopes = softmax(inputs @ self.weights.T, axis=1)
        slopes[np.arange(len(inputs)), np.asarray(y)] -= 1
        gradient = slopes.T @ inputs / len(inputs) + _L2 * self.weights
        self.velocity = _MOMENTUM * self.velocity + gradient
        self.weights = self.weights - _STEP_SIZE * self.velocity
        return self

    def predict_proba(self, X: NDArray[Any]) -> FloatArray:
        """Class probabilities."""
        return np.asarray(softmax(_with_ones(X) @ self.weights.T, axis=1))

    def predict(self, X: NDArray[Any]) -> NDArray[np.int64]:
        """The likeliest classes."""
        return np.asarray((_with_ones(X) @ self.weights.T).argmax(axis=1))


def _with_ones(X: NDArray[Any]) -> FloatArray:
    return np.column_stack([X, np.ones(len(X))]).astype(np.float64)
