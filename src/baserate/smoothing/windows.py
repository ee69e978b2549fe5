"""Windows of rounds, and the class mix that is likeliest in each (compiled).

A window of a round t reaches `before` rounds back and `after` rounds ahead, both from one grid: 0, 1, 2, 4, ... and all
rounds. Its mix is a Newton step of the likelihood from a reference path, whose scores are summed once for all windows.
"""

from typing import NamedTuple

import numpy as np

from baserate.compiled import compiled, compiled_within
from baserate.protocols import FloatArray, IntArray

FULL = 32
"""Largest number of classes for which it is known how well each pair of them is told apart."""

_INFORMATIVE = 5000  # rows that are enough to tell how well the model separates classes
_CAUTION = 20.0  # samples that count as if they had told their labels, as in the runs of the likelihood mixture
_LEAST_TOLD = 0.05  # of a label, by a class alone; among pairs of classes it is squared


class Sums(NamedTuple):
    """Sums over the rounds before each round, so that a window is the difference of two rows.

    Attributes
    ----------
    scores, path : (T + 1, k) arrays
        Scores of the likelihood at the reference path, divided by its roots; and the reference path, once per sample.
    sizes : (T + 1, 2) array
        Samples without and with a label.
    half_scores, half_sizes : (T, k) and (T, 2) arrays
        The same of every second sample of a round alone.
    """

    scores: FloatArray
    path: FloatArray
    sizes: FloatArray
    half_scores: FloatArray
    half_sizes: FloatArray


def sum_scores(likelihoods: FloatArray, labelled: IntArray, starts: IntArray, path: FloatArray) -> Sums:
    """Sum the scores of all samples at a path of class mixes."""
    n_rounds, k = path.shape
    sums = Sums(
        np.zeros((n_rounds + 1, k)),
        np.zeros((n_rounds + 1, k)),
        np.zeros((n_rounds + 1, 2)),
        np.zeros((n_rounds, k)),
        np.zeros((n_rounds, 2)),
    )
    _sum_scores(likelihoods, labelled, starts, path, *sums)
    return sums


@compiled
def _sum_scores(
    likelihoods: FloatArray,
    labelled: IntArray,
    starts: IntArray,
    path: FloatArray,
    scores: FloatArray,
    paths: FloatArray,
    sizes: FloatArray,
    half_scores: FloatArray,
    half_sizes: FloatArray,
) -> None:
    n_rounds, k = path.shape
    score = np.empty(k)
    for t in range(n_rounds):
        scores[t + 1], paths[t + 1], sizes[t + 1] = scores[t], paths[t], sizes[t]
        for i in range(starts[t], starts[t + 1]):
            total = 0.0
            for c in range(k):
                score[c] = path[t, c] * likelihoods[i, c]
                total += score[c]
            for c in range(k):
                score[c] = (score[c] / total - path[t, c]) / np.sqrt(path[t, c])
                scores[t + 1, c] += score[c]
                paths[t + 1, c] += path[t, c]
            sizes[t + 1, labelled[i]] += 1.0
            if (i - starts[t]) % 2 == 0:
                for c in range(k):
                    half_scores[t, c] += score[c]
                half_sizes[t, labelled[i]] += 1.0


def told(likelihoods: FloatArray, labelled: IntArray, starts: IntArray, path: FloatArray) -> tuple[FloatArray, ...]:
    """Return the share of a label that an unlabelled sample tells, as eigenvalues (k,) and eigenvectors (k, k).

    The information of a sample about the mix is nearly D^-1/2 R D^-1/2, where D is the mix and R hardly depends on it.
    For many classes there are no eigenvectors: R is taken to be diagonal.
    """
    k = path.shape[1]
    rows = np.flatnonzero(labelled == 0)
    rows = rows[:: max(1, len(rows) // _INFORMATIVE)]
    vectors = np.eye(k) if k <= FULL else np.empty((0, 0))
    if len(rows) == 0:
        return np.ones(k), vectors
    guess = path[np.searchsorted(starts, rows, side="right") - 1] * likelihoods[rows]
    guess /= guess.sum(axis=1, keepdims=True)
    if k > FULL:
        mean = guess.mean(axis=0)
        return np.clip(guess.var(axis=0) / np.maximum(mean * (1.0 - mean), 1e-12), _LEAST_TOLD, 1.0), vectors
    products = guess.T @ guess / len(rows)
    roots = np.sqrt(np.maximum(products.sum(axis=1), 1e-12))
    values, vectors = np.linalg.eigh(products / np.outer(roots, roots))
    return np.clip(values, _LEAST_TOLD**2, 1.0), np.ascontiguousarray(vectors)


@compiled_within
def likeliest(
    score: FloatArray,
    path: FloatArray,
    unlabelled: float,
    labelled: float,
    values: FloatArray,
    vectors: FloatArray,
    birth: FloatArray,
    work: FloatArray,
    mix: FloatArray,
) -> None:
    """Write nearly the likeliest mix of a window into `mix`: a Newton step from the mean of the reference path.

    Half a sample of each class is known beforehand. A step is limited as in the runs of `LikelihoodMixture`: a share
    grows by its double and two steps of EM at most, and keeps a tenth.
    """
    k, n = len(score), unlabelled + labelled
    if n < 0.5:
        for c in range(k):
            mix[c] = birth[c]
        return
    known = unlabelled / (unlabelled + _CAUTION)
    for d in range(k):
        along = score[d]
        if len(vectors) > 0:
            along = 0.0
            for c in range(k):
                along += vectors[c, d] * score[c]
        work[d] = along / (unlabelled * (known * values[d] + 1.0 - known) + labelled + 0.5 * k)
    total = 0.0
    for c in range(k):
        step = work[c]
        if len(vectors) > 0:
            step = 0.0
            for d in range(k):
                step += vectors[c, d] * work[d]
        q = path[c] / n
        root = np.sqrt(q)
        moved = q + min(step * root, q + 2.0 * max(score[c] * root / n, 0.0))
        mix[c] = max(max(moved, 0.1 * q), 0.5 * birth[c] / (n + 1.0))
        total += mix[c]
    for c in range(k):
        mix[c] /= total


@compiled_within
def log_likelihood(likelihoods: FloatArray, first: int, last: int, step: int, mix: FloatArray) -> float:
    """Return the log-likelihood of every `step`-th sample from `first` to before `last` under a mix."""
    log, product = 0.0, 1.0
    for i in range(first, last, step):
        one = 0.0
        for c in range(len(mix)):
            one += mix[c] * likelihoods[i, c]
        product *= one
        if product < 1e-200:
            log += np.log(product)
            product = 1.0
    return log + float(np.log(product))
