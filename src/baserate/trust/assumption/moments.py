"""MomentTest: a test of label shift by the means and the products of log-probabilities.

Whatever path the class mix takes, the mean of any function of the outputs is a mixture of its means over the classes.
Here the functions are the log-probabilities, their squares, and their products. The distance of the stream's means to
the nearest mixture of the holdout's is measured by the covariance of the difference, of stream and holdout.

Counts in cells see a change where many rows move out of a cell. Moments see one that moves all rows by a little, or
that makes classes agree which did not: a class that is unknown to the model lies between those that it knows.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import fdtrc

from baserate.protocols import FloatArray, IntArray
from baserate.state import Component, declarations
from baserate.state.declarations import Number, Saved, Saves, Whole, floats, ints, probabilities
from baserate.trust._kept_holdout import subsample
from baserate.trust.assumption.findings import NUMBERS, are_moment_findings, moment_finding
from baserate.trust.assumption.hull import MOST_EVIDENCE
from baserate.trust.assumption.mixtures import LEAST, least

FEWEST = 20
"""Samples of each class in the holdout that the test takes."""
MOST_CLASSES = 30
"""Number of classes up to which there is the test."""
_NUMBERS, _ROWS = 40_000, 2000  # probabilities of the holdout that are kept, and rows in any case
_FLOOR = 1e-4  # least probability before the logarithm
_FURTHEST = 3.0  # standard deviations from the mean, beyond which a log-probability counts as that far
_DIRECTIONS = 10  # of the log-probabilities of many classes, of which there are squares and products
_PER_PRODUCT = 8  # rows of the holdout for each function that products take
_BORROWED = 20.0  # pseudo-rows with the common covariance in that of a class
_WINDOW, _PART = 2000, 8  # samples after which the window begins anew, later a part of the stream
_ENOUGH, _ONE_IN = 5000, 4  # samples, from which on every fourth one will do: what is not known is the holdout
_FIRST, _GROWTH = 400.0, 1.3  # samples at the first look at the whole stream, and their ratio from look to look
_WHOLE = 0.6  # share of the error probability for the whole stream
_PASSES = 3  # the covariance depends on the mix, and the mix on the covariance
_DUST = 1e-6  # added to variances, as a share, so that each matrix has an inverse


class Moments(NamedTuple):
    """The means of some functions of the outputs in each class, and their covariances.

    Attributes
    ----------
    places : (d,) array of int
        Which functions these are.
    means : (k, d) array
    covariances : (k, d, d) array
        Of a single sample.
    sizes : (k,) array
        Number of samples of each class.
    tails : float
        The factor by which samples count for less in the covariances, 1 for normal ones: the square of the kurtosis.
    """

    places: IntArray
    means: FloatArray
    covariances: FloatArray
    sizes: FloatArray
    tails: float


class Look(NamedTuple):
    """The distance of a stream from the nearest mixture: its p-value, and each function's residual and error."""

    p: float
    residual: FloatArray
    errors: FloatArray


def moments(values: FloatArray, labels: IntArray, k: int, places: IntArray) -> Moments:
    """Return the moments of some functions, given the values of all of them on a holdout, (n, functions)."""
    values = values[:, places]
    sizes = np.bincount(labels, minlength=k).astype(np.float64)
    means = np.array([values[labels == c].mean(axis=0) for c in range(k)])
    away, d = values - means[labels], len(places)
    common = away.T @ away / (len(values) - k)
    own = [away[labels == c].T @ away[labels == c] for c in range(k)]
    covariances = np.array([(own[c] + _BORROWED * common) / (sizes[c] - 1.0 + _BORROWED) for c in range(k)])
    steadied = common + np.diag(_DUST * common.diagonal() + np.finfo(np.float64).tiny ** 0.5)
    lengths = ((away @ np.linalg.inv(steadied)) * away).sum(axis=1)
    kurtosis = float((lengths**2).mean() / (d * (d + 2.0)))
    return Moments(places, means, covariances, sizes, max(kurtosis, 1.0) ** 2)


