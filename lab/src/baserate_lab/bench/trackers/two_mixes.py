"""Bayes filter for a Bernoulli shift that is told everything but the current mix: the best possible tracker."""

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import Evidence, FloatArray


class TwoMixes:
    """Tracker that is told both class mixes and the probability of a switch, which no user knows.

    The forward filter of a hidden Markov chain with two states. In state s, a batch has the likelihood
    ``prod_i sum_c mix_s[c] f_0(c | x_i) / q_0[c]``. The prediction is the mean of the mixes, weighted by the
    probabilities of the states in the next round, so no round is used before it is predicted.

    Parameters
    ----------
    first, second : (k,) arrays
        The class mixes; the stream starts with the first.
    flip : float
        Probability of a switch before each later round; 1 / sqrt(T) by default in `baserate.shifts.Bernoulli`.
    """

    def __init__(self, first: FloatArray, second: FloatArray, flip: float) -> None:
        self.mixes = np.array([first, second])
        self.flip = flip
        self.reset()

    def reset(self) -> None:
        """Go back to the first round."""
        self._log_states = np.log(np.array([1.0, np.finfo(float).tiny]))

    def predict(self) -> FloatArray:
        """Weighted mean of the mixes, (k,)."""
        states = np.exp(self._log_states)
        return np.asarray(states / states.sum() @ self.mixes)

    def update(self, z: ArrayLike, evidence: Evidence | None = None) -> None:
        """Update with the evidence of a round; `z` is ignored."""
        assert evidence is not None
        with np.errstate(divide="ignore"):  # a batch may have likelihood 0 under a mix
            log_states = self._log_states + np.log(self.mixes @ evidence.likelihoods.T).sum(axis=1)
        best = log_states.max()
        if not np.isfinite(best):  # the batch is impossible under both mixes, so it does not tell them apart
            log_states, best = self._log_states, self._log_states.max()
        states = np.exp(log_states - best)
        states /= states.sum()
        moved = (1 - self.flip) * states + self.flip * states[::-1]
        self._log_states = np.log(np.maximum(moved, np.finfo(float).tiny))
