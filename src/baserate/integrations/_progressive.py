"""A holdout for a model that never stops learning: what it said of each labelled sample before it learned it."""

from collections import deque
from collections.abc import Hashable
from typing import Any

import numpy as np

from baserate.protocols import FloatArray, IntArray

Probabilities = dict[Any, float]
"""What an online model says of a sample: a probability for each class that it knows."""


def row_of(proba: Probabilities, classes: list[Hashable]) -> FloatArray | None:
    """Probabilities of these classes, scaled to sum to one; None where the model gives them none."""
    row = np.array([proba.get(label, 0.0) for label in classes], dtype=np.float64)
    total = row.sum()
    return row / total if 0.0 < total < np.inf else None


class ProgressiveHoldout:
    """The last labelled samples, and never fewer than a few of a class that there have been a few of.

    Without the exception a rare class would drop out of a window of the last samples, and with it everything that is
    known about how the model treats it.

    Parameters
    ----------
    size : int
        The most samples kept.
    per_class : int
        A class that has no more samples than that keeps them, however old they are, as long as another has more.
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
        """Keep what the model said of a sample before it learned its label; drop the oldest if there are too many."""
        self._kept.setdefault(label, deque()).append((self.n_seen, dict(proba)))
        self.n_seen += 1
        self._n_kept += 1
        # Of what the model said when it had learned less than half of what it has by now, most is no longer true.
        while self._n_kept > min(self.size, max(self.n_seen // 2, 2 * self.per_class)):
            spare = [pairs for pairs in self._kept.values() if len(pairs) > self.per_class]
            min(spare or filter(None, self._kept.values()), key=lambda pairs: pairs[0][0]).popleft()
            self._n_kept -= 1

    def classes(self) -> list[Hashable]:
        """The classes of which there are enough samples to judge the model by, in the order of their first one."""
        return [label for label, pairs in self._kept.items() if len(pairs) >= self.per_class]

    def samples(self, classes: list[Hashable]) -> tuple[FloatArray, IntArray]:
        """Rows of probabilities of some classes, and the labels as column numbers, from the oldest sample on."""
        found = []
        for column, label in enumerate(classes):
            for number, proba in self._kept.get(label, ()):
                row = row_of(proba, classes)
                if row is not None:
                    found.append((number, row, column))
        found.sort(key=lambda entry: entry[0])
        rows = np.array([row for _, row, _ in found]).reshape(len(found), len(classes))
        return rows, np.array([column for _, _, column in found], dtype=np.int64)
