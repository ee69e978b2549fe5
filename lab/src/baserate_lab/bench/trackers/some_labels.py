"""Adapter that is given some of the labels, at once or late."""

from collections import deque
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.adapters import RegressAndReweight
from baserate.protocols import UNLABELLED, FloatArray, IntArray, Step
from baserate_lab.bench.trackers.sets import UNSEEN


class SomeLabels:
    """Adapter that passes a random share of the labels to another adapter, at once or some rounds late.

    Parameters
    ----------
    adapter : RegressAndReweight
        The adapter, fitted.
    share : float
        Probability that a label becomes known.
    delay : int
        Rounds until labels are known; with 0, right after their own round has been predicted.
    seed : int
        Decides which labels become known; they do not depend on the delay.
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
        """Predict with the adapter."""
        return self.adapter.predict_proba(proba)

    def update(self, proba: ArrayLike, y: ArrayLike | None = None) -> None:
        """Update the adapter with a round."""
        self.step(proba, y)

    def step(self, proba: ArrayLike, y: ArrayLike | None = None) -> Step:
        """Predict a round, then update with it and with the labels that become known now."""
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
