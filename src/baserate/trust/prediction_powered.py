"""Prediction-powered estimates: a mean over all samples of what a model says, put right by those with a label.

Angelopoulos, Bates, Fannjiang, Jordan, Zrnic, "Prediction-powered inference", Science 2023; with the power tuning of
Angelopoulos, Duchi, Zrnic, "PPI++: Efficient Prediction-Powered Inference", 2023.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from baserate.protocols import FloatArray, IntArray

FEWEST = 20.0
"""Labels with which an estimate and its limits are theirs, and no longer the model's."""
_PSEUDO = 0.25  # squared residuals of a label that is known beforehand, so that a few lucky labels do not look certain
_FITTED = 4.0  # labels that are spent on the share and on how much of the model is used
_AGREE = 0.7  # level of the limits of narrow windows that a wider one must be within


class LabelledSums(NamedTuple):
    """Weighted sums over labelled samples, of any shape: one entry for each quantity that is estimated.

    A sample's weight is one over the probability with which it was chosen to be labelled, or 1 if that was the same
    for all.

    Attributes
    ----------
    weight, squares : array
        Sums of weights, and of their squares.
    y, f, yf, ff : array
        Sums of outcomes (0 or 1), of what the model says of them, and of their products.
    """

    weight: FloatArray
    squares: FloatArray
    y: FloatArray
    f: FloatArray
    yf: FloatArray
    ff: FloatArray

    @property
    def n(self) -> FloatArray:
        """As many samples of equal weight would tell as much (Kish)."""
        return np.divide(self.weight**2, self.squares, out=np.zeros_like(self.weight), where=self.squares > 0.0)


def labelled_sums(y: FloatArray, f: FloatArray, weights: FloatArray | None = None) -> LabelledSums:
    """Sum over the first axis of outcomes and of what the model says of them, (n, ...)."""
    w = np.ones(len(y)) if weights is None else weights
    w = np.broadcast_to(w.reshape(-1, *(1,) * (y.ndim - 1)), y.shape)
    return LabelledSums(*((w * part).sum(axis=0) for part in (np.ones_like(y), w, y, f, y * f, f * f)))


class Powered(NamedTuple):
    """An estimated share, and the number of labels that would tell as much without a model."""

    value: FloatArray
    n: FloatArray

    def limits(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Limits of the share, by Wilson's score interval with `n` labels."""
        return wilson(self.value, self.n, level)


class Widest(NamedTuple):
    """The estimate of the widest window that agrees with all narrower ones, and which window that is."""

    found: Powered
    window: IntArray


def widest(windows: Powered) -> Widest:
    """Choose among estimates of the same shares in windows that widen, (m, ...), each share by itself.

    A window is taken if its estimate lies within the 70 % limits of every narrower one that was; from the first
    that does not, none is. Windows whose estimate is NaN are left out; where all are, so is what is returned, with -1.

    Examples
    --------
    >>> chosen = widest(Powered(np.array([0.3, 0.32, 0.6]), np.array([20.0, 80.0, 320.0])))
    >>> float(chosen.found.value), int(chosen.window)
    (0.32, 1)
    """
    shape = windows.value.shape[1:]
    value, size, place = np.full(shape, np.nan), np.zeros(shape), np.full(shape, -1)
    low, high, open_ = np.zeros(shape), np.ones(shape), np.full(shape, True)
    for m, (share, n) in enumerate(zip(*windows, strict=True)):
        known = ~np.isnan(share)
        open_ &= ~known | ((share >= low) & (share <= high))
        taken = open_ & known
        value, size, place = np.where(taken, share, value), np.where(taken, n, size), np.where(taken, m, place)
        least, most = wilson(np.where(known, share, 0.5), n, _AGREE)
        low, high = np.where(taken, np.maximum(low, least), low), np.where(taken, np.minimum(high, most), high)
    return Widest(Powered(value, size), place)


def powered(labelled: LabelledSums, mean: FloatArray, n_all: FloatArray, *, tuned: bool = True) -> Powered:
    """Estimate the share of an outcome among all samples, of which some were labelled at random.

    Nothing is assumed of the model: if what it says has nothing to do with the outcome, the estimate is the share among
    the labels.

    Parameters
    ----------
    labelled : LabelledSums
    mean : array
        Mean of what the model says of all samples, those without a label included.
    n_all : array
        Their number.
    tuned : bool
        Use as much of the model as makes the variance smallest; else all of it.

    Examples
    --------
    >>> y, f = np.array([1.0, 0.0, 1.0, 1.0] * 25), np.array([0.9, 0.2, 0.8, 0.7] * 25)
    >>> found = powered(labelled_sums(y, f), np.array(0.70), np.array(10_000.0))
    >>> float(found.value.round(3)), float(found.n.round()) > 100
    (0.798, True)
    """
    total = np.maximum(labelled.weight, 1e-300)
    y, f = labelled.y / total, labelled.f / total
    n = labelled.n
    var_y, var_f = np.maximum(y - y * y, 0.0), np.maximum(labelled.ff / total - f * f, 0.0)
    cov = labelled.yf / total - y * f
    part = np.ones_like(y)
    if tuned:
        part = np.clip(cov / np.maximum(var_f, 1e-12), 0.0, 1.0)
        part = part * n * var_f / (n * var_f + _PSEUDO)  # a slope of few labels is no slope
    value = np.clip(y + part * (mean - f), 0.0, 1.0)
    residual = np.maximum(var_y - 2.0 * part * cov + part * part * var_f, 0.0)
    ratio = (n * residual + _PSEUDO) / (n * var_y + _PSEUDO)
    unseen = np.maximum(1.0 - n / np.maximum(n_all, 1.0), 1e-9)
    # Two of the residuals are not free, and a t distribution has wider limits than a normal one. Both together are
    # (n - 2) / n (z / t)^2, which is nearly this at levels of 80 to 95 %.
    free = n / (n + _FITTED)
    return Powered(value, n * free / np.maximum(ratio * unseen, 1e-9))


def wilson(share: FloatArray, n: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's score interval of a share that was seen in n samples; 0 to 1 where there are none.

    Examples
    --------
    >>> low, high = wilson(np.array(0.0), np.array(50.0), 0.9)
    >>> float(low), float(high.round(3))
    (0.0, 0.051)
    """
    z2 = float(ndtri(0.5 + 0.5 * level)) ** 2
    count = np.maximum(n, 1e-9)
    centre = (share + 0.5 * z2 / count) / (1.0 + z2 / count)
    half = np.sqrt(z2 / count * (share * (1.0 - share) + 0.25 * z2 / count)) / (1.0 + z2 / count)
    low, high = np.clip(centre - half, 0.0, 1.0), np.clip(centre + half, 0.0, 1.0)
    return np.minimum(low, share), np.maximum(high, share)
