"""KeptHoldout: a labelled holdout that is kept, in bounded size, to compute statistics at any class mix."""

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import FloatArray, IntArray
from baserate.state import Component, declarations
from baserate.state.declarations import Saved, Saves, priors, probabilities
from baserate.validation import LEAST_PRIOR, check_holdout, check_prior

_NUMBERS = 200_000  # probabilities kept, so that a query takes milliseconds and files stay small
_ROWS_PER_CLASS = 4  # rows per class, on average, that are kept in any case
_PSEUDO = 2.0  # pseudo-samples of each class, weighted by the model's probabilities


def fits_holdout(saved: Saved) -> str:
    """Check that a saved holdout has every class; for `Saves`."""
    counts = np.bincount(saved.state["_labels"], minlength=saved.sizes["k"])
    return "" if counts.all() else f"has no sample of class {int(counts.argmin())} in its holdout"


SAVED = Saves(
    state={
        "source_prior_": priors("k", low=LEAST_PRIOR, within=1e-9),
        "_proba": probabilities("rows", "k"),
        "_labels": declarations.labels("rows", "k"),
    },
    may_be_empty=True,
    check=fits_holdout,
)
"""The declaration of a holdout that is kept."""


class KeptHoldout(Component):
    """Base of trust signals that evaluate the holdout again and again, each time at another class mix.

    A holdout of more than 200,000 / k rows (and more than 4 k) is subsampled at random with a fixed seed, by the same
    factor in every class.
    """

    source_prior_: FloatArray
    _proba: FloatArray
    _labels: IntArray

    saves = SAVED

    def _keep(self, proba: ArrayLike, y: ArrayLike, source_prior: ArrayLike | None) -> None:
        checked, labels = check_holdout(proba, y, every_class=True)
        k = checked.shape[1]
        counts = np.bincount(labels, minlength=k)
        prior = (
            counts / len(labels)
            if source_prior is None
            else check_prior(source_prior, k, "source_prior", positive=True)
        )
        rows = subsample(labels, counts, max(_NUMBERS // k, _ROWS_PER_CLASS * k))
        self.source_prior_, self._proba, self._labels = prior, checked[rows], labels[rows]

    def kept(self) -> tuple[FloatArray, IntArray]:
        """Return the rows that are kept, (n, k), and their labels."""
        return self._proba, self._labels

    def _class_weights(self) -> tuple[FloatArray, FloatArray]:
        """Return the weight of each row in each class, (n, k), with columns that sum to one; and class sizes, (k,).

        A row counts for its label, and by its probabilities towards two pseudo-samples of each class. Without those, a
        class with few samples in the holdout, all of them classified with confidence, would seem to have no error.
        """
        n, k = self._proba.shape
        counts = np.bincount(self._labels, minlength=k).astype(np.float64)
        weights = self._proba * (_PSEUDO / np.maximum(self._proba.sum(axis=0), np.finfo(np.float64).tiny))
        sizes = counts + weights.sum(axis=0)  # no pseudo-samples of a class that always has probability 0
        weights[np.arange(n), self._labels] += 1.0
        return weights / sizes, sizes


def subsample(labels: IntArray, counts: IntArray, limit: int, least: int = 1) -> IntArray:
    """Return the rows to keep, in order: all, or about `limit`, the same share of every class, or `least` of it."""
    if len(labels) <= limit:
        return np.arange(len(labels))
    keys = np.random.default_rng(0).random(len(labels))
    kept = []
    for c in range(len(counts)):
        members = np.flatnonzero(labels == c)
        kept.append(members[np.argsort(keys[members])[: max(int(np.ceil(counts[c] * limit / len(labels))), least)]])
    return np.sort(np.concatenate(kept))
