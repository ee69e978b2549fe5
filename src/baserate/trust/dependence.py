"""SerialDependence: detects streams whose neighbouring samples are correlated."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from baserate.compiled import compiled
from baserate.protocols import FloatArray, IntArray
from baserate.state import Component
from baserate.state.declarations import LONGEST, Flag, Saved, Saves, Whole, floats
from baserate.validation import check_integer, check_proba

HALF = 1.0 / 3.0
"""Correlation at which samples are worth half as many independent ones: (1 - r) / (1 + r) is 1/2."""
_OVER = 0.25  # correlation below which samples count as independent again
_FEWEST = 50  # pairs of neighbours that are needed
_NO_SPREAD = 1e-9  # variance that is only rounding
STEEPEST = (-5.0, 7.0)
"""Limits of log-odds, so that a few rows of extreme confidence do not dominate."""
_LOWEST, _HIGHEST = STEEPEST


def _fits_together(saved: Saved) -> str:
    """Check that the sums could be those of pairs: by Cauchy-Schwarz, and a correction of at most a fifth."""
    products, variance, pairs = saved.state["_sums"]
    rounding = 1e-300  # what has faded for long has few digits
    if variance < 0.0 or pairs < 0.0 or abs(products) > 1.25 * variance + rounding:
        return "has sums that are none of pairs"
    return ""


class SerialDependence(Component, saved_as="serial_dependence"):
    """Measures whether neighbours in the stream are more alike than their class explains.

    Label shift means that samples are drawn *independently* from a changing class mix. Minute-by-minute sensor
    readings, half-hourly prices or pages of one author are not: the model's output for one sample repeats for the next,
    right or wrong. A few of them then look like overwhelming evidence of another class mix, and following it repeats
    the model's mistakes. No class mix explains such correlation, and no holdout is needed to detect it: among
    neighbours with the same predicted class, the confidence in one must not depend on the confidence in the other.

    Parameters
    ----------
    memory : int
        Number of samples after which past samples have faded to about a third.

    Attributes
    ----------
    correlation_ : float
        Correlation of the log-odds of the predicted class between neighbours with the same one; 0 before there are any.
    low_ : float
        Its lower confidence limit, two standard errors below; -1 before there are 50 pairs.
    dependent_ : bool
        True if neighbours are so correlated that samples are worth less than half as many independent ones: from a
        lower limit of 1/3 on, until the correlation falls below 1/4.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> watch = SerialDependence()
    >>> odds = np.exp(rng.normal(size=2000))
    >>> watch.update(np.column_stack([odds, np.ones(2000)]) / (1 + odds)[:, np.newaxis])
    >>> watch.dependent_
    False
    >>> odds = odds.repeat(3)  # every sample three times
    >>> watch.update(np.column_stack([odds, np.ones(6000)]) / (1 + odds)[:, np.newaxis])
    >>> watch.dependent_, round(watch.correlation_, 1)
    (True, 0.8)
    """

    saves = Saves(
        params={"memory": Whole(1)},
        state={"dependent_": Flag(), "_sums": floats(3, low=-100.0 * LONGEST, high=100.0 * LONGEST)},
        check=_fits_together,
    )

    def __init__(self, memory: int = 2048) -> None:
        self.memory = memory
        check_integer(memory, "memory", 1)
        self._start()

    def _start(self) -> None:
        self.dependent_ = False
        self._sums = np.zeros(3)  # products of neighbours, their variance, and the number of pairs

    def reset(self) -> None:
        """Forget the stream."""
        self._start()

    @property
    def correlation_(self) -> float:
        return float(limits(*self._sums)[0])

    @property
    def low_(self) -> float:
        return float(limits(*self._sums)[1])

    def update(self, proba: ArrayLike) -> None:
        """Update with samples in the order in which they came.

        Parameters
        ----------
        proba : (n, k) array
            The model's probabilities.
        """
        self.take_in(check_proba(proba))

    def take_in(self, rows: FloatArray) -> None:
        """Do what `update` does, without checks, for callers that have made them."""
        if len(rows) == 0:
            return
        self._sums = np.exp(-len(rows) / self.memory) * self._sums + _neighbours(rows)
        dependent = np.array([self.dependent_])
        judge(self._sums[np.newaxis], dependent)
        self.dependent_ = bool(dependent[0])


def _neighbours(rows: FloatArray) -> FloatArray:
    """Return the sum of products of neighbours about their class's mean, their sum of variances, and their number."""
    predicted, largest = most_probable(rows)
    with np.errstate(divide="ignore"):
        sure = np.log(largest) - np.log1p(-largest)
    sums: FloatArray = sum_of_classes(*_pairs(predicted, sure, rows.shape[1]))[0]
    return sums


