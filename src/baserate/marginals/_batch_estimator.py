"""Base class of the marginal estimators, and sums over classes."""

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import FloatArray, IntArray
from baserate.state import Component
from baserate.state.declarations import Either, Flag, Whole
from baserate.validation import check_fitted, check_proba

ON_OR_OFF = Either((Flag(), Whole(0, 1)))
"""The declaration of a parameter that is true or false, also as a number."""


class BatchEstimator(Component):
    """Base of estimators that process many batches in one call; a subclass implements `_estimates`.

    `_by_class` is the name of an array that `fit` sets, with one entry or row per class.
    """

    _by_class: ClassVar[str]

    def estimate(self, proba: ArrayLike) -> FloatArray:
        """Estimate the class mix of one unlabelled batch."""
        proba = check_proba(proba, self._n_classes())
        if len(proba) == 0:
            raise ValueError(
                "proba is an empty batch, which says nothing about the class mix; give at least one sample."
            )
        estimate: FloatArray = self._estimates(proba, np.array([0, len(proba)]))[0]
        return estimate

    def estimate_groups(self, proba: FloatArray, starts: IntArray) -> FloatArray:
        """Estimate the class mixes of several batches; batch j is the rows ``starts[j]:starts[j + 1]``, none empty."""
        k = self._n_classes()
        if proba.shape[1] != k:  # compiled code does not check
            raise ValueError(f"proba has {proba.shape[1]} columns; expected {k}, one per class.")
        return self._estimates(proba, starts)

    def _n_classes(self) -> int:
        check_fitted(self, self._by_class)
        return len(getattr(self, self._by_class))

    def _estimates(self, proba: FloatArray, starts: IntArray) -> FloatArray:
        raise NotImplementedError


def sums_by_class(proba: FloatArray, labels: IntArray) -> FloatArray:
    """Return the sum of the rows of each class, one row per class; every class must occur."""
    counts = np.bincount(labels, minlength=proba.shape[1])
    order = np.argsort(labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    return np.asarray(np.add.reduceat(proba[order], starts, axis=0))
