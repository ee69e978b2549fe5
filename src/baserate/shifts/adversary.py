"""Adversary: the hard instance of the paper's lower bound."""

import numpy as np

from baserate.protocols import FloatArray
from baserate.shifts._shift import BaseShift
from baserate.state.declarations import Number, Saves
from baserate.validation import check_real


class Adversary(BaseShift, saved_as="adversary"):
    """Moves two classes at random from block to block, by just too little to be detected in time.

    Blocks have ``(T / V)^(2/3)`` rounds (rounded up); in each, the share of class 1 among classes 0 and 1 is 1/2 +
    delta or 1/2 - delta with equal probability, delta = V * block / (2 T). Every method has a regret of at least the
    order T^(2/3) V^(1/3) on it. With more than two classes, the others keep the share 1/k each.

    Parameters
    ----------
    variation : float
        V, the total variation of the path, as the proof counts it: that of the share of class 1 in the binary
        problem, half of the L1 distance. At most T / 8, where delta reaches 1/4.

    Examples
    --------
    >>> Adversary(variation=1.0).path(8, 2, rng=0)[::4]
    array([[0.25, 0.75],
           [0.25, 0.75]])

    References
    ----------
    Baby et al., "Online Label Shift: Optimal Dynamic Regret meets Practical Algorithms", NeurIPS 2023, proof of the
    lower bound of the unsupervised setting. (It asks for V <= 64 T; its own delta < 1/4 needs V < T / 8.)
    """

    saves = Saves(params={"variation": Number(0.0)})

    def __init__(self, *, variation: float = 1.0) -> None:
        self.variation = variation

    def _path(self, n_rounds: int, n_classes: int, rng: np.random.Generator) -> FloatArray:
        variation = check_real(self.variation, "variation", 0.0, n_rounds / 8)
        if variation == 0:
            return np.full((n_rounds, n_classes), 1 / n_classes)
        block = int(min(np.ceil((n_rounds / variation) ** (2 / 3)), n_rounds))
        delta = min(variation * block / (2 * n_rounds), 0.25)
        signs = rng.choice([-1.0, 1.0], size=-(-n_rounds // block))
        share = 0.5 + delta * np.repeat(signs, block)[:n_rounds]
        path = np.full((n_rounds, n_classes), 1 / n_classes)
        path[:, 0] = 2 / n_classes * (1 - share)
        path[:, 1] = 2 / n_classes * share
        return path
