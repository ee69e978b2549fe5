"""Sampling with unequal probabilities and a fixed size: inclusion probabilities, and a draw that has exactly these."""

import numpy as np

from baserate.protocols import FloatArray, IntArray

_CERTAIN = 1.0 - 1e-9  # an inclusion probability from which on a row is drawn for certain, whatever sums are rounded to


def inclusion_probabilities(sizes: FloatArray, n: int) -> FloatArray:
    """Return inclusion probabilities in proportion to sizes, at most one, with the sum `n`.

    Rows that would have more than one are drawn for certain, and the rest is shared out among the others. So a row with
    a share s of all sizes has a probability of at least ``min(1, n s)``.

    Parameters
    ----------
    sizes : (m,) array
        Positive numbers.
    n : int
        How many rows are to be drawn. If there are no more, all have the probability one.

    Examples
    --------
    >>> inclusion_probabilities(np.array([1.0, 1.0, 2.0, 16.0]), 2)
    array([0.25, 0.25, 0.5 , 1.  ])
    """
    probabilities = np.ones(len(sizes))
    rest = np.arange(len(sizes))
    while len(rest) > (left := n - (len(sizes) - len(rest))):
        probabilities[rest] = sizes[rest] * (left / sizes[rest].sum())
        above = probabilities[rest] > _CERTAIN
        if not above.any():
            break
        probabilities[rest[above]] = 1.0
        rest = rest[~above]
    else:
        probabilities[rest] = 1.0
    return probabilities


def draw(probabilities: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw rows with given inclusion probabilities, whose sum is a whole number: the size of every draw.

    Systematic sampling in a random order: the probabilities are laid end to end, and rows are taken at steps of one
    from a random start. Each row is then drawn with exactly its probability.

    Returns
    -------
    (n,) array of int
        The rows, in rising order.

    References
    ----------
    Madow, "On the theory of systematic sampling, II", 1949.

    Examples
    --------
    >>> draw(np.array([0.5, 1.0, 0.25, 0.25]), np.random.default_rng(0))
    array([1, 3])
    """
    certain = probabilities >= _CERTAIN
    rest = rng.permutation(np.flatnonzero(~certain))
    ends = np.cumsum(probabilities[rest])
    if len(ends):
        ends[-1] = np.round(ends[-1])  # the sum, up to rounding
    steps = np.ceil(ends - rng.random())
    taken = np.diff(steps, prepend=0.0) > 0.0
    return np.sort(np.concatenate([np.flatnonzero(certain), rest[taken]]))
