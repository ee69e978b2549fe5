"""AccuracyEstimate: the accuracy of the adapted model, estimated with or without labels."""

import copy
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from baserate.compiled import compiled
from baserate.protocols import FloatArray, IntArray
from baserate.simplex import log_ratio, reweight
from baserate.state.declarations import LONGEST, Saved, Whole, floats
from baserate.trust._accuracy_moments import ALIKE, AccuracyParts, accuracy_moments
from baserate.trust._beta_mixtures import beta_mixture_quantiles
from baserate.trust._kept_holdout import SAVED, KeptHoldout, fits_holdout
from baserate.trust.doubt import widened
from baserate.trust.prediction_powered import FEWEST, LabelledSums, powered
from baserate.validation import check_fitted, check_integer, check_labels, check_prior, check_proba, check_real

_FULL = 64  # number of parts of a full window
_PARTS = 2 * _FULL  # places for parts, some of which are cut short because the class mix has moved

NO_LABELS, NO_WEIGHTS = np.empty(0, dtype=np.int64), np.empty(0)


def _fits_together(saved: Saved) -> str:
    """Check that what was summed up in each part of a window are as many rows as it says."""
    sizes, confidence = saved.state["_sizes"], saved.state["_confidence"]
    for name in ("_outputs", "_priors"):
        if (np.abs(saved.state[name].sum(axis=1) - sizes) > 1e-2 * sizes).any():
            return f"has {name} of other rows than it counts"
    if (confidence > 1.01 * sizes).any():
        return "has more confidence than rows"
    return fits_holdout(saved)


class Accuracy(NamedTuple):
    """An estimated accuracy with its confidence limits."""

    value: float
    low: float
    high: float


