"""The pool: every labelled sample of the stream so far, and which of them are kept for validation."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from baserate.protocols import FloatArray, IntArray
from baserate.validation import as_float_array

VALIDATION_SHARE = 0.2
"""Of every five samples one decides when training stops (the paper's 80:20 split of each round)."""


class Pool(NamedTuple):
    """Samples in the order of the stream. Joining makes a new pool: an update that fails leaves the old one."""

    X: NDArray[Any]
    y: IntArray
    held: NDArray[np.bool_]
    """Which samples are for validation."""
    propensity: FloatArray
    """What the tracker gave the sample's own class in the sample's round, before its label was seen: qhat_i(y)."""

    @classmethod
    def empty(cls) -> Self:
        """A pool that has seen nothing, not even how many features there are."""
        return cls(np.empty((0, 0)), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_), np.empty(0))

    def joined(self, X: NDArray[Any], y: IntArray, propensity: FloatArray, rng: np.random.Generator) -> Self:
        """The pool with one more round; a fifth of all samples so far, to the nearest below, are for validation."""
        quota = int(VALIDATION_SHARE * (len(self.y) + len(y)) + 1e-9) - int(self.held.sum())
        held = np.zeros(len(y), dtype=np.bool_)
        held[rng.permutation(len(y))[:quota]] = True
        before = self.X if len(self.y) else np.empty((0, X.shape[1]), X.dtype)
        return type(self)(
            np.concatenate([before, X]),
            np.concatenate([self.y, y]),
            np.concatenate([self.held, held]),
            np.concatenate([self.propensity, propensity]),
        )

    def counts(self, n_classes: int) -> IntArray:
        """How many samples there are of each class."""
        return np.bincount(self.y, minlength=n_classes).astype(np.int64)

    def check_samples(self, X: ArrayLike) -> NDArray[Any]:
        """Check a batch of samples: rows of finite numbers, as many as in the pool. An empty batch is fine.

        They take on the pool's type; the first batch decides whether that is float32 (half the memory) or float64.
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
            with np.errstate(over="ignore"):  # what is too large for the type becomes infinite, and is named below
                array = array.astype(self.X.dtype, copy=False)
        wild = ~np.isfinite(array)
        if wild.any():
            row, column = np.argwhere(wild)[0]
            raise ValueError(
                f"X row {row} holds {array[row, column]:.6g} in column {column}; give finite numbers, and drop or fill "
                "in what is missing."
            )
        return array