def look(seen: FloatArray, n: float, of: Moments) -> Look:
    """Compare the means of the functions over n samples of a stream, (d,), with all mixtures of the classes.

    The covariance is estimated, so that it is Hotelling's T^2 that is computed; classes share its degrees of freedom
    by how much each contributes (Satterthwaite). Samples with heavy tails count for less there.
    """
    d, mix = len(seen), of.sizes / of.sizes.sum()
    squares = of.covariances + of.means[:, :, np.newaxis] * of.means[:, np.newaxis, :]
    differences = seen - of.means
    for _ in range(_PASSES):
        mean = mix @ of.means
        stream = (np.tensordot(mix, squares, 1) - np.outer(mean, mean)) / n
        covariance = stream + np.tensordot(mix**2 / of.sizes, of.covariances, 1)
        covariance.ravel()[:: d + 1] += _DUST * covariance.diagonal() + np.finfo(np.float64).tiny ** 0.5
        inverse = np.linalg.inv(covariance)
        products = differences @ inverse @ differences.T
        mix = least(products, mix)
    contributed = (mix**2 / of.sizes + mix / n) * (of.covariances.reshape(len(mix), -1) @ inverse.ravel()) / d
    degrees = 1.0 / float((contributed**2 * of.tails / (of.sizes - 1.0)).sum())
    free = max(d - int((mix > LEAST).sum()) + 1, 1)  # the mix has been fitted
    left = degrees - free + 1.0
    p = 1.0
    if left >= free:  # else the covariance is not known well enough
        p = float(fdtrc(free, left, max(float(mix @ products @ mix), 0.0) * left / (degrees * free)))
    return Look(p, seen - mix @ of.means, np.sqrt(covariance.diagonal()))


def _fits_together(saved: Saved) -> str:
    state, k = saved.state, saved.sizes["k"]
    if k > MOST_CLASSES or np.bincount(state["_labels"], minlength=k).min() < FEWEST:
        return "tests with too few samples, or too many classes"
    if saved.sizes["functions"] != k + _n_products(k):
        return "has sums of other functions than it has"
    if state["_sizes"][0] >= _due(state["_looks"]) or state["_sizes"][1] >= _window(state["_sizes"][0]):
        return "missed a look"
    furthest = max(_FURTHEST, _FURTHEST**2 * k) * (1.0 + 1e-9)
    if (np.abs(state["_sums"]) > furthest * state["_sizes"][:, np.newaxis]).any():
        return "has sums of other samples than it has seen"
    if len(state["_findings"]) > 1 or not are_moment_findings(state["_findings"], k):
        return "has findings of other classes"
    return ""


def _due(looks: int) -> float:
    return _FIRST * _GROWTH**looks


