"""Base class of calibrators that apply ``softmax(scales * log p + biases)``."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.calibrators._fitting import Fit, fit_map
from baserate.calibrators._softmax import apply_map, normalise_rows
from baserate.protocols import FloatArray, IntArray
from baserate.state import Component
from baserate.state.declarations import Number, Saves, floats
from baserate.validation import check_fitted, check_holdout, check_proba

_LEAST_FLOOR = 1e-12
_FLOOR_WITHOUT_ZEROS = 1e-6


SAVED = Saves(
    state={
        "scales_": floats("k", low=1e-300, high=1e9),
        "biases_": floats("k", low=-1e9, high=1e9),
        "floor_": Number(0.0, 0.15),
    },
    may_be_empty=True,
)
"""The declaration of a fitted map."""
WIDTH = Number(0.0, 10.0)
"""The declaration of the width of a prior."""


class SoftmaxMap(Component):
    """Base of calibrators ``softmax(scales_ * log p + biases_)``; a subclass says which parameters are free.

    Probabilities below `floor_` are raised to it before the logarithm. It is half the smallest positive probability of
    the holdout, but at least 1e-12, and at most 0.3 / k if the holdout has zeros (for a forest of 100 trees: 0.005) or
    1e-6 if it has none (as for a softmax, whose small values are meaningful).

    A fitted map with a lower likelihood on the holdout than the model's own probabilities, because of a prior or the
    floor, is replaced by the identity (scales 1, biases 0, floor 0).
    """

    _tied: bool
    _biased: bool

    saves = SAVED

    def fit(self, proba: ArrayLike, y: ArrayLike) -> Self:
        """Learn the map from the holdout.

        Parameters
        ----------
        proba : (n, k) array
            The model's probabilities on labelled samples it was not trained on.
        y : (n,) array of int
            Their labels, as column numbers of `proba`. A class may be missing.
        """
        holdout, labels = check_holdout(proba, y, every_class=False)
        floor = floor_of(holdout)
        fit = fit_map(raised_logs(holdout, floor), labels, tied=self._tied, biased=self._biased)
        if fit.value < log_likelihoods(normalise_rows(holdout), labels).sum():
            k = holdout.shape[1]
            fit, floor = Fit(np.ones(k), np.zeros(k), 0.0, 0.0, 0.0), 0.0
        self._keep(fit)
        self.scales_, self.biases_, self.floor_ = fit.scales, fit.biases, floor
        return self

    def _keep(self, fit: Fit) -> None:
        """Set attributes that only some maps have."""

    def transform(self, proba: ArrayLike) -> FloatArray:
        """Return the calibrated probabilities of a batch."""
        check_fitted(self, "scales_")
        checked = check_proba(proba, len(self.scales_))
        if self.floor_ == 0.0:
            return normalise_rows(checked)
        return apply_map(checked, self.scales_, self.biases_, self.floor_)


def raised_logs(proba: FloatArray, floor: float) -> FloatArray:
    """Return the logarithms of probabilities, those below the floor raised to it."""
    logs = np.maximum(proba, floor)
    return np.asarray(np.log(logs, out=logs))


def floor_of(proba: FloatArray) -> float:
    """Return the value that probabilities of zero are raised to; see `SoftmaxMap`."""
    smallest = float(proba.min())
    cap = _FLOOR_WITHOUT_ZEROS
    if smallest == 0.0:
        smallest = float(np.min(proba, initial=1.0, where=proba > 0.0))
        cap = 0.3 / proba.shape[1]
    return min(max(0.5 * smallest, _LEAST_FLOOR), cap)


def log_likelihoods(proba: FloatArray, labels: IntArray) -> FloatArray:
    """Return the log-probability of each sample's label; -inf where that was ruled out."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(proba[np.arange(len(labels)), labels]))
