"""Arrows: a running mean that restarts when a wavelet test detects a change (Baby and Wang 2019).

The policy, for one coordinate y_1, y_2, ... of noise sigma: (1) a bin begins at t_h = 1. (2) In round t, (3) in the
first round of a bin, predict y_(t-1), the birth value if there is none; (4) else the mean of y_(t_h)..y_(t-1). (5)
See y_t. (6) Subtract the bin's mean, and pad with zeros to a length m that is a power of two. (7) Take the Haar
coefficients, level l holding 2^l of them, and soft-threshold them at sigma sqrt(beta log n). (8) If m^(-1/2) sum_l
2^(l/2) ||level l||_1 > m^(-1/2) sigma, a new bin begins at t_h = t + 1.

In the sum of step 8, a coefficient of a block of s estimates has the factor s^(-1/2), whatever the padded length. So a
coefficient is added once, when its block is full.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.compiled import compiled
from baserate.protocols import Evidence, FloatArray, IntArray
from baserate.state.declarations import Maybe, Number, Whole, floats, ints, vectors
from baserate.trackers._tracker import BankedTracker, saved_rows
from baserate.validation import check_integer, check_real

_LEVELS = 32  # a bin ends after 2^32 - 1 rounds, more than any stream has

_LONGEST = 2**_LEVELS - 1
_SHORTEST = 64  # the horizon that doubling starts from


class State(NamedTuple):
    """Per key: the number of updates, and for each class the sums of its bin.

    A bin of m estimates is split into blocks like m into powers of two: `blocks` holds, for each bit of m, the sum of a
    block of that length. Every Haar coefficient of the bin is a difference of such sums.
    """

    seen: IntArray
    last: FloatArray  # the last estimate (before any, the birth value)
    squares: FloatArray  # sum of squared differences of successive estimates, from which the noise is estimated
    in_bin: IntArray  # estimates in the bin of each class
    excess: FloatArray  # part of the test statistic from the coefficients of full blocks
    blocks: FloatArray


@compiled
def _soft(value: float, threshold: float) -> float:
    """Return the size of a coefficient after soft thresholding."""
    return max(abs(value) - threshold, 0.0)


@compiled
def _enter(z: float, m: int, blocks: FloatArray, threshold: float) -> float:
    """Add an estimate to a bin of `m` others; return the part of the statistic from blocks that this fills."""
    carry, excess, level = z, 0.0, 0
    while (m >> level) & 1:
        # Two neighbouring blocks of 2^level make one of twice the length, and its coefficient.
        size = float(1 << (level + 1))
        excess += _soft((blocks[level] - carry) / np.sqrt(size), threshold) / np.sqrt(size)
        carry += blocks[level]
        blocks[level] = 0.0
        level += 1
    blocks[level] = carry
    return excess


@compiled
def _mean(m: int, blocks: FloatArray) -> float:
    total, level = 0.0, 0
    while m >> level:
        total += blocks[level]
        level += 1
    return total / m


@compiled
def _unfinished(m: int, blocks: FloatArray, threshold: float) -> float:
    """Return the part of the statistic of a bin of `m` estimates from coefficients that reach into the padding.

    The bin is centred on its mean and padded with zeros to a power of two; only these coefficients are affected.
    """
    mean = _mean(m, blocks)
    excess, tail, n_tail, level = 0.0, 0.0, 0, 0
    while (1 << level) < m:  # blocks of twice 2^level, up to the padded length
        size = float(1 << (level + 1))
        if (m >> level) & 1:
            # The left half is full, the right one holds the tail.
            left, right = blocks[level] - mean * (1 << level), tail - mean * n_tail
            tail += blocks[level]
            n_tail += 1 << level
        else:
            left, right = tail - mean * n_tail, 0.0  # zero if the tail is empty: such a block is full
        excess += _soft((left - right) / np.sqrt(size), threshold) / np.sqrt(size)
        level += 1
    return excess


@compiled
def _predict(last: FloatArray, in_bin: IntArray, blocks: FloatArray, rows: IntArray) -> FloatArray:
    out = np.empty((len(rows), last.shape[1]))
    for j in range(len(rows)):
        row = rows[j]
        for c in range(last.shape[1]):
            m = min(max(in_bin[row, c], 0), _LONGEST)  # a damaged file may hold any number, and numba checks no bounds
            out[j, c] = _mean(m, blocks[row, c]) if m > 0 else last[row, c]  # Steps 4 and 3
    return out


@compiled
def _update(
    seen: IntArray,
    last: FloatArray,
    squares: FloatArray,
    in_bin: IntArray,
    excess: FloatArray,
    blocks: FloatArray,
    rows: IntArray,
    z: FloatArray,
    sigma: float,
    beta: float,
    horizon: int,
) -> None:
    for j in range(len(rows)):
        row = rows[j]
        seen[row] += 1
        t = seen[row]
        n = horizon
        if horizon == 0:
            n = _SHORTEST
            while n < t:
                n *= 2
        for c in range(z.shape[1]):
            if t > 1:
                squares[row, c] += (z[j, c] - last[row, c]) ** 2
            noise = sigma
            if sigma == 0.0:
                noise = np.sqrt(squares[row, c] / (2 * max(t - 1, 1)))
            threshold = noise * np.sqrt(beta * np.log(n))
            last[row, c] = z[j, c]  # Step 5
            in_bin[row, c] = min(max(in_bin[row, c], 0), _LONGEST - 1)  # as above
            excess[row, c] += _enter(z[j, c], in_bin[row, c], blocks[row, c], threshold)  # Steps 6 and 7
            in_bin[row, c] += 1
            m = in_bin[row, c]
            padded = 1
            while padded < m:
                padded *= 2
            statistic = excess[row, c] + _unfinished(m, blocks[row, c], threshold)
            rounding = 1e-12 * abs(z[j, c])  # of a sequence without noise
            if statistic > noise / np.sqrt(padded) + rounding or m == _LONGEST:  # Step 8
                in_bin[row, c] = 0
                excess[row, c] = 0.0
                blocks[row, c] = 0.0  # so that equal states have equal bytes


class Arrows(BankedTracker, saved_as="arrows"):
    """Running mean since the last change, where changes are detected by a wavelet test.

    Each class has a bin of its own, and is predicted by the mean of its bin. When the soft-thresholded Haar
    coefficients of the bin add up to more than the noise, a new bin begins, and starts from the last estimate. Total
    squared error of the optimal order T^(1/3) V^(2/3) without knowing the drift V. O(k log t) time a round and constant
    memory: a coefficient whose block is full is added once, only those at the end of the bin are computed anew.

    Parameters
    ----------
    n_classes : int
        Number of classes k, at least 2.
    sigma : float, optional
        Standard deviation of an estimate. Default: estimated for each class as the root of half the mean square of
        differences of successive estimates. That is too small for a class so rare that most batches hold none of it:
        single samples then look like changes. Give a larger value.
    beta : float
        Coefficients below ``sigma * sqrt(beta * log(horizon))`` count as noise. The theorem needs more than 24, which
        detects changes late; the default of 3 hardly ever takes noise for a change.
    horizon : int, optional
        Number of rounds. Default: the smallest power of two (from 64 on) that the rounds so far fit in. When it
        doubles, coefficients that have been added keep the threshold they had.
    prior : (k,) array, optional
        The prediction before the first update. Default: the source prior inside an adapter, else uniform.

    Examples
    --------
    >>> tracker = Arrows(2)
    >>> for z in 20 * [[1.0, 0.0]] + 20 * [[0.0, 1.0]]:
    ...     tracker.update(z)
    >>> tracker.predict().round(2)
    array([0., 1.])

    References
    ----------
    Baby, Wang, "Online Forecasting of Total-Variation-bounded Sequences", NeurIPS 2019 (its policy for an unknown
    variation).
    """

    in_threads = True

    saves = saved_rows(
        {
            "seen": ints("keys", low=0),
            "last": vectors("keys", "k"),
            "squares": floats("keys", "k", low=0.0, high=1e36),
            "in_bin": ints("keys", "k", low=0, high=2**32 - 1),
            "excess": floats("keys", "k", low=0.0, high=1e40),
            "blocks": vectors("keys", "k", _LEVELS, updates=2.0**32),
        },
        sigma=Maybe(Number(0.0)),
        beta=Number(0.0),
        horizon=Maybe(Whole(1)),
    )

    def __init__(
        self,
        n_classes: int,
        *,
        sigma: float | None = None,
        beta: float = 3.0,
        horizon: int | None = None,
        prior: ArrayLike | None = None,
    ) -> None:
        self.n_classes = n_classes
        self.sigma = sigma
        self.beta = beta
        self.horizon = horizon
        self.prior = prior
        self._begin()

    def _begin(self) -> None:
        if self.sigma is not None:
            check_real(self.sigma, "sigma", 0.0, 1e9, closed=False)
        check_real(self.beta, "beta", 0.0, 1e9, closed=False)
        if self.horizon is not None:
            check_integer(self.horizon, "horizon", 2)
        super()._begin()

    def new_state(self, births: FloatArray) -> State:
        """Return the initial state of ``len(births)`` keys."""
        shape = births.shape
        return State(
            seen=np.zeros(len(births), dtype=np.int64),
            last=np.array(births),
            squares=np.zeros(shape),
            in_bin=np.zeros(shape, dtype=np.int64),
            excess=np.zeros(shape),
            blocks=np.zeros((*shape, _LEVELS)),
        )

    def predict_rows(self, state: State, rows: IntArray) -> FloatArray:
        """Return the predictions of some keys, one row each."""
        return _predict(state.last, state.in_bin, state.blocks, rows)

    def update_rows(self, state: State, rows: IntArray, z: FloatArray, evidence: Evidence | None = None) -> None:
        """Update each of some keys with one estimate, in place; no key twice."""
        _update(*state, rows, z, float(self.sigma or 0.0), float(self.beta), int(self.horizon or 0))

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(n_classes=3), cls(n_classes=3, sigma=0.1, beta=1.0, horizon=100)]
