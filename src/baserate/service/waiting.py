"""Waiting: the rows that wait for their labels, as the model gave them, and since when."""

from typing import Any

import numpy as np

from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.service._web import msgspec


class Waiting(msgspec.Struct, array_like=True):
    """Rows by id, oldest first, given up by the same rule as the adapter's own; for requests of labels, and their lag.

    Attributes
    ----------
    samples : dict
        Of each id: when its row came, and the row as doubles.
    mean_lag : float
        Seconds between rows and their labels: a mean that forgets, over about 100 labels.
    """

    samples: dict[str, tuple[float, bytes]] = msgspec.field(default_factory=dict)
    mean_lag: float = 0.0
    lags: int = 0

    def __len__(self) -> int:
        return len(self.samples)

    def __contains__(self, name: object) -> bool:
        return name in self.samples

    def since(self, name: str) -> float:
        """Return when the row of an id came."""
        return self.samples[name][0]

    def add(
        self, at: float | list[float], proba: FloatArray, labels: IntArray | None, ids: Any, *, at_most: int
    ) -> None:
        """Let rows wait that have an id and no label."""
        for i, name in enumerate(ids):
            if name is not None and (labels is None or labels[i] == UNLABELLED):
                self.samples[name] = (at if isinstance(at, float) else at[i]), proba[i].tobytes()
        while len(self.samples) > at_most:
            del self.samples[next(iter(self.samples))]

    def drop(self, ids: Any) -> None:
        """Let ids no longer wait."""
        for name in ids:
            self.samples.pop(name, None)

    def clear(self) -> None:
        """Let no row wait."""
        self.samples.clear()

    def note_lags(self, lags: list[float]) -> None:
        """Take in how long labels took."""
        for lag in lags:
            self.lags += 1
            self.mean_lag += (lag - self.mean_lag) / min(self.lags, 100)

    def rows(self) -> tuple[list[str], list[float], FloatArray]:
        """Return ids, when they came, and their rows; may be called in a thread while others come and go."""
        held = list(self.samples.items())  # one call, so that nothing changes meanwhile
        rows = np.array([np.frombuffer(row, dtype=np.float64) for _, (_, row) in held])
        return [name for name, _ in held], [since for _, (since, _) in held], rows
