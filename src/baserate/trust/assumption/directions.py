"""Bets on directions that the stream's past points to: where, among the predictions of a class, outputs have moved.

Regions that are fixed in advance miss a class that was never seen: its outputs lie between those of others, in a place
that nobody knows before. The past of the stream tells: for each predicted class, how far the mean of the
log-probabilities is from what any class mix makes it. That direction is tested on the samples that come next, which
have had no part in it, and is learned anew as the past grows.

The holdout is split. One half says, with the past, what to test; the other is tested together with the stream, as
`two_samples` tells. The residuals of one direction after the other are added up. On the stream that is
a sum in which each term has mean zero given the past. On the holdout a sample's factor holds the sum over all
directions, which the stream and the first half alone have chosen.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from baserate.compiled import compiled
from baserate.protocols import FloatArray, IntArray
from baserate.state import Component, check_array
from baserate.trust.assumption.regions import FLOOR, LIMIT
from baserate.trust.assumption.schedule import BLOCK, renewal_due, spent_on_direction

_MOST = 2000  # rows kept of each half
_RIDGE = 0.1  # of the mean variance
_BORROWED = 20.0  # rows' worth of the common variance, in that of a predicted class
_MOST_OWN = 64  # classes; with more, the common variance has to do
_FEWEST = 5  # rows of a predicted class, in the past and in the holdout, to learn its direction from
_LEAST_SINGULAR = 0.05  # of the confusion matrix of either half
_REMEMBERED = 512.0  # samples' worth of an earlier block
_LEAST_Z = 2.5  # standard errors below which a bet is not worth working out: it cannot win what its look costs
_LARGEST_MOVE = 0.5  # of a factor of the stream
_LARGEST_LOSS = 0.9  # of a factor of the holdout: no possible sample may cost more
_FOURTH = 0.4237  # log(1 + x) >= x - x^2 / 2 + x^3 / 3 - _FOURTH x^4 from x = -_LARGEST_MOVE on


class Half(NamedTuple):
    """Rows of the holdout, as logarithms; how many there are of each class; the inverse of predictions by class."""

    logs: FloatArray
    y: IntArray
    predicted: IntArray
    sizes: FloatArray
    inverse: FloatArray


class Mean(NamedTuple):
    """A mean of log-probabilities among the predictions of a class, and what label shift explains of it."""

    predicted: int
    column: int
    mean: float
    expected: float
    error: float


def _half(logs: FloatArray, y: IntArray) -> Half:
    k = logs.shape[1]
    predicted = logs.argmax(axis=1)
    sizes = np.bincount(y, minlength=k).astype(np.float64)
    confusion = np.zeros((k, k))
    np.add.at(confusion, (y, predicted), 1.0)
    confusion /= np.maximum(sizes, 1.0)[:, np.newaxis]
    told_apart = np.linalg.svd(confusion, compute_uv=False)[-1] > _LEAST_SINGULAR
    inverse = np.asarray(np.linalg.inv(confusion) if told_apart else np.zeros((0, 0)), dtype=np.float64)
    return Half(logs, y, predicted, sizes, inverse)


def _precisions(guide: Half) -> FloatArray:
    """Inverses of the variances of log-probabilities within each predicted class; or one for all, if they are many."""
    k = guide.logs.shape[1]
    spreads = [rows - rows.mean(axis=0) for c in range(k) if len(rows := guide.logs[guide.predicted == c])]
    common = sum(spread.T @ spread for spread in spreads) / len(guide.logs)
    found = [common]
    if k <= _MOST_OWN:
        found = []
        for c in range(k):
            rows = guide.logs[guide.predicted == c]
            spread = rows - rows.mean(axis=0) if len(rows) else rows
            found.append((spread.T @ spread + _BORROWED * common) / (len(rows) + _BORROWED))
    steadied = [v + (_RIDGE * np.trace(v) / k + np.finfo(np.float64).tiny ** 0.5) * np.eye(k) for v in found]
    return np.linalg.inv(np.array(steadied))


@compiled
def _weighted_sums(logs: FloatArray, predicted: IntArray, weights: FloatArray, sums: FloatArray) -> None:
    """Add weighted rows up by predicted class: (k, 2 + k) weights, their squares, and logarithms."""
    for i in range(len(logs)):
        c, weight = predicted[i], weights[i]
        sums[c, 0] += weight
        sums[c, 1] += weight * weight
        for j in range(logs.shape[1]):
            sums[c, 2 + j] += weight * logs[i, j]


@compiled
def _scores(logs: FloatArray, predicted: IntArray, slopes: FloatArray, centres: FloatArray) -> FloatArray:
    scores = np.empty(len(logs))
    for i in range(len(logs)):
        c = predicted[i]
        score = -centres[c]
        for j in range(logs.shape[1]):
            score += slopes[c, j] * logs[i, j]
        scores[i] = min(max(score, -LIMIT), LIMIT)
    return scores


class Directions(Component, saved_as="assumption_directions"):
    """Learns directions and keeps the account of what came of them.

    Attributes
    ----------
    slopes : (k, k) array
        The score of a row is ``slopes[c] . logs - centres[c]``, cut off at one, for its predicted class c.
    centres, explained : (k,) arrays
        Where scores are zero, and what the predicted class explains of them.
    sums, seen : (k, k) and (k,) arrays
        The past by predicted class: sums of logarithms, and samples.
    counts : (k,) array
        Samples by predicted class since the bet was placed.
    moments : (4,) array
        Sums of the first powers of the residuals.
    """

    def fit(self, proba: FloatArray, y: IntArray) -> Self:
        """Split a holdout in halves, each with the same share of each class."""
        step = 2 * max(1, -(-len(y) // (2 * _MOST)))
        part = np.full(len(y), -1)
        for c in range(proba.shape[1]):
            rows = np.flatnonzero(y == c)
            part[rows[::step]], part[rows[1::step]] = 0, 1
        logs = np.log(np.maximum(proba, FLOOR))
        self._logs, self._labels, self._in_guide = logs[part >= 0], y[part >= 0], part[part >= 0] == 0
        self._prepare()
        self.start()
        return self

    def _prepare(self) -> None:
        """What follows from the holdout, and is worked out anew rather than saved."""
        guide = self._in_guide
        self._guide, self._tested = (
            _half(self._logs[guide], self._labels[guide]),
            _half(self._logs[~guide], self._labels[~guide]),
        )
        self.usable = len(self._guide.inverse) > 0 and len(self._tested.inverse) > 0
        self._precision = _precisions(self._guide)

    def start(self) -> None:
        """Forget the stream."""
        k = self._logs.shape[1]
        self.sums, self.seen, self.counts = np.zeros((k, k)), np.zeros(k), np.zeros(k)
        self.slopes, self.centres, self.explained = np.zeros((k, k)), np.zeros(k), np.zeros(k)
        self._residuals = np.zeros(len(self._tested.y))
        self._block = 0
        self._start_block()

    def _start_block(self) -> None:
        self.moments, self._size, self._renewal, self.due = np.zeros(4), 0, 0, renewal_due(0)
        self._tilts, self._reached, self._widest = np.zeros(len(self._tested.y)), np.zeros(len(self.seen)), 0.0

    def get_state(self) -> dict[str, Any]:
        derived = ("_guide", "_tested", "_precision", "usable")
        return {name: value for name, value in super().get_state().items() if name not in derived}

    def grow(self, n: int) -> bool:
        """Note that so many samples were taken in; whether it is time to `look`."""
        self._size += n
        return self.usable and self._size >= self.due

    def look(self, alpha: float) -> float:
        """The logarithm of the evidence, with what was spent on the look taken off; then the next direction."""
        self._settle()
        share = spent_on_direction(self._block)
        found = self._log_evidence(-np.log(share * alpha)) + np.log(share)
        if self._size >= BLOCK:
            self._block += 1
            self._start_block()
            kept = min(1.0, _REMEMBERED / self.seen.sum())
            self.sums, self.seen = self.sums * kept, self.seen * kept
        else:
            while renewal_due(self._renewal) <= self._size:
                self._renewal += 1
            self.due = renewal_due(self._renewal)
        self._learn()
        return float(found)

    def _settle(self) -> None:
        """Put what the bet did on the samples of the stream against the holdout."""
        tested = self._tested
        if self.slopes.any():
            ratio = (self.counts @ tested.inverse) / tested.sizes
            width = LIMIT + float(np.abs(self.explained).max())
            self._tilts = self._tilts + ratio[tested.y] * self._residuals
            self._reached = self._reached + np.abs(ratio) * width
            self._widest = max(self._widest, width)
        self.counts = np.zeros(len(self.counts))

    def _log_evidence(self, log_inverse: float) -> float:
        first, second, third, fourth = self.moments
        variance = second + self._tilts @ self._tilts
        if not first > _LEAST_Z * np.sqrt(variance) or self._widest == 0.0:
            return -np.inf
        bet = min(
            np.sqrt(2.0 * log_inverse / variance), _LARGEST_MOVE / self._widest, _LARGEST_LOSS / self._reached.max()
        )
        of_stream = bet * first - bet**2 * second / 2.0 + bet**3 * third / 3.0 - _FOURTH * bet**4 * fourth
        return float(of_stream + np.log1p(-bet * self._tilts).sum())

    def _gaps(self) -> tuple[NDArray[np.bool_], FloatArray, FloatArray, FloatArray]:
        """By predicted class: is there enough; the gap of the mean; its variance, in that of one sample; the sums."""
        guide, n = self._guide, self.seen.sum()
        weights = ((self.seen / n) @ guide.inverse / guide.sizes)[guide.y]
        sums = np.zeros((len(self.seen), 2 + len(self.seen)))
        _weighted_sums(guide.logs, guide.predicted, weights, sums)
        rows = np.bincount(guide.predicted, minlength=len(self.seen))
        enough = (self.seen >= _FEWEST) & (rows >= _FEWEST) & (sums[:, 0] > 0.0)
        return enough, self.sums / n - sums[:, 2:], self.seen / n**2 + sums[:, 1], sums

    def _learn(self) -> None:
        """The most telling direction by what is known so far, as steep as its likelihood ratio seems to be."""
        k, n = len(self.seen), self.seen.sum()
        enough, gaps, units, sums = self._gaps()
        toward = np.squeeze(self._precision @ gaps[:, :, np.newaxis], axis=2)
        chance = k * units / np.maximum(np.einsum("ij,ij->i", toward, gaps), np.finfo(np.float64).tiny)
        # Chance alone would find a direction as well: as much as it is expected to find is taken off.
        steepness = np.where(enough, np.maximum(0.0, 1.0 - chance), 0.0) * n / np.maximum(self.seen, 1.0)
        self.slopes = np.ascontiguousarray(toward * steepness[:, np.newaxis])
        self.centres = np.einsum("ij,ij->i", self.slopes, sums[:, 2:]) / np.where(enough, sums[:, 0], 1.0)
        logs, y, predicted, sizes, inverse = self._tested
        scores = _scores(logs, predicted, self.slopes, self.centres)
        self.explained = inverse @ (np.bincount(y, scores, minlength=k) / sizes)
        self._residuals = scores - self.explained[predicted]

    def furthest(self) -> Mean:
        """The log-probability of the past that is furthest from what label shift explains, in standard errors."""
        enough, gaps, units, _ = self._gaps()
        logs, predicted = self._guide.logs, self._guide.predicted
        spread = np.array(
            [logs[predicted == c].std(axis=0) if enough[c] else np.ones(len(gaps)) for c in range(len(gaps))]
        )
        errors = np.maximum(spread, 1e-3) * np.sqrt(units)[:, np.newaxis]
        # Of a class that was neither predicted nor is in the holdout's half, there is not even an error.
        away = np.divide(np.abs(gaps), errors, out=np.zeros_like(gaps), where=enough[:, np.newaxis])
        c, column = np.unravel_index(int(away.argmax()), gaps.shape)
        share = self.seen[c] / self.seen.sum()
        mean = self.sums[c, column] / self.seen[c]
        return Mean(
            int(c), int(column), float(mean), float(mean - gaps[c, column] / share), float(errors[c, column] / share)
        )

    def set_state(self, state: dict[str, Any]) -> Self:
        super().set_state(state)
        if hasattr(self, "_logs"):
            n, k = self._logs.shape
            check_array(self._labels, "_labels", np.empty(n, dtype=np.int64))
            check_array(self._in_guide, "_in_guide", np.empty(n, dtype=bool))
            if not self._in_guide.any() or self._labels.min() < 0 or self._labels.max() >= k:
                raise ValueError("the labels do not belong to the rows")
            for name in ("sums", "slopes"):
                check_array(getattr(self, name), name, np.empty((k, k)))
            for name in ("seen", "counts", "centres", "explained", "_reached"):
                check_array(getattr(self, name), name, np.empty(k))
            check_array(self.moments, "moments", np.empty(4))
            for name in ("_tilts", "_residuals"):
                check_array(getattr(self, name), name, np.empty(int((~self._in_guide).sum())))
            self._prepare()
        return self
