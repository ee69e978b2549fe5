"""Estimates of a batch's class mix: by an estimator fitted on the holdout, and by labels where there are any."""

import functools
import itertools
from typing import Any, cast

import numpy as np

from baserate.marginals import BBSE
from baserate.parameters import clone
from baserate.protocols import (
    UNLABELLED,
    BatchedEstimator,
    BindableEstimator,
    ConfusionEstimator,
    FloatArray,
    IntArray,
    LabelOptionalEstimator,
    MarginalEstimator,
)
from baserate.validation import check_has_methods


def new_marginals(marginals: MarginalEstimator | None) -> Any:
    """An unfitted estimator as asked for; `BBSE` by default."""
    if marginals is None:
        return BBSE()
    check_has_methods(marginals, "marginals", MarginalEstimator, "fit and estimate")
    return clone(marginals)


def fit_marginals(
    marginals: Any, source_prior: FloatArray, proba: FloatArray | None, labels: IntArray | None
) -> MarginalEstimator:
    """Tell an estimator the source prior, if it wants to know, and fit it on the holdout, if there is one."""
    if isinstance(marginals, BindableEstimator):
        marginals.bind(source_prior=source_prior)
    fitted: MarginalEstimator = marginals if proba is None else marginals.fit(proba, labels)
    return fitted


def needs_labels(marginals: MarginalEstimator) -> bool:
    """Return True if an estimator must be fitted on labels."""
    return not isinstance(marginals, LabelOptionalEstimator) or marginals.needs_labels


def sigma_min(marginals: MarginalEstimator | None) -> float | None:
    """The smallest singular value of a fitted estimator's confusion matrix; None if it has none."""
    return marginals.sigma_min_ if isinstance(marginals, ConfusionEstimator) else None


def sightings(
    marginals: MarginalEstimator,
    proba: FloatArray,
    labels: IntArray | None,
    starts: IntArray,
    probabilities: FloatArray | None = None,
) -> FloatArray:
    """Sightings of several checked batches; batch j is the rows ``starts[j]:starts[j + 1]``, none empty.

    Labelled samples are counted, the others estimated, and the two joined by how many there are of each. Where labels
    were chosen with known probabilities, those that are left are no fair sample of the batch, either: see `_chosen`.
    """
    if labels is None:
        return _estimate(marginals, proba, starts)
    if probabilities is not None:
        return _chosen(_estimate(marginals, proba, starts), labels, starts, probabilities)
    k = proba.shape[1]
    group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    known = labels != UNLABELLED
    total = np.zeros((len(starts) - 1, k))
    np.add.at(total, (group[known], labels[known]), 1.0)
    n_unknown = np.bincount(group[~known], minlength=len(starts) - 1)
    some = n_unknown > 0
    if some.any():
        cuts = np.concatenate([[0], np.cumsum(n_unknown[some])])
        total[some] += n_unknown[some, np.newaxis] * _estimate(marginals, proba[~known], cuts)
    return np.asarray(total / np.diff(starts)[:, np.newaxis])


def _chosen(estimates: FloatArray, labels: IntArray, starts: IntArray, probabilities: FloatArray) -> FloatArray:
    """Join estimates from all samples of batches with those from labels that were chosen with known probabilities.

    The labels' is Hajek's: the share of each class, with weights in inverse proportion to the probabilities. It counts
    by the effective number of labels, ``(sum w)^2 / sum w^2`` (Kish), out of all samples of the batch.
    """
    n_batches, k = estimates.shape
    group = np.repeat(np.arange(n_batches), np.diff(starts))
    known = labels != UNLABELLED
    weights = 1.0 / probabilities[known]
    counts = np.zeros((n_batches, k))
    np.add.at(counts, (group[known], labels[known]), weights)
    total = counts.sum(axis=1, keepdims=True)
    squares = np.bincount(group[known], weights**2, minlength=n_batches)[:, np.newaxis]
    some = squares > 0.0
    shares = np.divide(counts, total, out=np.zeros_like(counts), where=some)
    effective = np.divide(total**2, squares, out=np.zeros_like(total), where=some)
    part = effective / np.diff(starts)[:, np.newaxis]
    return np.asarray(part * shares + (1.0 - part) * estimates)


def sighting(marginals: MarginalEstimator, proba: FloatArray, labels: IntArray | None) -> FloatArray:
    """The sighting of one checked batch, which is not empty."""
    one: FloatArray = sightings(marginals, proba, labels, np.array([0, len(proba)]))[0]
    return one


@functools.cache  # of classes, because looking for methods takes longer than a small batch
def _is_batched(kind: type[MarginalEstimator]) -> bool:
    return issubclass(kind, BatchedEstimator)


def _estimate(marginals: MarginalEstimator, proba: FloatArray, starts: IntArray) -> FloatArray:
    if _is_batched(type(marginals)):
        return cast(BatchedEstimator, marginals).estimate_groups(proba, starts)
    return np.array([marginals.estimate(proba[a:b]) for a, b in itertools.pairwise(starts)])