def _window(whole: int) -> int:
    """Return the size of a window of a stream."""
    return max(_WINDOW, int(whole) // _PART)


def _n_products(k: int) -> int:
    d = min(k, _DIRECTIONS)
    return d * (d + 1) // 2


class MomentTest(Component, saved_as="assumption_moments"):
    """Tests whether a stream's outputs are a mixture of the holdout's classes, by means of log-probabilities.

    Log-probabilities count in standard deviations of the holdout, at most three. There are two tests: of their means
    and squares, and, with more than two classes and a holdout that is large enough, of their products as well. With
    more than ten classes, squares and products are those of their ten leading directions. It takes 20 samples of every
    class, and at most 30 classes.

    It looks at the whole stream each time it has grown by three tenths, and at windows of 2,000 samples, later of
    the eighth part of the stream. From 5,000 samples on it takes every fourth one. Looks at the
    whole stream rest on the same holdout: the more the stream grows, the more they are alike, and all of them together
    count as about ``3 + 2.8 log(1 + n / 400)`` independent ones, for a holdout of n. Its error probability holds in the
    limit of many samples, and has been measured; it is no bound at any time.

    Attributes
    ----------
    log_evidence : float
        Logarithm of the share of the error probability that was spent on the strongest look over its p-value.
    """

    saves = Saves(
        state={
            "_proba": probabilities("rows", "k"),
            "_labels": declarations.labels("rows", "k"),
            "_sums": floats(2, "functions"),
            "_sizes": ints(2, low=0),
            "_turns": Whole(),
            "_looks": Whole(0, 200),
            "log_evidence": Number(0.0, MOST_EVIDENCE),
            "_findings": floats("findings", NUMBERS),
        },
        may_be_empty=True,
        check=_fits_together,
    )

    @classmethod
    def suits(cls, labels: IntArray, k: int) -> bool:
        """Return whether a holdout has enough samples of each class, and few enough classes."""
        return k <= MOST_CLASSES and bool(np.bincount(labels, minlength=k).min() >= FEWEST)

    def fit(self, proba: FloatArray, labels: IntArray) -> Self:
        """Learn the classes of a holdout that `suits`, and start anew."""
        k = proba.shape[1]
        kept = subsample(labels, np.bincount(labels, minlength=k), max(_NUMBERS // k, _ROWS), least=FEWEST)
        self._proba, self._labels = proba[kept], labels[kept]
        self._prepare()
        self.start()
        return self

    def _prepare(self) -> None:
        """Compute what scales the functions; it follows from the holdout and is not saved."""
        logs = np.log(np.maximum(self._proba, _FLOOR))
        self._centre, self._scale = logs.mean(axis=0), np.maximum(logs.std(axis=0), 1e-2)
        k = self._proba.shape[1]
        self._directions: FloatArray | None = None
        if k > _DIRECTIONS:
            _, found = np.linalg.eigh(np.cov(self._scaled(self._proba).T))
            self._directions = np.ascontiguousarray(found[:, : -_DIRECTIONS - 1 : -1])
        self._pairs = np.triu_indices(min(k, _DIRECTIONS))
        self._classes: list[Moments] = []

    def start(self) -> None:
        """Forget the stream."""
        k = self._proba.shape[1]
        self._sums, self._sizes = np.zeros((2, k + _n_products(k))), np.zeros(2, dtype=np.int64)
        self._turns = self._looks = 0
        self.log_evidence, self._findings = 0.0, np.zeros((0, NUMBERS))

    def get_state(self) -> dict[str, Any]:
        derived = ("_centre", "_scale", "_directions", "_pairs", "_classes")
        return {name: value for name, value in super().get_state().items() if name not in derived}

    def set_state(self, state: dict[str, Any]) -> Self:
        super().set_state(state)
        if state:
            self._prepare()
        return self

    def _scaled(self, rows: FloatArray) -> FloatArray:
        logs = np.maximum(rows, _FLOOR)
        np.log(logs, out=logs)
        logs -= self._centre
        logs /= self._scale
        np.maximum(logs, -_FURTHEST, out=logs)
        return np.minimum(logs, _FURTHEST, out=logs)

    def classes(self) -> list[Moments]:
        """Return what the holdout says of each test's functions: of means and squares, and with products."""
        if not self._classes:
            scaled, k = self._scaled(self._proba), self._proba.shape[1]
            turned = scaled if self._directions is None else scaled @ self._directions
            first, second = self._pairs
            values = np.column_stack([scaled, turned[:, first] * turned[:, second]])
            squares = np.append(np.arange(k), k + np.flatnonzero(first == second))
            self._classes = [moments(values, self._labels, k, squares)]
            if k > 2 and len(values) >= _PER_PRODUCT * values.shape[1]:
                self._classes.append(moments(values, self._labels, k, np.arange(values.shape[1])))
        return self._classes

    def add(self, rows: FloatArray) -> None:
        """Add up the functions of samples, and look if a look is due."""
        if self._sizes[0] >= _ENOUGH:
            rows = rows[::_ONE_IN]
        scaled = self._scaled(rows)
        turned = scaled if self._directions is None else scaled @ self._directions
        self._sums[:, : scaled.shape[1]] += np.add.reduce(scaled, axis=0)
        self._sums[:, scaled.shape[1] :] += (turned.T @ turned)[self._pairs]
        self._sizes += len(rows)
        if self._sizes[0] >= _due(self._looks):
            while _due(self._looks + 1) <= self._sizes[0]:
                self._looks += 1  # after a large batch, only the last look that is due
            self._looks += 1
            self._look(0, _WHOLE / (3.0 + 2.8 * np.log1p(len(self._labels) / _FIRST)))
        if self._sizes[1] >= _window(self._sizes[0]):
            if self._turns > 0:  # in the first, the window holds what the whole stream does
                self._look(1, (1.0 - _WHOLE) / (self._turns * (self._turns + 1.0)))
            self._turns += 1
            self._sums[1], self._sizes[1] = 0.0, 0

    def _look(self, window: int, share: float) -> None:
        """Look at a window with a share of the error probability, which the tests divide."""
        n = float(self._sizes[window])
        for of in self.classes():
            found = look(self._sums[window, of.places] / n, n, of)
            log = float(np.log(share / len(self.classes())) - np.log(max(found.p, 1e-300)))
            if log > self.log_evidence:
                self.log_evidence = min(log, MOST_EVIDENCE)
                self._findings = self._describe(found, self._sums[window] / n)

    def _describe(self, found: Look, seen: FloatArray) -> FloatArray:
        """Return the class whose log-probability has moved or spread most, in standard errors, as a row of numbers."""
        k = self._proba.shape[1]
        named = 2 * k if k <= _DIRECTIONS else k  # squares of directions are of no single class
        if len(found.residual) > 2 * k and named > k:
            squares = k + np.flatnonzero(self._pairs[0] == self._pairs[1])
            places = np.append(np.arange(k), squares)
        else:
            places = np.arange(named)
        worst = int(np.abs(found.residual / found.errors)[places].argmax())
        c, gap, error = worst % k, float(found.residual[places[worst]]), float(found.errors[places[worst]])
        evidence = float(np.exp(self.log_evidence))
        if worst < k:
            mean = float(self._centre[c] + self._scale[c] * seen[c])
            return moment_finding(c, False, mean, mean - self._scale[c] * gap, self._scale[c] * error, evidence)
        square = k + int(np.flatnonzero(self._pairs[0] == self._pairs[1])[c])
        spread = float(seen[square])
        return moment_finding(c, True, spread, spread - gap, error, evidence)

    @property
    def findings(self) -> FloatArray:
        """The largest deviation at the look that gave the evidence, as a row of numbers; see `findings.to_findings`."""
        return self._findings
