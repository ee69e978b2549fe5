"""LabelledMix: the class mix now, from labels and what the model says of all samples, whatever the model does."""

from functools import lru_cache

import numpy as np

from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.state import Component
from baserate.state.declarations import Saved, Saves, Whole, floats
from baserate.trust.prediction_powered import LabelledSums, Powered, labelled_sums, powered, widest, wilson
from baserate.trust.spread import open_ends

MEMORIES = 256.0 * 4.0 ** np.arange(4)
"""The memories in which samples are summed up: after so many more, a sample counts for 1/e."""
_LEAST = 1e-6
_KEPT = 4096  # samples of a round, up to which what each counts for is kept for later rounds


def _fits_together(saved: Saved) -> str:
    k = saved.sizes["k"]
    if saved.params["n_classes"] != k:
        return "counts other classes than it says"
    if (saved.state["_labelled"][:, 0] > 0.0).any() and saved.state["seen_"] == 0:
        return "has labels of samples that it has not seen"
    return ""


class LabelledMix(Component, saved_as="labelled_mix"):
    r"""The class mix now by labels and model: prediction-powered, in memories of several lengths.

    In each memory, the share of a class is the mean of what the model says of all samples, plus the mean of label minus
    model over the labelled ones, with as much of the model as makes the variance smallest; and it is moved by as much
    as the tracked mix has moved since. That is right on average whatever the model and the tracker do, if samples were
    chosen for labels at random and what is wrong with them is as it was. The longest memory is used whose share agrees
    with those of all shorter ones.

    Parameters
    ----------
    n_classes : int

    Attributes
    ----------
    seen_ : int
        The number of samples so far.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> y = (rng.random(2000) < 0.2).astype(int)
    >>> wrong = np.where(y == 1, 0.9, 0.3)  # a model that says far too much of class 1
    >>> said, labels = np.column_stack([1 - wrong, wrong]), np.where(rng.random(2000) < 0.1, y, -1)
    >>> mix = LabelledMix(2)
    >>> for t in range(0, 2000, 100):
    ...     mix.take_in(said[t : t + 100], np.array([0.6, 0.4]), labels[t : t + 100])
    >>> limits = mix.limits(np.array([0.6, 0.4]), np.zeros(2), np.zeros(2), level=0.9)
    >>> limits.round(2).tolist(), float(said[:, 1].mean().round(2))
    ([[0.78, 0.83], [0.17, 0.22]], 0.41)
    """

    saves = Saves(
        params={"n_classes": Whole(2)},
        state={
            "seen_": Whole(),
            "_sizes": floats(len(MEMORIES), 2, low=0.0),
            "_said": floats(len(MEMORIES), "k", low=0.0),
            "_tracked": floats(len(MEMORIES), "k", low=0.0),
            "_labelled": floats(len(MEMORIES), len(LabelledSums._fields), "k", low=0.0),
        },
        check=_fits_together,
    )

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        m = len(MEMORIES)
        self.seen_ = 0
        self._sizes, self._said, self._tracked = np.zeros((m, 2)), np.zeros((m, n_classes)), np.zeros((m, n_classes))
        self._labelled = np.zeros((m, len(LabelledSums._fields), n_classes))

    def take_in(
        self, said: FloatArray, tracked: FloatArray, labels: IntArray | None = None, weights: FloatArray | None = None
    ) -> None:
        """Take in a round.

        Parameters
        ----------
        said : (n, k) array
            What the model says of its samples, re-weighted in any way that does not know their labels.
        tracked : (k,) array
            The class mix as tracked before the round.
        labels : (n,) array of int, optional
            -1 where there is none.
        weights : (n,) array, optional
            One over the probability with which each sample was chosen to be labelled. Default: it was the same for all.
        """
        n = len(said)
        fading, decays = np.exp(-n / MEMORIES), _kept_decays(n) if n <= _KEPT else _decays(n)
        size = decays.sum(axis=1)
        self._sizes *= np.column_stack([fading, fading**2])
        self._sizes += np.column_stack([size, (decays**2).sum(axis=1)])
        self._said = fading[:, np.newaxis] * self._said + decays @ said
        self._tracked = fading[:, np.newaxis] * self._tracked + np.outer(size, tracked)
        # Of the sums over labelled samples, that of squared weights fades twice as fast.
        self._labelled *= np.where(_IS_SQUARES, fading[:, np.newaxis] ** 2, fading[:, np.newaxis])[..., np.newaxis]
        self.seen_ += n
        if labels is not None:
            told = np.flatnonzero(labels != UNLABELLED)
            if len(told):
                self._add(n - 1 - told, said[told], labels[told], None if weights is None else weights[told])

    def take_late(
        self, places: IntArray, said: FloatArray, labels: IntArray, weights: FloatArray | None = None
    ) -> None:
        """Take in labels of samples of earlier rounds, as if they had come with them.

        Parameters
        ----------
        places : (n,) array of int
            The samples' numbers, counted from 0: `seen_` was so large before each.
        said, labels, weights
            As in `take_in`.
        """
        self._add(self.seen_ - 1 - places, said, labels, weights)

    def _add(self, ages: IntArray, said: FloatArray, labels: IntArray, weights: FloatArray | None) -> None:
        own = np.ones(len(labels)) if weights is None else weights
        y = np.eye(self.n_classes)[labels]
        for m, memory in enumerate(MEMORIES):
            self._labelled[m] += np.array(labelled_sums(y, said, own * np.exp(-ages / memory)))

    @property
    def labels_(self) -> float:
        """As many labels of equal weight would tell as much as those in the longest memory."""
        return float(LabelledSums(*self._labelled[-1]).n[0])

    def limits(self, tracked: FloatArray, ahead: FloatArray, moving: FloatArray, level: float) -> FloatArray:
        """Return limits of each class's share now, (k, 2); 0 and 1 without labels.

        Parameters
        ----------
        tracked : (k,) array
            The class mix as tracked now.
        ahead : (k,) array
            How far the mix is thought to be ahead of it.
        moving : (k,) array
            The variance of that.
        level : float
        """
        total = np.maximum(self._sizes[:, :1], 1e-300)
        kish = self._sizes[:, :1] ** 2 / np.maximum(self._sizes[:, 1:], 1e-300)
        labelled = LabelledSums(*np.moveaxis(self._labelled, 1, 0))
        found = powered(labelled, self._said / total, kish)
        value = np.clip(found.value + tracked + ahead - self._tracked / total, 0.0, 1.0)
        middle = np.clip(0.5 * (value + tracked), _LEAST, 1.0 - _LEAST)
        own = 1.0 / (1.0 / np.maximum(found.n, 1e-9) + 1.0 / np.maximum(kish, 1.0))
        n = 1.0 / (1.0 / own + (moving + _doubt(value, own)) / (middle * (1.0 - middle)))
        best, _ = widest(Powered(np.where(labelled.n > 0.0, value, np.nan), n))
        low, high = open_ends(*wilson(np.nan_to_num(best.value, nan=0.5), best.n, level), best.n)
        return np.column_stack([low, high]) if self.labels_ > 0.0 else np.tile([0.0, 1.0], (len(tracked), 1))


def _doubt(values: FloatArray, n: FloatArray) -> FloatArray:
    """Return the squared differences of memories from shorter ones, as far as chance does not explain them."""
    doubt = np.zeros_like(values)
    for m in range(1, len(values)):
        chance = values[:m] * (1.0 - values[:m]) / np.maximum(n[:m], 1.0)
        doubt[m] = np.maximum((values[m] - values[:m]) ** 2 - chance, 0.0).max(axis=0)
    return doubt


_IS_SQUARES = np.array([name == "squares" for name in LabelledSums._fields])


def _decays(n: int) -> FloatArray:
    """Return how much each sample of a round of n counts at its end, (m, n)."""
    return np.exp(-np.arange(n - 1, -1, -1.0) / MEMORIES[:, np.newaxis])


_kept_decays = lru_cache(maxsize=8)(_decays)
