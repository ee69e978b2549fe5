"""Pool: the labelled samples of the stream so far, or a random selection, split into training and validation."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from baserate.protocols import FloatArray, IntArray
from baserate.state.declarations import LONGEST, Array, Either, Fields, flags, floats, ints, labels
from baserate.validation import as_float_array, check_integer

_FOLD = 5
"""One sample in so many is for validation (the paper's 80:20 split of each round)."""

_LARGEST = 1e150
"""The largest feature, so that squares are finite."""

SAVED_POOL = Fields(
    {
        "X": Either((Array("f4", ("n", "d")), floats("n", "d", low=-_LARGEST, high=_LARGEST))),
        "y": labels("n", "k"),
        "held": flags("n"),
        "propensity": floats("n", low=0.0, high=1.0 + 1e-9),
        "key": floats("n", low=0.0, high=1.0),
        "seen": ints(2, "k", low=0),
    }
)
"""The declaration of a saved pool."""


def pool_problem(pool: dict[str, Any], max_pool: int | None) -> str:
    """Say what does not fit together in a saved pool; an empty text if everything does."""
    saved = Pool(**pool)
    counts, n = saved.counts(), len(saved.y)
    if saved.seen.sum(dtype=np.float64) > LONGEST:
        return "has seen more samples than can be counted"
    if max_pool is None or saved.n_seen <= max_pool:
        if (counts != saved.seen).any():
            return "has other samples than it has seen"
    elif n > max_pool or (counts > saved.seen).any() or ((counts == 0) & (saved.seen > 0)).any():
        return "has other samples than it would have kept"
    if n and (saved.held.all() or saved.X.shape[1] == 0):
        return "has nothing to train on"
    return ""


def check_max_pool(max_pool: object, n_classes: int) -> None:
    """Check the size of a bounded pool: room for one validation and four training samples of each class."""
    if max_pool is not None:
        check_integer(max_pool, "max_pool", _FOLD * n_classes)


class Pool(NamedTuple):
    """Labelled samples in the order of the stream; immutable, so that a failed update leaves the pool unchanged.

    A bounded pool is a reservoir sample: within each class, and within training and validation, every sample so far is
    equally likely to be kept. The number that is kept depends only on the labels: all of a rare class, and the same
    number of every larger one.
    """

    X: NDArray[Any]
    y: IntArray
    held: NDArray[np.bool_]
    """True for validation samples."""
    propensity: FloatArray
    """The tracker's prediction for the sample's class in the sample's round, before its label was known: qhat_i(y)."""
    key: FloatArray
    """A random number for each sample; those with the smallest numbers are kept."""
    seen: IntArray
    """Number of samples of each class so far, kept or not, for training and validation, (2, k)."""

    @classmethod
    def empty(cls, n_classes: int) -> Self:
        """Return a pool without samples, whose number of features is not known yet."""
        seen = np.zeros((2, n_classes), dtype=np.int64)
        return cls(
            np.empty((0, 0)), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_), np.empty(0), np.empty(0), seen
        )

    @property
    def n_seen(self) -> int:
        """Number of samples so far, kept or not."""
        return int(self.seen.sum())

    def joined(
        self, X: NDArray[Any], y: IntArray, propensity: FloatArray, rng: np.random.Generator, max_pool: int | None
    ) -> Self:
        """Return the pool with one more round; a fifth of all samples so far are for validation."""
        order, keys = rng.permutation(len(y)), rng.random(len(y))
        held = np.zeros(len(y), dtype=np.bool_)
        held[order[: self._quota(len(y), rng)]] = True
        before = self.X if len(self.y) else np.empty((0, X.shape[1]), X.dtype)
        seen = self.seen.copy()
        np.add.at(seen, (held.astype(np.int64), y), 1)
        whole = type(self)(
            np.concatenate([before, X]),
            np.concatenate([self.y, y]),
            np.concatenate([self.held, held]),
            np.concatenate([self.propensity, propensity]),
            np.concatenate([self.key, keys]),
            seen,
        )
        return whole if max_pool is None or whole.n_seen <= max_pool else whole._reduced(max_pool)

    def _quota(self, n: int, rng: np.random.Generator) -> int:
        """Return how many of the next `n` samples are for validation: one in each five, at a random place.

        If it were always the fifth, streams with a period of five would be split unevenly.
        """
        begun = self.n_seen % _FOLD
        has_one = int(self.seen[1].sum()) > self.n_seen // _FOLD
        first, last = rng.random(2)
        n_first = min(n, _FOLD - begun) if begun else 0
        n_whole, n_last = divmod(n - n_first, _FOLD)
        quota = int(n_first > 0 and not has_one and first * (_FOLD - begun) < n_first)
        quota += n_whole + int(last * _FOLD < n_last)
        return quota if self.n_seen or n > 1 else 0  # the very first sample is for training

    def _reduced(self, max_pool: int) -> Self:
        """Return the pool reduced to its largest size."""
        n_held = max_pool // _FOLD
        kept = np.zeros(len(self.y), dtype=np.bool_)
        for part, places, seen in ((~self.held, max_pool - n_held, self.seen[0]), (self.held, n_held, self.seen[1])):
            rows = np.flatnonzero(part)
            rows = rows[np.lexsort((self.key[rows], self.y[rows]))]
            # The first row of a class has the rank 0; its rows follow by their keys.
            rank = np.arange(len(rows)) - np.searchsorted(self.y[rows], self.y[rows])
            kept[rows[rank < most_of_each(seen, places)]] = True
        return self._replace(**{name: getattr(self, name)[kept] for name in ("X", "y", "held", "propensity", "key")})

    def counts(self) -> IntArray:
        """Return the number of samples of each class in the pool, for training and validation, (2, k)."""
        counts = np.zeros_like(self.seen)
        np.add.at(counts, (self.held.astype(np.int64), self.y), 1)
        return counts

    def multiplicity(self) -> FloatArray:
        """Return the number of samples of the stream that each one represents.

        Sums with these weights are, in expectation, sums over all samples so far.
        """
        ratio = self.seen / np.maximum(self.counts(), 1)
        return np.asarray(ratio[self.held.astype(np.int64), self.y])

    def check_samples(self, X: ArrayLike) -> NDArray[Any]:
        """Check a batch of samples: rows of finite numbers, as many as in the pool. An empty batch is fine.

        They are converted to the pool's type; the first batch decides whether that is float32 or float64.
        """
        single = isinstance(X, np.ndarray) and X.dtype == np.float32 and X.ndim == 2 and type(X) is np.ndarray
        array: NDArray[Any] = np.asarray(X) if single else as_float_array(X, "X", 2, "samples, features")
        if array.shape[1] == 0:
            raise ValueError(f"X has shape {array.shape}; expected at least one feature.")
        if len(self.y):
            if array.shape[1] != self.X.shape[1]:
                raise ValueError(
                    f"X has {array.shape[1]} columns; expected {self.X.shape[1]}, the features of the rounds before."
                )
            with np.errstate(over="ignore"):  # numbers that are too large become infinite, and are reported below
                array = array.astype(self.X.dtype, copy=False)
        wild = ~np.isfinite(array)
        if wild.any():
            row, column = np.argwhere(wild)[0]
            raise ValueError(
                f"X row {row} holds {array[row, column]:.6g} in column {column}; give finite numbers, and drop or fill "
                "in what is missing."
            )
        if array.dtype == np.float64 and array.size and max(array.max(), -array.min()) > _LARGEST:
            raise ValueError(f"X holds a number beyond {_LARGEST:g}; scale the features.")
        return array


def most_of_each(seen: IntArray, places: int) -> int:
    """Return the largest number of samples per class that fits, the same for every class that has more.

    It never rises from one round to the next, so that no sample is needed that was dropped before.

    Examples
    --------
    >>> most_of_each(np.array([100, 40, 3]), places=43)
    20
    """
    ordered = np.sort(seen)
    left = places
    for i, n in enumerate(ordered):
        share = left // (len(ordered) - i)
        if n > share:
            return int(share)
        left -= int(n)
    return int(ordered[-1])