@compiled
def most_probable(rows: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the most probable class of each row, and its probability."""
    classes, largest = np.empty(len(rows), dtype=np.int64), np.empty(len(rows))
    for i in range(len(rows)):
        best = 0
        for c in range(1, rows.shape[1]):
            if rows[i, c] > rows[i, best]:
                best = c
        classes[i], largest[i] = best, rows[i, best]
    return classes, largest


@compiled
def _pairs(predicted: IntArray, sure: FloatArray, k: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return sums over neighbours of the same class, (1, k): products and variances about its mean, and their number.

    The mean is that of the pairs and not of all samples, because pairs of a class occur mostly while it is frequent.
    """
    products, variances, pairs, means = np.zeros((1, k)), np.zeros((1, k)), np.zeros((1, k)), np.zeros(k)
    for i in range(len(sure)):
        sure[i] = min(max(sure[i], _LOWEST), _HIGHEST)
    for i in range(1, len(sure)):
        c = predicted[i]
        if predicted[i - 1] == c:
            pairs[0, c] += 1.0
            means[c] += sure[i - 1] + sure[i]
    for c in range(k):
        means[c] /= max(2.0 * pairs[0, c], 1.0)
    for i in range(1, len(sure)):
        c = predicted[i]
        if predicted[i - 1] == c:
            first, second = sure[i - 1] - means[c], sure[i] - means[c]
            products[0, c] += first * second
            variances[0, c] += 0.5 * (first * first + second * second)
    return products, variances, pairs


@compiled
def sum_of_classes(products: FloatArray, variances: FloatArray, pairs: FloatArray) -> FloatArray:
    """Return what `judge` looks at, (n, 3), of sums about the mean of each class, (n, k)."""
    out = np.zeros((len(products), 3))
    for i in range(len(products)):
        for c in range(products.shape[1]):
            n = pairs[i, c]
            if n >= 3.0 and variances[i, c] > _NO_SPREAD * n:
                # The product of two independent numbers out of m, about their mean, is -variance / (m - 1) on average.
                out[i, 0] += products[i, c] + variances[i, c] / max(2.0 * n - 1.0, 1.0)
                out[i, 1] += variances[i, c]
                out[i, 2] += n
    return out


@compiled
def limits(products: float, variance: float, pairs: float) -> tuple[float, float]:
    """Return the correlation of neighbours, and its lower limit."""
    correlation = products / variance if variance > 0.0 else 0.0
    return correlation, correlation - 2.0 / np.sqrt(pairs) if pairs >= _FEWEST else -1.0


@compiled
def judge(sums: FloatArray, dependent: NDArray[np.bool_]) -> None:
    """Say of each of several streams whether neighbours are too much alike, in place.

    Parameters
    ----------
    sums : (n, 3) array
        Products of neighbours, their variance, and the number of pairs.
    dependent : (n,) array of bool
        Whether they were before.
    """
    for i in range(len(sums)):
        correlation, low = limits(sums[i, 0], sums[i, 1], sums[i, 2])
        dependent[i] = correlation >= _OVER if dependent[i] else low > HALF
