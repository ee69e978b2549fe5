"""OptimalFixed (OFC): the best fixed re-weighting, known only in hindsight."""

from collections.abc import Iterable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from baserate.adapters._reweighting import SAVED, ReweightingAdapter
from baserate.adapters._source import calibrate, learn_source
from baserate.protocols import Batch, Calibrator, FloatArray, IntArray
from baserate.simplex import normalise
from baserate.state.declarations import Maybe, Plain, priors
from baserate.validation import check_labels, check_path, check_proba

_SWEEPS = 20
_EDGE = 50.0  # how far beyond the outermost threshold an unbounded offset is put


class OptimalFixed(ReweightingAdapter, saved_as="optimal_fixed"):
    """Re-weights every round to one and the same prior: the one that makes the fewest mistakes on the whole stream.

    Nobody can play it, because it is chosen with the labels; it is what a method that does not follow the drift is
    measured against. From several starts (the mean of the class mixes, the label frequencies, the source prior and the
    minimum of the log loss, which is a convex problem) each class's weight is moved in turn to where mistakes are
    fewest, exactly, until no move helps. So it is never worse in hindsight than any of the starts. A search tries
    k moves of O(m log m) each, for m samples and k classes, some times over.

    Parameters
    ----------
    stream_proba : (m, k) array
        The model's probabilities on all samples of the stream.
    stream_y : (m,) array of int
        Their labels.
    path : (T, k) array, optional
        The true class mixes, if known; their mean is one more start.
    calibrator : Calibrator, "auto" or None
        Calibrates the probabilities first; as in `RegressAndReweight`.
    source_prior : (k,) array, optional
        The class mix the model was trained on. Default: the holdout's, as `RegressAndReweight` finds it.

    Examples
    --------
    >>> from baserate.shifts import Constant, sample_stream
    >>> pool, y = [[0.9, 0.1], [0.6, 0.4], [0.55, 0.45], [0.2, 0.8]], [0, 0, 1, 1]
    >>> stream = list(sample_stream(pool, y, Constant([0.1, 0.9]), n_rounds=50, rng=0, batch_size=2))
    >>> best = OptimalFixed.from_stream(stream, calibrator=None).fit(pool, y)
    >>> int(best.predict_proba([[0.55, 0.45]]).argmax())
    1
    """

    saves = SAVED.extended(
        {"stream_proba": Plain(), "stream_y": Plain(), "path": Maybe(Plain())}, {"_prior": priors("k")}
    )

    def __init__(
        self,
        stream_proba: ArrayLike,
        stream_y: ArrayLike,
        path: ArrayLike | None = None,
        *,
        calibrator: Calibrator | Literal["auto"] | None = "auto",
        source_prior: ArrayLike | None = None,
    ) -> None:
        self.stream_proba = stream_proba
        self.stream_y = stream_y
        self.path = path
        self.calibrator = calibrator
        self.source_prior = source_prior

    @classmethod
    def from_stream(cls, stream: Iterable[Batch], **params: Any) -> Self:
        """Made from the batches of a stream; `params` are those of the constructor."""
        batches = list(stream)
        if not batches:
            raise ValueError("stream has no rounds; give at least one batch.")
        proba = np.concatenate([batch.proba for batch in batches])
        y = np.concatenate([batch.y for batch in batches])
        return cls(proba, y, np.array([batch.q for batch in batches]), **params)

    def fit(self, proba: ArrayLike | None = None, y: ArrayLike | None = None) -> Self:
        source = learn_source(proba, y, self.source_prior, self.calibrator)
        k = len(source.prior)
        stream = check_proba(self.stream_proba, k, "stream_proba")
        labels = check_labels(self.stream_y, len(stream), k, "stream_y")
        if len(stream) == 0:
            raise ValueError("stream_proba is empty; give the samples of a stream.")
        starts = [source.prior, np.bincount(labels, minlength=k) / len(labels)]
        if self.path is not None:
            starts.append(normalise(normalise(check_path(self.path, k, "path")).mean(axis=0)))
        calibrated = calibrate(stream, source.calibrator, source.offsets)
        self._prior = best_prior(calibrated, labels, source.prior, starts)
        self._begin(source)
        return self

    def _restart(self) -> None:
        self.rounds_ = 0

    def _current_prior(self) -> FloatArray:
        return self._prior

    def _observe(self, proba: FloatArray, labels: IntArray | None) -> None:
        pass

    @classmethod
    def examples(cls) -> list[Self]:
        proba = [[0.8, 0.1, 0.1], [0.5, 0.4, 0.1], [0.3, 0.3, 0.4], [0.1, 0.2, 0.7]]
        return [cls(proba, [0, 1, 1, 2], [[0.2, 0.3, 0.5]])]


