"""An adapter that gets to know some of the labels, at once or later."""

from collections import deque
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.adapters import RegressAndReweight
from baserate.protocols import UNLABELLED, FloatArray, IntArray, Step
from baserate_lab.bench.trackers.sets import UNSEEN


class SomeLabels:
    """Hands a random share of the labels on to an adapter, some rounds late.

    Parameters
    ----------
    adapter : RegressAndReweight
        A fitted one.
    share : float
        The probability of each label to become known.
    delay : int
        With 0, the labels of a round are known when it has been predicted; with d, when the d-th round after it has.
    seed : int
        Decides which labels; the same ones whatever the delay.
    """

    def __init__(self, adapter: RegressAndReweight, share: float, delay: int, seed: int) -> None:
        self.adapter = adapter
        self.share = share
        self.delay = delay
        self._rng = np.random.default_rng([UNSEEN, seed, 3])
        self._waiting: deque[tuple[IntArray, IntArray]] = deque()
        self._seen = 0

    def fit(self, proba: ArrayLike, y: ArrayLike) -> Self:
        """Fit the adapter."""
        self.adapter.fit(proba, y)
        return self

    def predict_proba(self, proba: ArrayLike) -> FloatArray:
        """As the adapter does."""
        return self.adapter.predict_proba(proba)

    def update(self, proba: ArrayLike, y: ArrayLike | None = None) -> None:
        """Take in a round."""
        self.step(proba, y)

    def step(self, proba: ArrayLike, y: ArrayLike | None = None) -> Step:
        """Predict a round and take it in, with those labels that become known now."""
        labels = np.asarray(y)
        known = self._rng.random(len(labels)) < self.share
        if self.delay == 0:
            return self.adapter.step(proba, np.where(known, labels, UNLABELLED))
        ids = np.arange(self._seen, self._seen + len(labels))
        self._seen += len(labels)
        step = self.adapter.step(proba, ids=ids.tolist())
        self._waiting.append((ids[known], labels[known]))
        if len(self._waiting) > self.delay:
            late_ids, late = self._waiting.popleft()
            if len(late):
                self.adapter.update_labels(late_ids.tolist(), late)
        return step
