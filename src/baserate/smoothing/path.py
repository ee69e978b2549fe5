"""SmoothedPath: the class mix of each round from windows around it, weighted by likelihood."""

from typing import NamedTuple

import numpy as np

from baserate.protocols import FloatArray, IntArray
from baserate.smoothing.weighing import backward, collect, forward, judge
from baserate.smoothing.windows import Sums, sum_scores, told

_RATES = (0.2, 0.02)  # how often the best window changes, per round; and once in all rounds
_SURE = 100.0  # samples of a window that the reference path is made of, so that no sample pulls it to itself
_SPARE = 1e-9
_UNSEEN = 2.5  # a window that is no longer than it is because the mix moves has a bias of its own
_NUMBERS = 4_000_000  # of windows and rounds that are weighed at a time
_LEAST = 1e-6  # least share of a reference path
_STARTING, _STEPS = 20_000, 30  # rows and steps of EM for the first reference


class Rows(NamedTuple):
    """The samples of a log.

    Attributes
    ----------
    likelihoods : (n, k) array
        Class likelihoods, one-hot where the label is known; each row's largest is 1.
    labelled : (n,) array of int
        1 where the label is known.
    starts : (T + 1,) array of int
    """

    likelihoods: FloatArray
    labelled: IntArray
    starts: IntArray


class SmoothedPath(NamedTuple):
    """The class mix of each round, the variance of its error by the stream alone, and the samples behind it.

    Attributes
    ----------
    mixes, variances : (T, k) arrays
    sizes : (T,) array
    """

    mixes: FloatArray
    variances: FloatArray
    sizes: FloatArray


def constant_mix(rows: Rows, birth: FloatArray) -> FloatArray:
    """Return nearly the likeliest mix of all rows, by EM."""
    some = rows.likelihoods[:: max(1, len(rows.likelihoods) // _STARTING)]
    mix = birth
    for _ in range(_STEPS if len(some) else 0):
        guess = mix * some
        mix = ((guess / guess.sum(axis=1, keepdims=True)).sum(axis=0) + 0.5 * birth) / (len(some) + 0.5)
    return mix


def reference_path(rows: Rows, known: FloatArray, margin: FloatArray, birth: FloatArray) -> FloatArray:
    """Return a path, (T, k), that long windows agree on; no single sample moves it by much."""
    start = np.tile(constant_mix(rows, birth), (len(rows.starts) - 1, 1))
    least = min(_SURE, float(len(rows.likelihoods)))
    found = _weigh(rows, start, known, margin, birth, np.zeros_like(start), least=least, spare=_SPARE)
    path = np.maximum(found.mixes, _LEAST)
    return np.asarray(path / path.sum(axis=1, keepdims=True))


def smoothed_path(
    rows: Rows, reference: FloatArray, known: FloatArray, margin: FloatArray, birth: FloatArray, excess: FloatArray
) -> SmoothedPath:
    """Smooth a log.

    Parameters
    ----------
    rows : Rows
    reference : (T, k) array
        Of `reference_path`.
    known : (m, k) array
        Mixes that may come back; the first is the source prior.
    margin : (k,) array
        The distance from the source prior that a mix is not told from it.
    birth : (k,) array
        The mix of a window without samples.
    excess : (T, k) array
        Variance of a sample's label estimate beyond that of a label.
    """
    return _weigh(rows, reference, known, margin, birth, excess, least=0.0, spare=0.0)


def _weigh(
    rows: Rows,
    reference: FloatArray,
    known: FloatArray,
    margin: FloatArray,
    birth: FloatArray,
    excess: FloatArray,
    *,
    least: float,
    spare: float,
) -> SmoothedPath:
    likelihoods, labelled, starts = rows
    n_rounds, k = reference.shape
    grid = window_grid(n_rounds)
    sums: Sums = sum_scores(likelihoods, labelled, starts, reference)
    values, vectors = told(likelihoods, labelled, starts, reference)
    # Faults of the holdout are the same in all rounds: they move the source prior, but not to and fro.
    within = (np.abs(reference - known[0]) <= margin).all(axis=1)
    near = reference[within].mean(axis=0) if within.any() else known[0]
    n_windows = len(grid) ** 2
    prior = np.concatenate([np.full(n_windows, 0.5 / n_windows), np.full(len(known), 0.5 / len(known))])
    rates = np.array([*_RATES, 1.0 / n_rounds])
    length = max(1, min(n_rounds, _NUMBERS // len(prior)))
    firsts = range(0, n_rounds, length)
    logs = np.empty((length, len(prior)))

    def judged(first: int) -> FloatArray:
        block = logs[: min(length, n_rounds - first)]
        judge(first, block, likelihoods, starts, *sums, grid, known, near, values, vectors, birth)
        return block

    weights, evidence = np.tile(prior, (len(rates), 1)), np.zeros(len(rates))
    visits, before = np.zeros((*weights.shape, 2)), []
    for first in firsts:
        before.append(weights.copy())
        forward(first, judged(first), rates, prior, sums.sizes, weights, evidence, visits, np.empty((0, 0, 0)))
    trust = np.exp(evidence - evidence.max())
    trust /= trust.sum()
    known_by = np.tensordot(trust, visits[:, n_windows:], 1)

    means, variances, used = np.zeros((n_rounds, k)), np.zeros((n_rounds, k)), np.zeros(n_rounds)
    later = np.ones_like(weights)
    for first, weights in zip(reversed(firsts), reversed(before), strict=True):
        block = judged(first) if len(before) > 1 else logs
        forwards, posterior = np.empty((len(block), *weights.shape)), np.empty(block.shape)
        forward(
            first, block, rates, prior, sums.sizes, weights, np.zeros_like(evidence), np.zeros_like(visits), forwards
        )
        backward(block, rates, prior, trust, later, forwards, posterior)
        collect(
            first, posterior, *sums[:3], grid, known, known_by, values, vectors, birth, excess, _UNSEEN, least, spare,
            means, variances, used,
        )  # fmt: skip
    return SmoothedPath(means, variances, used)


def window_grid(n_rounds: int) -> IntArray:
    """Return the lengths of windows to one side: 0, 1, 2, 4, ... and all rounds."""
    powers = [2**i for i in range(n_rounds.bit_length()) if 2**i < n_rounds]
    return np.array([0, *powers, n_rounds], dtype=np.int64)
