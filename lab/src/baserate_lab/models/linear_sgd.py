"""Softmax regression by mini-batch gradient descent with momentum, the base model of the synthetic experiments."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from baserate.integrations.linear_head import as_numbers
from baserate.integrations.training_data import check_finite, check_trained
from baserate.protocols import FloatArray
from baserate.state import Component
from baserate.state.declarations import Either, Generator, Maybe, Number, Saves, Whole, floats
from baserate.validation import check_integer, check_real, check_rng
from baserate_lab.models._training_data import check_training_labels


class LinearSGD(Component, saved_as="lab_linear_sgd"):
    """Linear classifier without intercept, trained for a fixed number of epochs as in the paper's runs.

    The published numbers are from a single epoch; a fit to convergence would give another base error.

    Parameters
    ----------
    epochs : int
        Passes over the data.
    step_size, momentum, l2, batch_size
        Settings of gradient descent. Weights start uniform in ±1/sqrt(d), for d features.
    rng : int or numpy.random.Generator, optional
        Seed of the starting weights and the order of the samples.

    Attributes
    ----------
    coef_ : (k, d) array
        The weights, one row per class.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0]] * 50)
    >>> LinearSGD(batch_size=10, rng=0).fit(X, [0, 1] * 50).predict_proba(X[:2]).argmax(axis=1)
    array([0, 1])
    """

    saves = Saves(
        params={
            "epochs": Whole(),
            "step_size": Number(),
            "momentum": Number(),
            "l2": Number(),
            "batch_size": Whole(),
            "rng": Maybe(Either((Generator(), Whole(0, 2**256)))),
        },
        state={"coef_": floats("k", "d", low=-1e150, high=1e150)},
        may_be_empty=True,
        check=lambda saved: "" if min(saved.sizes["k"], saved.sizes["d"]) > 0 else "has no weights",
    )

    def __init__(
        self,
        *,
        epochs: int = 1,
        step_size: float = 0.1,
        momentum: float = 0.9,
        l2: float = 1e-4,
        batch_size: int = 200,
        rng: int | np.random.Generator | None = None,
    ) -> None:
        self.epochs = epochs
        self.step_size = step_size
        self.momentum = momentum
        self.l2 = l2
        self.batch_size = batch_size
        self.rng = rng

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train on labelled samples; labels are 0..k-1."""
        samples = check_finite(_as_matrix(X))
        labels = check_training_labels(y, len(samples))
        epochs, batch_size = check_integer(self.epochs, "epochs", 1), check_integer(self.batch_size, "batch_size", 1)
        step_size, l2 = check_real(self.step_size, "step_size", 0, np.inf), check_real(self.l2, "l2", 0, np.inf)
        momentum = check_real(self.momentum, "momentum", 0, 1)
        rng = check_rng(self.rng)
        d, k = samples.shape[1], int(labels.max()) + 1
        targets = np.eye(k)[labels]
        weights = rng.uniform(-1 / np.sqrt(d), 1 / np.sqrt(d), (d, k))
        velocity = np.zeros_like(weights)
        for _ in range(epochs):
            order = rng.permutation(len(samples))
            for start in range(0, len(samples), batch_size):
                rows = order[start : start + batch_size]
                batch = samples[rows]
                residual = softmax(batch @ weights, axis=1) - targets[rows]
                gradient = batch.T @ residual / len(rows) + l2 * weights
                velocity = momentum * velocity + gradient
                weights = weights - step_size * velocity
        self.coef_ = np.ascontiguousarray(weights.T)
        return self

    @property
    def intercept_(self) -> FloatArray:
        """Zeros, (k,): the model has no intercepts."""
        return np.zeros(len(self.coef_))

    def features(self, X: ArrayLike) -> FloatArray:
        """Input of the model's only layer: the samples themselves."""
        return as_numbers(X)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Class probabilities of samples."""
        check_trained(self, "coef_")
        return np.asarray(softmax(_as_matrix(X) @ self.coef_.T, axis=1))


def _as_matrix(X: ArrayLike) -> NDArray[Any]:
    samples = np.asarray(X)
    if samples.ndim != 2 or samples.shape[1] == 0 or samples.dtype.kind not in "fiub":
        raise ValueError(
            f"X has shape {samples.shape} and dtype {samples.dtype}; expected numbers, of shape (samples, features)."
        )
    return samples
