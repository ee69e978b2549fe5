"""`prevalence`: the class mix of each period of a log, by several estimates side by side."""

import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from baserate.adapters import RegressAndReweight
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.simplex import log_ratio, reweight
from baserate.smoothing.audited import audited_shares
from baserate.smoothing.doubts import Doubts, find_doubts
from baserate.smoothing.smoothed import Smoothed, smooth
from baserate.trust.prediction_powered import wilson
from baserate.validation import check_labels, check_real, check_starts


class Prevalence(NamedTuple):
    """The class mix of each of T periods, by several estimates.

    Attributes
    ----------
    counted : (T, k) array
        Classify and count: the share of rows for which the class is the model's most probable one. NaN in a period
        without rows.
    causal : Smoothed
        The mix as tracked at the end of each period, from the rows until then.
    hindsight : Smoothed
        The mix from all rows of the log: `smooth`.
    audited : Smoothed or None
        Prediction-powered, where there are labels: what hindsight says of the rows, put right by the labels. Its limits
        hold whatever the model does, if rows were chosen for labels at random. NaN, 0 and 1 in a period without rows.
    labels_alone : Smoothed or None
        The share among the labels of the period, with Wilson's limits.
    rows, labels : (T,) arrays of int
        Rows of each period, and how many of them have a label.
    doubts : Doubts
        What speaks against label shift in the log, and so against all estimates but those by labels.
    """

    counted: FloatArray
    causal: Smoothed
    hindsight: Smoothed
    audited: Smoothed | None
    labels_alone: Smoothed | None
    rows: IntArray
    labels: IntArray
    doubts: Doubts

    @property
    def best(self) -> Smoothed:
        """The estimate to report: `audited` where there are labels, else `hindsight`."""
        return self.hindsight if self.audited is None else self.audited


def prevalence(
    adapter: RegressAndReweight,
    proba: ArrayLike,
    starts: ArrayLike,
    y: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    level: float = 0.9,
) -> Prevalence:
    """Estimate the class mix of each period of a complete log; nothing in the adapter changes.

    Parameters
    ----------
    adapter : RegressAndReweight
        Fitted on a labelled holdout with every class.
    proba : (n, k) array or frame
        The model's probabilities of all periods, in the order of time.
    starts : (T + 1,) array of int
        Period t is the rows ``starts[t]:starts[t + 1]``.
    y : (n,) array, optional
        Labels of the rows that were audited; -1, None or NaN elsewhere.
    weights : (n,) array, optional
        One over the probability with which each row was chosen to be audited, if that was not the same for all rows of
        a period.
    level : float
        The probability with which a share is within its limits.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> def model_outputs(n, share):
    ...     y = (rng.random(n) < share).astype(int)
    ...     odds = np.exp(rng.normal(2.0 * y - 1.0, 1.0) * 2.0)
    ...     return np.column_stack([1 / (1 + odds), odds / (1 + odds)]), y
    >>> adapter = RegressAndReweight().fit(*model_outputs(1000, share=0.5))
    >>> weeks = [model_outputs(500, share) for share in (0.05, 0.05, 0.2, 0.2)]
    >>> found = prevalence(adapter, np.concatenate([proba for proba, _ in weeks]), np.arange(0, 2001, 500))
    >>> found.counted[:, 1].round(2), found.hindsight.prior[:, 1].round(2)
    (array([0.19, 0.18, 0.29, 0.29]), array([0.05, 0.07, 0.22, 0.2 ]))
    """
    check_real(level, "level", 0.0, 1.0, closed=False)
    hindsight = smooth(adapter, proba, starts, y, level=level)
    rows = adapter.check_rows(proba)
    n, k = rows.shape
    begins = check_starts(starts, n, "starts")
    labels = np.full(n, UNLABELLED)
    if y is not None:
        labels = check_labels(y, n, k, missing=True, classes=adapter.class_names_)
    chosen = None if weights is None else _check_weights(weights, n)
    sizes = np.diff(begins)
    per_period = np.repeat(np.arange(len(sizes)), sizes)
    counted = np.zeros((len(sizes), k))
    np.add.at(counted, (per_period, rows.argmax(axis=1)), 1.0)
    counted = np.where(sizes[:, np.newaxis] > 0, counted / np.maximum(sizes, 1)[:, np.newaxis], np.nan)
    told = labels != UNLABELLED
    n_labels = np.bincount(per_period[told], minlength=len(sizes))
    audited = alone = None
    if told.any():
        offsets = np.array([log_ratio(mix, adapter.source_prior_) for mix in np.maximum(hindsight.prior, 1e-9)])
        variances = ((hindsight.high - hindsight.low) / (2.0 * ndtri(0.5 + 0.5 * level))) ** 2
        adapted = reweight(adapter.calibrate(rows), offsets, begins)
        audited = Smoothed(*audited_shares(adapted, begins, labels, variances, chosen, level))
        alone = _labels_alone(labels, per_period, chosen, (len(sizes), k), level)
    causal = _causal(adapter, rows, begins, labels if told.any() else None, chosen, level)
    doubts = find_doubts(adapter, rows, begins, labels, hindsight, chosen)
    return Prevalence(counted, causal, hindsight, audited, alone, sizes, n_labels, doubts)


def _check_weights(weights: ArrayLike, n: int) -> FloatArray:
    found = np.asarray(weights, dtype=np.float64)
    if found.shape != (n,) or not np.isfinite(found).all() or (found <= 0.0).any():
        raise ValueError(f"weights is not a positive number for each of the {n:,} rows of proba.")
    return found


def _causal(
    adapter: RegressAndReweight,
    rows: FloatArray,
    starts: IntArray,
    labels: IntArray | None,
    weights: FloatArray | None,
    level: float,
) -> Smoothed:
    """Track the mix period by period, with a copy of the adapter."""
    tracked = copy.deepcopy(adapter)
    tracked.columns_ = tracked.class_names_ = None  # rows and labels are in order, and numbers
    tracked.reset()
    found = np.empty((3, len(starts) - 1, rows.shape[1]))
    for t in range(len(starts) - 1):
        part = slice(starts[t], starts[t + 1])
        chances = None if labels is None or weights is None else weights.min() / weights[part]
        tracked.update(rows[part], None if labels is None else labels[part], y_probability=chances)
        found[0, t], (found[1, t], found[2, t]) = tracked.prior_, tracked.prior_interval(level).T
    return Smoothed(*found)


def _labels_alone(
    labels: IntArray, periods: IntArray, weights: FloatArray | None, shape: tuple[int, int], level: float
) -> Smoothed:
    told = np.flatnonzero(labels != UNLABELLED)
    w = np.ones(len(labels)) if weights is None else weights
    total, squares, counts = np.zeros(shape[0]), np.zeros(shape[0]), np.zeros(shape)
    np.add.at(total, periods[told], w[told])
    np.add.at(squares, periods[told], w[told] ** 2)
    np.add.at(counts, (periods[told], labels[told]), w[told])
    n = np.divide(total**2, squares, out=np.zeros_like(total), where=squares > 0)[:, np.newaxis]
    share = np.divide(counts, total[:, np.newaxis], out=np.full(shape, np.nan), where=total[:, np.newaxis] > 0)
    low, high = wilson(np.nan_to_num(share), n, level)
    none = n[:, 0] == 0.0
    low[none], high[none] = 0.0, 1.0
    return Smoothed(share, low, high)