def best_prior(proba: FloatArray, labels: IntArray, source_prior: FloatArray, starts: list[FloatArray]) -> FloatArray:
    """The prior under which the most probable class is wrong least often, as far as searching from the starts finds.

    Ties in mistakes go to the earlier start, and within a search to the smaller move.
    """
    with np.errstate(divide="ignore"):
        scores = np.log(proba)
        offsets = [np.log(start) - np.log(source_prior) for start in starts]
    offsets.append(_smallest_log_loss(scores, labels))
    found = [_descend(scores, labels, _finite(offset)) for offset in offsets]
    mistakes = [_mistakes(scores + offset, labels) for offset in found]
    best = found[int(np.argmin(mistakes))]
    tilted = best + np.log(source_prior)
    return normalise(np.exp(tilted - logsumexp(tilted)))


def _finite(offsets: FloatArray) -> FloatArray:
    """A class that a start rules out gets an offset that a search can move away from."""
    return np.asarray(np.maximum(offsets, offsets.max() - 4 * _EDGE))


def _mistakes(scores: FloatArray, labels: IntArray) -> int:
    return int((scores.argmax(axis=1) != labels).sum())


def _smallest_log_loss(scores: FloatArray, labels: IntArray) -> FloatArray:
    """Offsets under which the labels are most likely: a smooth and convex stand-in for the number of mistakes."""
    k = scores.shape[1]
    # A class that the model rules out stays so at any offset; -inf would spoil the search, not its result.
    from scipy.optimize import minimize  # slow to import, and seldom needed

    floored = np.maximum(scores, -700.0)
    shares = np.bincount(labels, minlength=k) / len(labels)

    def loss(offsets: FloatArray) -> tuple[float, FloatArray]:
        tilted = floored + offsets
        total = logsumexp(tilted, axis=1, keepdims=True)
        own = tilted[np.arange(len(labels)), labels]
        return float((total[:, 0] - own).mean()), np.exp(tilted - total).mean(axis=0) - shares

    result = minimize(loss, np.zeros(k), jac=True, method="L-BFGS-B", bounds=[(-_EDGE, _EDGE)] * k)
    return np.asarray(result.x)


def _descend(scores: FloatArray, labels: IntArray, offsets: FloatArray) -> FloatArray:
    """Move one offset at a time to where mistakes are fewest, until no move helps."""
    offsets = offsets.copy()
    leaders = _Leaders(scores + offsets)
    fewest = int((leaders.first != labels).sum())
    for _ in range(_SWEEPS):
        before = fewest
        for c in range(len(offsets)):
            offset, mistakes = _best_offset(scores[:, c], labels, leaders, c, float(offsets[c]))
            if mistakes < fewest:
                offsets[c], fewest = offset, mistakes
                leaders = _Leaders(scores + offsets)
        if fewest == before:
            break
    return offsets


class _Leaders:
    """The best and the second best class of each sample, so that the best one without class c is at hand for any c."""

    def __init__(self, tilted: FloatArray) -> None:
        samples = np.arange(len(tilted))
        self.first = tilted.argmax(axis=1)
        self._best = tilted[samples, self.first].copy()
        tilted[samples, self.first] = -np.inf
        self._second = tilted.argmax(axis=1)
        self._runner_up = tilted[samples, self._second]

    def without(self, c: int) -> tuple[IntArray, FloatArray]:
        """The best class other than c of each sample, and its score."""
        leads = self.first == c
        return np.where(leads, self._second, self.first), np.where(leads, self._runner_up, self._best)


def _best_offset(scores: FloatArray, labels: IntArray, leaders: _Leaders, c: int, present: float) -> tuple[float, int]:
    """The offset of class c at which mistakes are fewest, all others kept (the nearest of several), and their number.

    Sample i is given to class c when the offset exceeds a threshold, the lead of the best other class. The number of
    mistakes changes only there: it falls by one at the thresholds of class c's samples, and rises by one at those of
    the samples that the best other class gets right. So it is found for all offsets by sorting.
    """
    rival, best = leaders.without(c)
    with np.errstate(invalid="ignore"):
        thresholds = best - scores
    change = np.where(rival == labels, 1, 0) - np.where(labels == c, 1, 0)
    always = thresholds == -np.inf  # no other class is possible: the sample is given to c at any offset
    start = int((rival != labels).sum() + change[always].sum())
    counts = np.isfinite(thresholds) & (change != 0)
    if not counts.any():
        return present, start
    order = np.argsort(thresholds[counts], kind="stable")
    ordered, total = thresholds[counts][order], np.cumsum(change[counts][order])
    # Offsets between two thresholds; before the first, and behind the last.
    mistakes = start + np.concatenate([[0], total])
    gaps = np.concatenate([[True], np.diff(ordered) > 0, [True]])
    candidates = np.concatenate([[ordered[0] - _EDGE], (ordered[1:] + ordered[:-1]) / 2, [ordered[-1] + _EDGE]])
    fewest = mistakes[gaps].min()
    choices = candidates[gaps & (mistakes == fewest)]
    return float(choices[np.argmin(np.abs(choices - present))]), int(fewest)
