"""A labelled holdout kept for later questions: of bounded size, and as class-wise weights."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import FloatArray, IntArray
from baserate.state import Component
from baserate.validation import check_holdout, check_prior

_NUMBERS = 200_000  # probabilities kept, so that a question takes milliseconds and a file stays small
_ROWS_PER_CLASS = 4  # but never fewer rows than this for each class, on average
_PSEUDO = 2.0  # samples of each class that come from the model's own idea of the class


class KeptHoldout(Component):
    """Base of what asks the holdout again and again, each time about another class mix.

    A holdout of more than 200,000 / k rows (and more than 4 k) is thinned at random, with a fixed seed, class by class
    to the same share.
    """

    source_prior_: FloatArray
    _proba: FloatArray
    _labels: IntArray

    def _keep(self, proba: ArrayLike, y: ArrayLike, source_prior: ArrayLike | None) -> None:
        checked, labels = check_holdout(proba, y, every_class=True)
        k = checked.shape[1]
        counts = np.bincount(labels, minlength=k)
        prior = (
            counts / len(labels)
            if source_prior is None
            else check_prior(source_prior, k, "source_prior", positive=True)
        )
        rows = thinned(labels, counts, max(_NUMBERS // k, _ROWS_PER_CLASS * k))
        self.source_prior_, self._proba, self._labels = prior, checked[rows], labels[rows]

    def _class_weights(self) -> tuple[FloatArray, FloatArray]:
        """(n, k) by what weight a row stands for each class, columns summing to one; and (k,) samples of each class.

        A row stands for its label, and, as two samples' worth in all, for what the model takes it for. Without those a
        class of which the holdout has few samples, all of them clear, would seem to be free of error.
        """
        n, k = self._proba.shape
        counts = np.bincount(self._labels, minlength=k).astype(np.float64)
        weights = self._proba * (_PSEUDO / np.maximum(self._proba.sum(axis=0), np.finfo(np.float64).tiny))
        sizes = counts + weights.sum(axis=0)  # no pseudo-samples of a class that the model never thinks of
        weights[np.arange(n), self._labels] += 1.0
        return weights / sizes, sizes

    def set_state(self, state: dict[str, Any]) -> Self:
        if "_proba" in state:
            proba, labels = check_holdout(state["_proba"], state["_labels"], every_class=True)
            prior = check_prior(state["source_prior_"], proba.shape[1], "source_prior_", positive=True)
            state = {**state, "_proba": proba, "_labels": labels, "source_prior_": prior}
        return super().set_state(state)


def thinned(labels: IntArray, counts: IntArray, limit: int) -> IntArray:
    """Rows to keep, in their order: all, or about `limit`, the same share of every class."""
    if len(labels) <= limit:
        return np.arange(len(labels))
    keys = np.random.default_rng(0).random(len(labels))
    kept = []
    for c in range(len(counts)):
        members = np.flatnonzero(labels == c)
        kept.append(members[np.argsort(keys[members])[: int(np.ceil(counts[c] * limit / len(labels)))]])
    return np.sort(np.concatenate(kept))
