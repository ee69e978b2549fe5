"""What could be known at best on a Bernoulli shift: a Bayes filter that is told everything but where the mix is now."""

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import Evidence, FloatArray


class TwoMixes:
    """A tracker that is told both class mixes and the probability to switch, as nobody is.

    The forward filter of a hidden Markov chain with two states. In state s, a batch has the likelihood
    ``prod_i sum_c mix_s[c] f_0(c | x_i) / q_0[c]``; the prediction is the mean of the mixes by the probabilities of
    the states in the round to come, so that no round is used before it is predicted.

    Parameters
    ----------
    first, second : (k,) arrays
        The class mixes; the first round has the first.
    flip : float
        The probability to switch before each later round. That of `baserate.shifts.Bernoulli` is 1 / sqrt(T) unless
        it is given another: it is the probability to switch, not that to stay.
    """

    def __init__(self, first: FloatArray, second: FloatArray, flip: float) -> None:
        self.mixes = np.array([first, second])
        self.flip = flip
        self.reset()

    def reset(self) -> None:
        """Go back to the first round."""
        self._log_states = np.log(np.array([1.0, np.finfo(float).tiny]))

    def predict(self) -> FloatArray:
        """(k,) the mean of the mixes."""
        states = np.exp(self._log_states)
        return np.asarray(states / states.sum() @ self.mixes)

    def update(self, z: ArrayLike, evidence: Evidence | None = None) -> None:
        """Take in a round; only the evidence is looked at."""
        assert evidence is not None
        with np.errstate(divide="ignore"):  # a batch may rule out that all are of class 0
            log_states = self._log_states + np.log(self.mixes @ evidence.likelihoods.T).sum(axis=1)
        best = log_states.max()
        if not np.isfinite(best):  # neither mix holds the batch possible, which says nothing about which it is
            log_states, best = self._log_states, self._log_states.max()
        states = np.exp(log_states - best)
        states /= states.sum()
        moved = (1 - self.flip) * states + self.flip * states[::-1]
        self._log_states = np.log(np.maximum(moved, np.finfo(float).tiny))
