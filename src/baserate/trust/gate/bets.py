"""Sequential test, by betting, of which of two predictors is wrong more often."""

import numpy as np
from numpy.typing import NDArray

from baserate.compiled import compiled
from baserate.protocols import FloatArray

STAKES = np.array([0.05, 0.1, 0.2, 0.4, 0.8])
"""Parts of the winnings that are put on the next sample; one bet is run for each."""
LARGEST = 1e100
"""Largest winnings of a bet."""
RAREST = 0.05
"""Least probability of being labelled, relative to the largest, that is fully made up for."""


def inverse_weights(probabilities: FloatArray, tells: NDArray[np.bool_], limits: FloatArray) -> FloatArray:
    """Return weights, at most one, in inverse proportion to the probabilities with which samples were chosen.

    If a sample is chosen with probability p, its difference d divided by p has the mean of d over all samples. A bet
    must not lose more than its stake, so the weight is c / p with c the least probability so far among samples that
    tell: a constant, once it has been reached. Then a bet is as valid for the mean over all samples as it is without
    weights where all are labelled. Probabilities below `RAREST` times the largest are taken as that: else a single one
    would bring all betting to a halt.

    Parameters
    ----------
    probabilities : (n,) array
        Above 0, at most 1.
    tells : (n,) array of bool
        Whether a difference is not zero; the others are not bet on.
    limits : (2,) array
        The least and the largest probability of samples before that told, at first 1 and 0; updated in place.

    Examples
    --------
    >>> limits = np.array([1.0, 0.0])
    >>> inverse_weights(np.array([0.2, 0.1, 0.2]), np.array([True, True, True]), limits)
    array([1. , 1. , 0.5])
    >>> limits
    array([0.1, 0.2])
    """
    counted = np.where(tells, probabilities, limits[0])
    least = np.minimum(np.minimum.accumulate(counted), limits[0]) if len(counted) else counted
    largest = np.maximum(np.maximum.accumulate(np.where(tells, probabilities, 0.0)), limits[1])
    if len(counted):
        limits[:] = least[-1], largest[-1]
    return np.asarray(np.minimum(np.maximum(least, RAREST * largest) / probabilities, 1.0))


@compiled
def bet(differences: FloatArray, won: FloatArray, stakes: FloatArray, limit: float) -> int:
    """Bet on the sign of differences within [-1, 1], one after the other, until one decides.

    For each stake s the winnings follow ``won <- (won + 1) (1 + s d)``: a new unit is staked at each difference. If the
    differences have no positive mean, given those before, the expected winnings after m of them are at most m. So the
    probability of reaching a limit A within m differences is at most m / A, and the expected number of differences
    until then is at least A (the e-detector of Shiryaev-Roberts type). Differences of zero are skipped: they carry no
    information.

    Parameters
    ----------
    differences : (n,) array
        Losses of the first predictor minus losses of the second.
    won : (2, s) array
        Winnings by stake, on positive differences and on negative ones; updated in place.
    stakes : (s,) array
        `STAKES`.
    limit : float
        A.

    Returns
    -------
    int
        1 + 2 i if the bets on positive differences reach the limit at difference i, 2 + 2 i if those on negative ones
        do, and 0 if neither does.
    """
    for i in range(len(differences)):
        d = differences[i]
        if d == 0.0:
            continue
        positive, negative = 0.0, 0.0
        for j in range(len(stakes)):
            won[0, j] = min((won[0, j] + 1.0) * (1.0 + stakes[j] * d), LARGEST)
            won[1, j] = min((won[1, j] + 1.0) * (1.0 - stakes[j] * d), LARGEST)
            positive += won[0, j] / len(stakes)
            negative += won[1, j] / len(stakes)
        if positive >= limit:
            return 1 + 2 * i
        if negative >= limit:
            return 2 + 2 * i
    return 0
