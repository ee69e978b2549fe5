"""ProgressiveHoldout: an online model's predictions for labelled samples before it was trained on them."""

from collections import deque
from collections.abc import Hashable
from typing import Any

import numpy as np

from baserate.protocols import FloatArray, IntArray

Probabilities = dict[Any, float]
"""Output of an online model for a sample: a probability for each class that it knows."""


def row_of(proba: Probabilities, classes: list[Hashable]) -> FloatArray | None:
    """Return the probabilities of these classes, scaled to sum to one; None if they are all zero."""
    row = np.array([proba.get(label, 0.0) for label in classes], dtype=np.float64)
    total = row.sum()
    return row / total if 0.0 < total < np.inf else None


class ProgressiveHoldout:
    """The last labelled samples, with at least a few of every class that has had as many.

    In a plain window of the last samples a rare class could be missing, and with it all information about the model's
    output for that class.

    Parameters
    ----------
    size : int
        Largest number of samples.
    per_class : int
        A class with no more samples than this keeps them, however old, as long as another class has more.
    """

    def __init__(self, size: int, per_class: int) -> None:
        self.size = size
        self.per_class = per_class
        self.n_seen = 0
        self._n_kept = 0
        self._kept: dict[Hashable, deque[tuple[int, Probabilities]]] = {}

    def __len__(self) -> int:
        return self._n_kept

    def add(self, proba: Probabilities, label: Hashable) -> None:
        """Add the model's prediction for a sample before training on it; drop the oldest if there are too many."""
        self._kept.setdefault(label, deque()).append((self.n_seen, dict(proba)))
        self.n_seen += 1
        self._n_kept += 1
        # Predictions made when the model had seen less than half of its samples are mostly outdated.
        while self._n_kept > min(self.size, max(self.n_seen // 2, 2 * self.per_class)):
            spare = [pairs for pairs in self._kept.values() if len(pairs) > self.per_class]
            min(spare or filter(None, self._kept.values()), key=lambda pairs: pairs[0][0]).popleft()
            self._n_kept -= 1

    def classes(self) -> list[Hashable]:
        """Return the classes with enough samples, in the order of their first one."""
        return [label for label, pairs in self._kept.items() if len(pairs) >= self.per_class]

    def samples(self, classes: list[Hashable]) -> tuple[FloatArray, IntArray]:
        """Return rows of probabilities of some classes, and labels as column numbers, oldest sample first."""
        found = []
        for column, label in enumerate(classes):
            for number, proba in self._kept.get(label, ()):
                row = row_of(proba, classes)
                if row is not None:
                    found.append((number, row, column))
        found.sort(key=lambda entry: entry[0])
        rows = np.array([row for _, row, _ in found]).reshape(len(found), len(classes))
        return rows, np.array([column for _, _, column in found], dtype=np.int64)
