"""Rows of rounds that are not complete, and how rows divide into rounds."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from baserate.integrations.spark.rounds import Rounds
from baserate.protocols import IntArray


class Rows(NamedTuple):
    """Rows of keys, each key's in order: the key's place, the probabilities as given, the label or -1, the time.

    Times are microseconds since 1970, and 0 where there are none. `proba` is float32 or float64, as it came.
    """

    places: IntArray
    proba: NDArray[Any]
    labels: IntArray
    times: IntArray

    def take(self, which: Any) -> "Rows":
        """Some of the rows."""
        return Rows(self.places[which], self.proba[which], self.labels[which], self.times[which])

    def followed_by(self, other: "Rows") -> "Rows":
        """These rows, then others."""
        return Rows(*map(np.concatenate, zip(self, other, strict=True)))

    @classmethod
    def none(cls, n_classes: int, dtype: Any = np.float64) -> "Rows":
        """No rows."""
        whole = np.empty(0, dtype=np.int64)
        return cls(whole, np.empty((0, n_classes), dtype), whole, whole)


class Divided(NamedTuple):
    """Rows in the order of their rounds: the j-th rounds of all keys are ``order[starts[j]:starts[j + 1]]``."""

    order: IntArray
    starts: IntArray
    complete: NDArray[np.bool_]  # for each row in order: whether its round is complete

    @classmethod
    def of(cls, rows: Rows, rounds: Rounds) -> Self:
        """Divide rows into rounds; each key's first row begins a round.

        A round of `rows` rows is complete with its last row, a window with the first row of a later one.
        """
        n = len(rows.places)
        by_key = np.argsort(rows.places, kind="stable")
        places = rows.places[by_key]
        new_key = np.ones(n, dtype=bool)
        new_key[1:] = places[1:] != places[:-1]
        first = np.flatnonzero(new_key)
        group = np.cumsum(new_key) - 1
        if rounds.rows:
            ordinals = (np.arange(n) - first[group]) // rounds.rows
            sizes = np.diff(np.append(first, n))
            complete = (ordinals + 1) * rounds.rows <= sizes[group]
        else:
            windows = rows.times[by_key] // rounds.window
            new_window = np.zeros(n, dtype=np.int64)
            new_window[1:] = (windows[1:] != windows[:-1]) & ~new_key[1:]
            so_far = np.cumsum(new_window)
            ordinals = so_far - so_far[first][group]
            last = np.append(first[1:], n) - 1
            complete = ordinals < ordinals[last][group]
        by_round = np.argsort(ordinals, kind="stable")
        n_rounds = int(ordinals.max()) + 1 if n else 0
        starts = np.searchsorted(ordinals[by_round], np.arange(n_rounds + 1))
        return cls(by_key[by_round], starts, complete[by_round])
