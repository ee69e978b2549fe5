"""Limits of a difference where neighbouring rounds are alike: a bootstrap of blocks of rounds."""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import betainccinv, betaincinv, gammainccinv, gammaincinv, ndtri, stdtrit

from baserate.backtesting.played import CostMoves
from baserate.protocols import FloatArray, IntArray

RESAMPLES = 1000


class Change(NamedTuple):
    """A difference, and the limits that it lies between."""

    value: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """True if it could hardly be chance: the limits are on the same side of 0."""
        return self.low > 0.0 or self.high < 0.0


class Blocks(NamedTuple):
    """Blocks of rounds that each resample is made of; the same for every method, so that methods can be compared.

    Parameters
    ----------
    length : int
        Rounds in a block. They are taken as in a circle, so that every round is in as many blocks.
    starts : (B, m) array of int
        The first round of each block of each resample.
    level : float
        The level of the limits.
    """

    length: int
    starts: IntArray
    level: float

    def change(self, total: FloatArray | IntArray, n: IntArray) -> Change:
        """Limits of ``sum(total) / sum(n)`` over the rounds.

        The quantiles of the resamples, moved apart as far as Student's t is wider than a normal distribution and as the
        spread of m blocks around their own mean is too small: with few blocks, both matter.

        Parameters
        ----------
        total, n : (T,) arrays
            The sum of differences over the samples of each round, and their number.
        """
        sums, sizes = (self._sums(np.asarray(values, dtype=np.float64)) for values in (total, n))
        taken = sizes[self.starts].sum(axis=1)
        # A resample may have drawn rounds without labels only; it says nothing.
        found = sums[self.starts].sum(axis=1)[taken > 0] / taken[taken > 0]
        value = float(total.sum() / n.sum())
        tail = (1.0 - self.level) / 2.0
        blocks = max(len(total) / self.length, 2.0)
        wider = stdtrit(blocks - 1.0, tail) / ndtri(tail) * np.sqrt(blocks / (blocks - 1.0))
        low, high = value + wider * (np.quantile(found, [tail, 1.0 - tail]) - value)
        return Change(value, float(min(low, value)), float(max(high, value)))

    def _sums(self, values: FloatArray) -> FloatArray:
        """The sum of the block that starts at each round."""
        around = np.concatenate([[0.0], np.cumsum(np.concatenate([values, values[: self.length - 1]]))])
        return np.asarray(around[self.length :] - around[: -self.length])


def draw_blocks(n_rounds: int, level: float, rng: np.random.Generator, resamples: int = RESAMPLES) -> Blocks:
    """Blocks of about sqrt(T) rounds for resamples of T rounds."""
    length = max(round(np.sqrt(n_rounds)), 1)
    starts = rng.integers(0, n_rounds, size=(resamples, -(-n_rounds // length)))
    return Blocks(length, starts, level)


def with_few_mistakes(change: Change, better: int, worse: int, n: int, level: float) -> Change:
    """The limits, but no narrower than those of independent samples, of which `better` and `worse` got other labels.

    Resamples of three or four mistakes know nothing of those that could have been; the exact limits of Clopper and
    Pearson do.
    """
    told = better + worse
    if told == 0:
        return change
    tail = (1.0 - level) / 2.0
    low = betaincinv(worse, better + 1, tail) if worse else 0.0
    high = betainccinv(worse + 1, better, tail) if better else 1.0
    exact = [float(told * (2.0 * share - 1.0) / n) for share in (low, high)]
    return Change(change.value, min(change.low, exact[0]), max(change.high, exact[1]))


def with_few_costs(change: Change, moves: CostMoves, n: int, level: float) -> Change:
    """The limits of a cost, but no narrower than those of independent samples: see `with_few_mistakes`.

    Sums of costs are treated as weighted sums of Poisson counts: the limits of Fay and Feuer (1997) for what was saved
    and for what was lost, put together as independent (Zou and Donner, 2008).
    """
    if moves.saved == moves.lost == 0.0:
        return change
    tail = (1.0 - level) / 2.0
    saved = _poisson_limits(moves.saved, moves.saved_squares, moves.largest, tail)
    lost = _poisson_limits(moves.lost, moves.lost_squares, moves.largest, tail)
    below = math.hypot(moves.lost - lost[0], saved[1] - moves.saved) / n
    above = math.hypot(lost[1] - moves.lost, moves.saved - saved[0]) / n
    return Change(change.value, min(change.low, change.value - below), max(change.high, change.value + above))


def _poisson_limits(total: float, squares: float, largest: float, tail: float) -> tuple[float, float]:
    low = float(squares / total * gammaincinv(total**2 / squares, tail)) if total > 0.0 else 0.0
    more, more_squares = total + largest, squares + largest**2
    return low, float(more_squares / more * gammainccinv(more**2 / more_squares, tail))
