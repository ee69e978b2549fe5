"""The class mix of each round in hindsight: from the labels of the rounds around it, but not from its own."""

from typing import NamedTuple

import numpy as np

from baserate.protocols import FloatArray, IntArray


class Hindsight(NamedTuple):
    """The class mix of each round, and the number of rounds before and after it that it is estimated from."""

    path: FloatArray
    width: int


def hindsight(counts: IntArray, source_prior: FloatArray) -> Hindsight:
    """Smooth the label frequencies of rounds.

    A round's own labels are left out: a mix that knows them would know the very labels that it is scored on, of a round
    of one sample all of them. How many neighbours to ask is chosen in hindsight, too: as many as foretell the labels of
    the rounds best. The source mix counts as one more sample, so that no class is ruled out.

    Parameters
    ----------
    counts : (T, k) array of int
        The number of samples of each class in a round.
    source_prior : (k,) array

    Examples
    --------
    >>> counts = np.array([[9, 1], [10, 0], [8, 2], [1, 9], [2, 8], [0, 10]])
    >>> found = hindsight(counts, np.array([0.5, 0.5]))
    >>> found.width, found.path[[0, -1]].round(2).tolist()
    (1, [[0.95, 0.05], [0.23, 0.77]])
    """
    n_rounds = len(counts)
    widths = [*(2**i for i in range(n_rounds.bit_length()) if 2**i < n_rounds), n_rounds]
    best, likelihood = Hindsight(np.tile(source_prior, (n_rounds, 1)), 0), -np.inf
    for width in widths:
        around = around_rounds(counts, width) - counts
        path = (around + source_prior) / (around.sum(axis=1, keepdims=True) + 1.0)
        found = float((counts * np.log(path)).sum())
        if found > likelihood:
            best, likelihood = Hindsight(path, width), found
    return best


def around_rounds(counts: IntArray, width: int) -> IntArray:
    """Counts of each round and of those up to `width` rounds before and after it."""
    sums = np.concatenate([np.zeros((1, counts.shape[1]), dtype=np.int64), np.cumsum(counts, axis=0)])
    rounds = np.arange(len(counts))
    return np.asarray(sums[np.minimum(rounds + width + 1, len(counts))] - sums[np.maximum(rounds - width, 0)])
