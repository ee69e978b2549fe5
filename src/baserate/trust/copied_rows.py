"""Rows of a holdout that were copied, to balance classes or by drawing with replacement."""

from typing import NamedTuple

import numpy as np

from baserate.protocols import FloatArray, IntArray

_ENOUGH = 3.0  # pairs of equal outputs with different labels that are expected, below which ties prove nothing
_LEAST = 50  # distinct outputs; fewer are those of a small tree, or of an example
_FEW = 0.3  # part of these that copies do not exceed
_NEAR = 20  # rows to each side, and what is equal to them, whose labels tell how often labels differ there


class Distinct(NamedTuple):
    """The rows of a holdout of which each sample is one.

    Attributes
    ----------
    rows : (m,) array of int
        The first of each, in order.
    copies : (k,) array of int
        The number of rows of each class that are left out.
    """

    rows: IntArray
    copies: IntArray


def distinct_rows(proba: FloatArray, labels: IntArray) -> Distinct:
    """Find the rows that are copies of others, by what the model says of them and their labels.

    Equal outputs alone do not make a copy: a small tree, or rounding, gives many samples the same. But different
    samples with equal outputs have different labels about as often as the outputs say, or as samples with nearly the
    same outputs have, if a model such as a forest is less sure of itself than it could be; copies never do.

    Examples
    --------
    >>> proba = np.random.default_rng(0).dirichlet([1.0, 1.0], 50)
    >>> labels = np.arange(50) % 2
    >>> found = distinct_rows(np.vstack([proba, proba]), np.append(labels, labels))
    >>> len(found.rows), found.copies
    (50, array([25, 25]))
    """
    k = proba.shape[1]
    whole = np.unique(np.ascontiguousarray(proba), axis=0, return_inverse=True)[1].reshape(-1)
    if whole.max(initial=-1) + 1 < _LEAST:
        return Distinct(np.arange(len(labels)), np.zeros(k, dtype=np.int64))
    _, first, pair = np.unique(whole * k + labels, return_index=True, return_inverse=True)
    others, alike = np.bincount(whole)[whole] - 1.0, np.bincount(pair.reshape(-1))[pair.reshape(-1)] - 1.0
    expected, differing = np.zeros((2, k))
    said = 1.0 - proba[np.arange(len(labels)), labels]
    np.add.at(expected, labels, others * np.minimum(said, _other_labels_nearby(proba, labels, whole)))
    np.add.at(differing, labels, others - alike)
    copied = (expected >= _ENOUGH) & (differing < _FEW * expected)
    if expected.sum() >= _ENOUGH and differing.sum() < _FEW * expected.sum():
        copied[:] = True
    left = np.full(len(labels), True)
    left[first] = False
    left &= copied[labels]
    return Distinct(np.flatnonzero(~left), np.bincount(labels[left], minlength=k))


def _other_labels_nearby(proba: FloatArray, labels: IntArray, whole: IntArray) -> FloatArray:
    """Return for each row the share of other labels among rows whose outputs are nearly, but not exactly, its own.

    `whole` says which distinct output each row has. Near are those of the same predicted class and about the same
    confidence.
    """
    k, m = proba.shape[1], int(whole.max()) + 1
    counts = np.zeros((m, k))
    np.add.at(counts, (whole, labels), 1.0)
    one = np.empty(m, dtype=np.int64)
    one[whole] = np.arange(len(whole))
    order = np.lexsort((proba[one].max(axis=1), proba[one].argmax(axis=1)))
    before = np.vstack([np.zeros(k), np.cumsum(counts[order], axis=0)])
    ends = before.sum(axis=1)
    first = np.searchsorted(ends, np.maximum(ends[:-1] - _NEAR, 0.0), side="right") - 1
    last = np.searchsorted(ends, np.minimum(ends[1:] + _NEAR, ends[-1]), side="left")
    near = before[last] - before[first] - counts[order]
    found = np.empty((m, k))
    found[order] = near
    found = found[whole]
    return np.asarray(1.0 - found[np.arange(len(labels)), labels] / found.sum(axis=1))