class AccuracyEstimate(KeptHoldout, saved_as="accuracy_estimate", layout=2):
    r"""Accuracy of a re-weighted model over the last samples, estimated from probabilities, and labels if there are.

    `update` takes O(n k) time for n samples. `estimate` takes O(n k) for a holdout of n samples if the mix was
    constant, and up to 128 times that if it was not.

    Parameters
    ----------
    window : int
        Number of samples that the estimate is about; at least 64. Fewer are used where the mix moves very fast.

    Attributes
    ----------
    source_prior_ : (k,) array
        The class mix that the probabilities assume.

    Notes
    -----
    The accuracy of a calibrated model is its mean confidence, the mean of its largest adapted probability over the
    window. Miscalibration is measured on the holdout: re-weighted to the same class mix, ``g[c]`` is the accuracy minus
    the mean confidence among samples of class c. The window has the mix
    ``mean of t``, where t is a linear function of a sample's probabilities with the c-th unit vector as its mean over
    class c of the holdout. So the estimate is

    ``mean of (largest probability + t . g)`` over the window,

    and its error is a mean of the same residual ``e = right - largest probability - t . g`` over the window (n samples)
    and over each class of the holdout (n_c samples), with variance ``sum_c q[c] var_c(e) / n`` and ``sum_c q[c]^2
    var_c(e) / n_c``. All this is done for each part of the window, with the class mix it was predicted with.

    With a small holdout the correction is noisier than it is large. So the sum of all ``t . g`` is shrunk towards zero,
    with a prior standard deviation of 0.02, or of the correction itself where that is clearly larger. The limits are
    quantiles of a beta distribution. Where the model cannot tell some classes apart at all, they allow for every split
    of these classes' joint share.

    With 20 labels or more in the window, the estimate is prediction-powered: the mean confidence, plus the mean of
    right minus confidence over labelled samples, as much of it as makes the variance smallest. Its limits are Wilson's,
    for as many labels as it is worth. They hold whatever the model does, if samples were chosen for labels at random;
    else, give weights. Fewer labels tell less than label shift does; where that is in doubt, `doubted` uses them, too.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> def model_outputs(n, share):
    ...     y = (rng.random(n) < share).astype(int)
    ...     odds = np.exp(rng.normal(2.0 * y - 1.0, 1.0) * 2.0)
    ...     return np.column_stack([1 / (1 + odds), odds / (1 + odds)]), y
    >>> estimate = AccuracyEstimate().fit(*model_outputs(1000, share=0.5))
    >>> proba, y = model_outputs(5000, share=0.9)
    >>> estimate.update(proba, prior=[0.1, 0.9])
    >>> np.round(estimate.estimate(), 2)
    array([0.94, 0.92, 0.96])
    >>> adapted = proba * [0.1, 0.9] / estimate.source_prior_
    >>> float((adapted.argmax(axis=1) == y).mean().round(2))
    0.93
    """

    saves = SAVED.extended(
        params={"window": Whole(_FULL)},
        state={
            "_current": Whole(0, _PARTS - 1),
            "_sizes": floats(_PARTS, low=0.0, high=LONGEST),
            "_confidence": floats(_PARTS, low=0.0),
            "_outputs": floats(_PARTS, "k", low=0.0),
            "_priors": floats(_PARTS, "k", low=0.0),
            "_labelled": floats(_PARTS, len(LabelledSums._fields), low=0.0),
        },
        check=_fits_together,
    )

    @classmethod
    def upgrade(
        cls, layout: int, params: dict[str, Any], state: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read layout 1, which kept nothing of labels."""
        return params, {**state, "_labelled": np.zeros((_PARTS, len(LabelledSums._fields)))} if state else state

    def __init__(self, window: int = 5000) -> None:
        self.window = window

    def fit(self, proba: ArrayLike, y: ArrayLike, source_prior: ArrayLike | None = None) -> Self:
        """Store the holdout.

        Parameters
        ----------
        proba : (n, k) array
            The calibrated model's probabilities on labelled samples it was not trained on.
        y : (n,) array of int
            Their labels, every class at least once.
        source_prior : (k,) array, optional
            The class mix that the probabilities assume. Default: the holdout's.
        """
        check_integer(self.window, "window", _FULL)
        self._keep(proba, y, source_prior)
        self.reset()
        return self

    def reset(self) -> None:
        """Forget the stream."""
        check_fitted(self, "source_prior_")
        k = len(self.source_prior_)
        self._current = 0
        self._sizes = np.zeros(_PARTS)
        self._confidence = np.zeros(_PARTS)
        self._outputs = np.zeros((_PARTS, k))
        self._priors = np.zeros((_PARTS, k))
        self._labelled = np.zeros((_PARTS, len(LabelledSums._fields)))

    def of_window(self, current: int, *sums: FloatArray) -> Self:
        """Return the estimate of another window, in as many parts as it has, beside the same holdout."""
        twin = copy.copy(self)
        twin._current = current
        twin._sizes, twin._confidence, twin._outputs, twin._priors, twin._labelled = sums
        return twin

    def update(self, proba: ArrayLike, prior: ArrayLike, y: ArrayLike | None = None) -> None:
        """Add a round to the window.

        Parameters
        ----------
        proba : (n, k) array
            The calibrated model's probabilities, before re-weighting.
        prior : (k,) array
            The class mix that they were re-weighted to.
        y : (n,) array of int, optional
            Labels where they are known, -1 or NaN where not.
        """
        check_fitted(self, "source_prior_")
        k = len(self.source_prior_)
        rows, mix = check_proba(proba, k), check_prior(prior, k)
        starts = np.array([0, len(rows)])
        adapted = reweight(rows, log_ratio(mix, self.source_prior_)[np.newaxis], starts)
        labels = None if y is None else check_labels(y, len(rows), k, missing=True)
        self.take_in(rows, adapted, mix[np.newaxis], starts, labels)

    def take_in(
        self,
        rows: FloatArray,
        adapted: FloatArray,
        priors: FloatArray,
        starts: IntArray,
        labels: IntArray | None = None,
        predicted: IntArray | None = None,
        weights: FloatArray | None = None,
    ) -> None:
        """Add rounds that an adapter has checked and predicted already; nothing is checked again.

        Parameters
        ----------
        rows : (n, k) array
            The calibrated model's probabilities.
        adapted : (n, k) array
            The same, re-weighted.
        priors : (m, k) array
            The class mix that each round was re-weighted to.
        starts : (m + 1,) array of int
            Round j is the rows ``starts[j]:starts[j + 1]``.
        labels : (n,) array of int, optional
            -1 where there is none.
        predicted : (n,) array of int, optional
            The classes that were predicted, where those are not the most probable ones of `adapted`.
        weights : (n,) array, optional
            One over the probability with which each sample was chosen to be labelled. Default: it was the same for all.
        """
        self._current = count_window(
            self._current,
            self._sizes,
            self._confidence,
            self._outputs,
            self._priors,
            self._labelled,
            rows,
            adapted,
            priors,
            starts,
            NO_LABELS if labels is None else labels,
            NO_LABELS if predicted is None else predicted,
            NO_WEIGHTS if weights is None else weights,
            self.window,
            ALIKE,
        )

    def take_late(
        self, ages: IntArray, right: NDArray[np.bool_], confidence: FloatArray, weights: FloatArray | None = None
    ) -> None:
        """Count labels of samples that were taken in before, as if they had come with them.

        Parameters
        ----------
        ages : (n,) array of int
            How many samples were taken in after each.
        right : (n,) array of bool
            Whether the classes that were predicted are the true ones.
        confidence : (n,) array
            The largest adapted probability of each.
        weights : (n,) array, optional
            As in `take_in`.
        """
        n_parts = len(self._sizes)
        back = (self._current - np.arange(n_parts)) % n_parts
        places = np.searchsorted(np.cumsum(self._sizes[back]), ages, side="right")
        kept = np.flatnonzero(places < n_parts)
        y, f = right[kept].astype(np.float64), confidence[kept]
        w = np.ones(len(kept)) if weights is None else weights[kept]
        sums = np.column_stack([w, w * w, w * y, w * f, w * y * f, w * f * f])
        np.add.at(self._labelled, back[places[kept]], sums)

    def estimate(self, level: float = 0.9) -> Accuracy:
        """Return the share of right predictions in the window; changes nothing.

        Parameters
        ----------
        level : float
            The probability with which the share is to be within the limits.

        Returns
        -------
        Accuracy
            ``value, low, high``; NaN, 0 and 1 before the first sample.
        """
        check_fitted(self, "source_prior_")
        check_real(level, "level", 0.0, 1.0, closed=False)
        parts = self._recent()
        if len(parts) == 0:
            return Accuracy(float("nan"), 0.0, 1.0)
        if self.labels_suffice_:
            return self._by_labels(parts, level)
        value, variance = accuracy_moments(
            self._proba,
            self._class_weights(),
            self.source_prior_,
            AccuracyParts(self._sizes[parts], self._confidence[parts], self._outputs[parts], self._priors[parts]),
        )
        value, tail = float(np.clip(value, 0.0, 1.0)), 0.5 * (1.0 - level)
        low, high = beta_mixture_quantiles(
            np.ones(1), np.array([[value]]), np.array([[variance]]), np.array([tail, 1.0 - tail])
        )[:, 0]
        return Accuracy(value, min(float(low), value), max(float(high), value))

    def doubted(self, degree: float, level: float = 0.9) -> Accuracy:
        """Return `estimate` where label shift is in doubt; with no doubt, or enough labels, it is the same.

        Limits that rely on label shift are moved towards 0 and 1. Where those by few labels are narrower, the estimate
        is theirs: they hold all the same.

        Parameters
        ----------
        degree : float
            Of the doubt, from 0 to 1: see `baserate.trust.doubt`.
        level : float
        """
        found = self.estimate(level)
        if self.labels_suffice_:
            return found
        wide = Accuracy(found.value, *widened(np.array(found[1:]), degree).tolist())
        parts = self._recent()
        if degree <= 0.0 or not self._labels_in(parts) > 0.0:
            return wide
        by_labels = self._by_labels(parts, level)
        return by_labels if by_labels.high - by_labels.low < wide.high - wide.low else wide

    def _labels_in(self, parts: list[int]) -> float:
        """As many labels of equal weight would tell as much."""
        return float(LabelledSums(*self._labelled[parts].sum(axis=0)).n)

    def _by_labels(self, parts: list[int], level: float) -> Accuracy:
        """Return the prediction-powered estimate."""
        labelled = LabelledSums(*self._labelled[parts].sum(axis=0)[:, np.newaxis])
        size = self._sizes[parts].sum()
        found = powered(labelled, np.array([self._confidence[parts].sum() / size]), np.array([size]))
        least, most = found.limits(level)
        return Accuracy(float(found.value[0]), float(least[0]), float(most[0]))

    @property
    def labels_suffice_(self) -> bool:
        """True if the window has enough labels for the estimate to be theirs."""
        check_fitted(self, "source_prior_")
        parts = self._recent()
        return bool(len(parts) > 0 and self._labels_in(parts) >= FEWEST)

    def _recent(self) -> list[int]:
        """Return the latest parts that together make up the window, newest first."""
        parts, total = [], 0.0
        for back in range(len(self._sizes)):
            part = (self._current - back) % len(self._sizes)
            if self._sizes[part] == 0.0 or total >= self.window:
                break
            parts.append(part)
            total += self._sizes[part]
        return parts


@compiled
def count_window(
    current: int,
    sizes: FloatArray,
    confidence: FloatArray,
    outputs: FloatArray,
    priors: FloatArray,
    labelled: FloatArray,
    rows: FloatArray,
    adapted: FloatArray,
    mixes: FloatArray,
    starts: IntArray,
    labels: IntArray,
    predicted: IntArray,
    weights: FloatArray,
    window: int,
    alike: float,
) -> int:
    """Add samples to the current part of a window, or to new parts; return the part that is current afterwards."""
    k, parts = rows.shape[1], len(sizes)
    for j in range(len(starts) - 1):
        moved = False
        for c in range(k):
            moved |= abs(priors[current, c] - sizes[current] * mixes[j, c]) >= sizes[current] * alike
        moved &= sizes[current] > 0.0
        for i in range(starts[j], starts[j + 1]):
            if moved or sizes[current] * (parts // 2) >= window:
                current, moved = (current + 1) % parts, False
                sizes[current], confidence[current], outputs[current], priors[current] = 0.0, 0.0, 0.0, 0.0
                labelled[current] = 0.0
            largest, chosen = 0.0, 0
            for c in range(k):
                if adapted[i, c] > largest:
                    largest, chosen = adapted[i, c], c
                outputs[current, c] += rows[i, c]
                priors[current, c] += mixes[j, c]
            sizes[current] += 1.0
            confidence[current] += largest
            if len(labels) > 0 and labels[i] >= 0:
                weight = weights[i] if len(weights) > 0 else 1.0
                right = 1.0 if labels[i] == (predicted[i] if len(predicted) > 0 else chosen) else 0.0
                labelled[current, 0] += weight
                labelled[current, 1] += weight * weight
                labelled[current, 2] += weight * right
                labelled[current, 3] += weight * largest
                labelled[current, 4] += weight * right * largest
                labelled[current, 5] += weight * largest * largest
    return current
