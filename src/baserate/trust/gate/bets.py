"""Sequential test, by betting, of which of two predictors is wrong more often."""

import numpy as np

from baserate.compiled import compiled
from baserate.protocols import FloatArray

STAKES = np.array([0.05, 0.1, 0.2, 0.4, 0.8])
"""Parts of the winnings that are put on the next sample; one bet is run for each."""
LARGEST = 1e100
"""Largest winnings of a bet."""


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
