"""`smooth`: the class mix of every round of a complete log, with limits."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from baserate.adapters import RegressAndReweight
from baserate.protocols import UNLABELLED, Evidence, ExpertTracker, FloatArray, IntArray
from baserate.smoothing.missed import missed_movement
from baserate.smoothing.path import Rows, SmoothedPath, reference_path, smoothed_path
from baserate.trackers import LikelihoodMixture
from baserate.trust.spread import share_limits
from baserate.validation import check_fitted, check_labels, check_real, check_starts


class Smoothed(NamedTuple):
    """The class mix of each round in hindsight, and its limits.

    Attributes
    ----------
    prior, low, high : (T, k) arrays
    """

    prior: FloatArray
    low: FloatArray
    high: FloatArray


def smooth(
    adapter: RegressAndReweight, proba: ArrayLike, starts: ArrayLike, y: ArrayLike | None = None, *, level: float = 0.9
) -> Smoothed:
    """Estimate the class mix of every round of a complete log from all of its rounds, those after it included.

    The adapter's calibration, source prior and bounds are used; nothing in it changes. The gate plays no part: it
    decides about predictions, and this reports the class mix. O(T n k (k + log(T)^2)) time, in O(T k) memory besides
    `proba`.

    Parameters
    ----------
    adapter : RegressAndReweight
        Fitted on a labelled holdout with every class. What it has tracked is not used.
    proba : (n, k) array or frame
        The model's probabilities of all rounds, in the order of time.
    starts : (T + 1,) array of int
        Round t is the rows ``starts[t]:starts[t + 1]``.
    y : (n,) array, optional
        Labels where they are known; -1, None or NaN where not.
    level : float
        The probability with which a class's share is within its limits.

    Returns
    -------
    Smoothed
        ``prior, low, high``, each (T, k).

    Notes
    -----
    A window reaches 0, 1, 2, 4, ... or all rounds back, and as many ahead, each by itself. In each window of a round
    there is a likeliest class mix. The windows, the source prior and mixes that come back are weighted by the
    likelihood that they give to the round when they leave it out; which one is best changes over time, in a hidden
    Markov model. That likelihood is tempered by a half, because each of two rounds foretells the other.

    Limits are those of a beta distribution with the mean and variance of this mixture and the variance of the holdout.
    If residuals of blocks of rounds are larger than chance makes them, in all blocks of a length together, the mix
    moves to and fro by too little to be followed; limits allow for that much, class by class. They are for label shift:
    classes look as they did in the holdout.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> def model_outputs(n, share):
    ...     y = (rng.random(n) < share).astype(int)
    ...     odds = np.exp(rng.normal(2.0 * y - 1.0, 1.0) * 2.0)
    ...     return np.column_stack([1 / (1 + odds), odds / (1 + odds)]), y
    >>> adapter = RegressAndReweight().fit(*model_outputs(1000, share=0.5))
    >>> log = np.concatenate([model_outputs(500, share=0.2)[0], model_outputs(500, share=0.9)[0]])
    >>> mix = smooth(adapter, log, np.arange(0, 1001, 10))
    >>> mix.prior[[0, 40, 60, 99], 1].round(1)
    array([0.2, 0.2, 0.9, 0.9])
    """
    if not isinstance(adapter, RegressAndReweight):
        raise TypeError(f"adapter is {adapter!r}; give a fitted baserate.RegressAndReweight.")
    check_fitted(adapter, "source_prior_")
    check_real(level, "level", 0.0, 1.0, closed=False)
    raw = adapter.check_rows(proba)
    begins = check_starts(starts, len(raw), "starts")
    labels = None if y is None else check_labels(y, *raw.shape, missing=True, classes=adapter.class_names_)
    source, k = adapter.source_prior_, len(adapter.source_prior_)
    if len(begins) < 2:
        empty = np.empty((0, k))
        return Smoothed(empty, empty, empty)
    calibrated = adapter.calibrate(raw)
    rows = _rows(Evidence(calibrated, source, labels, begins, checked=True), begins)
    known, margin = _known_mixes(adapter, Evidence(calibrated, source, labels, begins))
    birth = 0.5 * source + 0.5 / k
    reference = reference_path(rows, known, margin, birth)
    spread = adapter.label_spread(reference)
    found = smoothed_path(rows, reference, known, margin, birth, spread.excess)
    prior = adapter.project(found.mixes)
    centre = np.clip(found.mixes + spread.shift, 0.0, 1.0)
    samples = 1.0 / (1.0 / np.maximum(found.sizes, 1.0) + 1.0 / spread.n_holdout)
    low, high = share_limits(centre, _with_missed(found, rows, spread.excess) + spread.holdout, samples, level)
    return Smoothed(prior, np.minimum(low, prior), np.maximum(high, prior))


def _with_missed(found: SmoothedPath, rows: Rows, excess: FloatArray) -> FloatArray:
    """Return variances that are at least those of a mix which stands still, plus the movements that are missed."""
    missed = missed_movement(rows, found.mixes)
    still = (found.mixes * (1.0 - found.mixes) + excess) / np.maximum(found.sizes, 1.0)[:, np.newaxis]
    return np.where(missed > 0.0, np.maximum(found.variances, still + missed), found.variances)


def _rows(evidence: Evidence, starts: IntArray) -> Rows:
    likelihoods = evidence.proba / evidence.source_prior
    labelled = np.zeros(len(likelihoods), dtype=np.int64)
    if evidence.labels is not None:
        told = np.flatnonzero(evidence.labels != UNLABELLED)
        likelihoods[told] = 0.0
        likelihoods[told, evidence.labels[told]] = 1.0
        labelled[told] = 1
    likelihoods /= likelihoods.max(axis=1, keepdims=True)
    return Rows(likelihoods, labelled, starts)


def _known_mixes(adapter: RegressAndReweight, evidence: Evidence) -> tuple[FloatArray, FloatArray]:
    """Return the source prior and the mixes that a forward pass has seen come back; and the holdout's margin."""
    tracker = LikelihoodMixture(len(adapter.source_prior_), prior=adapter.source_prior_)
    margin = np.zeros(len(adapter.source_prior_))
    if isinstance(adapter.tracker_, ExpertTracker):
        margin = adapter.tracker_.weighted_experts().margin
        tracker.tolerate(margin)
    tracker.play(evidence)
    experts = tracker.weighted_experts()
    return np.ascontiguousarray(experts.mixes[experts.n_forgetting : experts.n_counting]), margin
