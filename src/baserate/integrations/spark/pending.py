"""Rows of rounds that are not complete, and how rows divide into rounds."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from baserate.integrations.spark.rounds import Rounds
from baserate.protocols import IntArray

NO_NAME = -(1 << 63)


class Rows(NamedTuple):
    """Rows of keys, each key's in order: the key's place, the probabilities as given, the label or -1, the time.

    Times are microseconds since 1970, and 0 where there are none. `proba` is float32 or float64, as it came. `names`
    are ids as numbers, `NO_NAME` without one.
    """

    places: IntArray
    proba: NDArray[Any]
    labels: IntArray
    times: IntArray
    names: IntArray

    def take(self, which: Any) -> "Rows":
        """Some of the rows."""
        return Rows(*(array[which] for array in self))

    def followed_by(self, other: "Rows") -> "Rows":
        """These rows, then others."""
        return Rows(*map(np.concatenate, zip(self, other, strict=True)))

    @classmethod
    def none(cls, n_classes: int, dtype: Any = np.float64) -> "Rows":
        """No rows."""
        whole = np.empty(0, dtype=np.int64)
        return cls(whole, np.empty((0, n_classes), dtype), whole, whole, whole)


class Told(NamedTuple):
    """Labels that came later than their rows: the key's place, the row's name, its class, and when the label came."""

    places: IntArray
    names: IntArray
    labels: IntArray
    times: IntArray

    def take(self, which: Any) -> "Told":
        """Some of the labels."""
        return Told(*(array[which] for array in self))

    def followed_by(self, other: "Told") -> "Told":
        """These labels, then others."""
        return Told(*map(np.concatenate, zip(self, other, strict=True)))

    @classmethod
    def none(cls) -> Self:
        """No labels."""
        return cls(*[np.empty(0, dtype=np.int64)] * 4)

    def due(self, rows: Rows, rounds: Rounds) -> NDArray[np.bool_]:
        """Tell which labels are learned together with rounds that are complete: those that came before their end."""
        here, first = np.unique(rows.places, return_index=True)
        if rounds.rows:
            return np.isin(self.places, here)
        last = np.full(int(max(here.max(initial=-1), self.places.max(initial=-1))) + 1, np.iinfo(np.int64).min)
        last[here] = rows.times[first] // rounds.window
        return np.asarray(self.times // rounds.window <= last[self.places])


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
