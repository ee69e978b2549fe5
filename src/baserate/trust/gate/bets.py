"""Bets that one of two predictions is wrong more often than the other, on the samples that tell them apart."""

import numpy as np

from baserate.compiled import compiled
from baserate.protocols import FloatArray

STAKES = np.array([0.05, 0.1, 0.2, 0.4, 0.8])
"""Parts of what has been won that are put on the next sample; all are tried."""
_LARGEST = 1e100


@compiled
def bet(differences: FloatArray, won: FloatArray, stakes: FloatArray, limit: float) -> int:
    """Bet on the sign of each of some differences within [-1, 1]; stops at the first that decides.

    For each stake s the winnings follow ``won <- (won + 1) (1 + s d)``: one unit is laid out anew for each difference.
    If differences have no positive mean, given those before, then the mean winnings after m of them are at most m, so
    that they reach a limit A within m differences with a probability of at most m / A, and first do so after A of them
    or more on average (the e-detector of Shiryaev and Roberts' form). Differences of zero are left out: they say
    nothing, and would only make time pass.

    Parameters
    ----------
    differences : (n,) array
        Losses of the one less losses of the other.
    won : (2, s) array
        Winnings by stake, on positive differences and on negative ones; is written to.
    stakes : (s,) array
        `STAKES`.
    limit : float
        A.

    Returns
    -------
    int
        1 + 2 i if at difference i the bets on positive ones have reached the limit, 2 + 2 i for negative ones, and 0
        if all were taken in.
    """
    for i in range(len(differences)):
        d = differences[i]
        if d == 0.0:
            continue
        positive, negative = 0.0, 0.0
        for j in range(len(stakes)):
            won[0, j] = min((won[0, j] + 1.0) * (1.0 + stakes[j] * d), _LARGEST)
            won[1, j] = min((won[1, j] + 1.0) * (1.0 - stakes[j] * d), _LARGEST)
            positive += won[0, j] / len(stakes)
            negative += won[1, j] / len(stakes)
        if positive >= limit:
            return 1 + 2 * i
        if negative >= limit:
            return 2 + 2 * i
    return 0
