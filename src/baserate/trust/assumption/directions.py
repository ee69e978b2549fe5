"""Bets on directions, learned from the stream's past, in which the outputs of a predicted class have moved.

Regions that are fixed in advance miss a class that was never seen: its outputs lie between those of others, in a place
that is not known beforehand. The past of the stream shows it: for each predicted class, the difference of the mean
log-probabilities from what any class mix explains. This direction is tested on the samples that come next, which did
not contribute to it, and is learned anew as the past grows.

The holdout is split into halves. One half, with the past, determines the direction; the other is tested together with
the stream, as in `two_samples`. The residuals of one direction after the other are added up. On the stream that is a
sum in which each term has mean zero given the past. On the holdout a sample's factor contains the sum over all
directions, which only the stream and the first half have determined.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from baserate.compiled import compiled
from baserate.protocols import FloatArray, IntArray
from baserate.state import Component, declarations
from baserate.state.declarations import LONGEST, Number, Saved, Saves, Whole, flags, floats
from baserate.trust.assumption.regions import FLOOR, LIMIT
from baserate.trust.assumption.schedule import BLOCK, renewal_due, renewals, spent_on_direction

_MOST = 2000  # rows that are kept of each half
_RIDGE = 0.1  # regularisation of covariances, as a part of the mean variance
_BORROWED = 20.0  # pseudo-rows with the common covariance in that of a predicted class
_MOST_OWN = 64  # classes up to which each has a covariance of its own
_FEWEST = 5  # rows of a predicted class, in the past and in the holdout, that its direction is learned from
_LEAST_SINGULAR = 0.05  # of the confusion matrix of either half
_REMEMBERED = 512.0  # weight of earlier blocks, in samples
_LEAST_Z = 2.5  # standard errors below which a bet is not computed, because it cannot win what its look costs
_LARGEST_MOVE = 0.5  # largest change of a factor of the stream
_LARGEST_LOSS = 0.9  # largest loss of a factor of the holdout, for any possible sample
_FOURTH = 0.4237  # log(1 + x) >= x - x^2 / 2 + x^3 / 3 - _FOURTH x^4 from x = -_LARGEST_MOVE on


_LOGS = float(np.log(FLOOR)) - 1e-9, 2e-3  # limits of log-probabilities that are kept; rows may sum to a little over 1
_WIDEST = 1e3  # more than scores and their explained part can reach: see `_LEAST_SINGULAR`


class Half(NamedTuple):
    """Half of the holdout: log-probabilities, labels, predictions, class sizes, and the inverse confusion matrix."""

    logs: FloatArray
    y: IntArray
    predicted: IntArray
    sizes: FloatArray
    inverse: FloatArray


class Mean(NamedTuple):
    """Mean of a log-probability among the predictions of a class, and its value under label shift."""

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
    """Return inverse covariances of log-probabilities by predicted class; a single one if there are many classes."""
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
    """Add up weighted rows by predicted class: weights, their squares, and log-probabilities, (k, 2 + k)."""
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


def _fits_together(saved: Saved) -> str:
    """Check what the bounds on a bet rest on: the halves, and the widths of residuals."""
    state = saved.state
    tested = ~state["_in_guide"]
    if saved.sizes["tested"] != tested.sum() or not tested.any() or tested.all():
        return "has halves of other sizes than it says"
    if abs(state["due"] - renewal_due(state["_renewal"])) > 1e-9 * BLOCK:
        return "is due at another time than it says"
    seen = state["seen"][:, np.newaxis]
    room = 1e-6 * seen
    if (state["sums"] < seen * _LOGS[0] - room).any() or (state["sums"] > seen * _LOGS[1] + room).any():
        return "has sums of other samples than it has seen"
    width = LIMIT + np.abs(state["explained"]).max()
    if (np.abs(state["_residuals"]) > width * (1.0 + 1e-9)).any():
        return "has residuals beyond their limit"
    reached = state["_reached"][state["_labels"][tested]]
    if (np.abs(state["_tilts"]) > reached * (1.0 + 1e-9) + 1e-12).any() or 0.0 < state["_widest"] < LIMIT:
        return "has bets beyond their limit"
    return ""


class Directions(Component, saved_as="assumption_directions"):
    """Learns directions, and accumulates the evidence from betting on them.

    Attributes
    ----------
    slopes : (k, k) array
        The score of a row is ``slopes[c] . logs - centres[c]``, clipped to [-1, 1], for its predicted class c.
    centres, explained : (k,) arrays
        Offsets of the scores, and the part of them that the predicted class explains.
    sums, seen : (k, k) and (k,) arrays
        The past by predicted class: sums of log-probabilities, and number of samples.
    counts : (k,) array
        Number of samples by predicted class since the bet was placed.
    moments : (4,) array
        Sums of the first four powers of the residuals.
    """

    saves = Saves(
        state={
            "_logs": floats("rows", "k", low=_LOGS[0], high=_LOGS[1]),
            "_labels": declarations.labels("rows", "k"),
            "_in_guide": flags("rows"),
            "sums": floats("k", "k"),
            "seen": floats("k", low=0.0, high=LONGEST),
            "counts": floats("k", low=0.0, high=LONGEST),
            "slopes": floats("k", "k", low=-1e200, high=1e200),
            "centres": floats("k", low=-1e250, high=1e250),
            "explained": floats("k", low=-_WIDEST, high=_WIDEST),
            "moments": floats(4, low=-1e30, high=1e30),
            "due": Number(0.0, BLOCK),
            "_residuals": floats("tested"),
            "_tilts": floats("tested"),
            "_reached": floats("k", low=0.0, high=1e30),
            "_widest": Number(0.0, 2.0 * _WIDEST),
            "_size": Whole(),
            "_renewal": Whole(0, renewals()),
            "_block": Whole(),
        },
        may_be_empty=True,
        check=_fits_together,
    )

    def fit(self, proba: FloatArray, y: IntArray) -> Self:
        """Split a holdout into halves, each with the same share of each class."""
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
        """Compute what follows from the holdout and is not saved."""
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

    def add_samples(self, n: int) -> bool:
        """Count n samples that were added to the sums; return whether a `look` is due."""
        self._size += n
        return self.usable and self._size >= self.due

    def look(self, alpha: float) -> float:
        """Return the logarithm of the evidence, less the cost of the look, and learn the next direction."""
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
        """Charge the bet on the latest samples of the stream to the holdout."""
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
        """Return by predicted class: enough data or not; difference of the mean; its relative variance; the sums."""
        guide, n = self._guide, self.seen.sum()
        weights = ((self.seen / n) @ guide.inverse / guide.sizes)[guide.y]
        sums = np.zeros((len(self.seen), 2 + len(self.seen)))
        _weighted_sums(guide.logs, guide.predicted, weights, sums)
        rows = np.bincount(guide.predicted, minlength=len(self.seen))
        enough = (self.seen >= _FEWEST) & (rows >= _FEWEST) & (sums[:, 0] > 0.0)
        return enough, self.sums / n - sums[:, 2:], self.seen / n**2 + sums[:, 1], sums

    def _learn(self) -> None:
        """Learn the most informative direction from the past, scaled like its estimated log-likelihood ratio."""
        k, n = len(self.seen), self.seen.sum()
        enough, gaps, units, sums = self._gaps()
        toward = np.squeeze(self._precision @ gaps[:, :, np.newaxis], axis=2)
        chance = k * units / np.maximum(np.einsum("ij,ij->i", toward, gaps), np.finfo(np.float64).tiny)
        # Noise alone gives a direction, too; its expected size is subtracted.
        steepness = np.where(enough, np.maximum(0.0, 1.0 - chance), 0.0) * n / np.maximum(self.seen, 1.0)
        self.slopes = np.ascontiguousarray(toward * steepness[:, np.newaxis])
        self.centres = np.einsum("ij,ij->i", self.slopes, sums[:, 2:]) / np.where(enough, sums[:, 0], 1.0)
        logs, y, predicted, sizes, inverse = self._tested
        scores = _scores(logs, predicted, self.slopes, self.centres)
        self.explained = inverse @ (np.bincount(y, scores, minlength=k) / sizes)
        self._residuals = scores - self.explained[predicted]

    def furthest_mean(self) -> Mean:
        """Return the mean log-probability of the past that differs most from label shift, in standard errors."""
        enough, gaps, units, _ = self._gaps()
        logs, predicted = self._guide.logs, self._guide.predicted
        spread = np.array(
            [logs[predicted == c].std(axis=0) if enough[c] else np.ones(len(gaps)) for c in range(len(gaps))]
        )
        errors = np.maximum(spread, 1e-3) * np.sqrt(units)[:, np.newaxis]
        # A class that is neither predicted nor in this half of the holdout has no standard error either.
        away = np.divide(np.abs(gaps), errors, out=np.zeros_like(gaps), where=enough[:, np.newaxis])
        c, column = np.unravel_index(int(away.argmax()), gaps.shape)
        share = self.seen[c] / self.seen.sum()
        mean = self.sums[c, column] / self.seen[c]
        return Mean(
            int(c), int(column), float(mean), float(mean - gaps[c, column] / share), float(errors[c, column] / share)
        )

    def set_state(self, state: dict[str, Any]) -> Self:
        super().set_state(state)
        if state:
            self._prepare()
        return self
