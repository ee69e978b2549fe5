"""ClassMeans: a small model that can be saved completely, for checking the contract of learners."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from baserate.protocols import FloatArray, IntArray
from baserate.state import Component
from baserate.state.declarations import LONGEST, Saved, Saves, floats, ints


def _problem(saved: Saved) -> str:
    state = saved.state
    if not len(state["classes_"]) or (np.diff(state["classes_"]) <= 0).any():
        return "has classes that do not rise"
    most = 1e151 * state["_mass"][:, np.newaxis]  # of samples within the limits of a pool
    return "" if (np.abs(state["_sums"]) <= most).all() else "has sums that no samples have"


class ClassMeans(Component, saved_as="class_means"):
    """Gaussian classes of unit variance around their weighted means, by `fit` or by `partial_fit`."""

    saves = Saves(
        state={
            "classes_": ints("c", low=-LONGEST),
            "_mass": floats("c", low=0.0, high=1e140),
            "_sums": floats("c", "d"),
        },
        may_be_empty=True,
        check=_problem,
    )

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train on these samples only."""
        if hasattr(self, "classes_"):
            del self.classes_
        return self.partial_fit(X, y, np.unique(np.asarray(y)), sample_weight)

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Continue training on more samples."""
        samples = np.asarray(X, dtype=np.float64)
        if not hasattr(self, "classes_"):
            self.classes_ = np.asarray(classes)
            self._mass = np.zeros(len(self.classes_))
            self._sums = np.zeros((len(self.classes_), samples.shape[1]))
        weights = np.ones(len(samples)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        member = (np.asarray(y)[:, np.newaxis] == self.classes_) * weights[:, np.newaxis]
        self._mass = self._mass + member.sum(axis=0)
        self._sums = self._sums + member.T @ samples
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the class probabilities of some samples."""
        mass = self._mass + 1.0
        means = self._sums / mass[:, np.newaxis]
        distance = ((np.asarray(X, dtype=np.float64)[:, np.newaxis] - means) ** 2).sum(axis=2)
        return np.asarray(softmax(np.log(mass) - distance / 2, axis=1))

    def predict(self, X: ArrayLike) -> IntArray:
        """Return the most probable class of some samples."""
        labels: Any = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return np.asarray(labels, dtype=np.int64)
