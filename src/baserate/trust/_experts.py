"""What a likelihood mixture believes: several class mixes, how much of each, and from how many samples."""

from typing import NamedTuple

import numpy as np

from baserate.protocols import FloatArray
from baserate.trackers import LikelihoodMixture
from baserate.trackers.likelihood_mixture.experts import KNOWN, MEMORIES, plays, say

__all__ = ["BIRTH", "MEMORIES", "Experts", "experts_of"]

BIRTH = KNOWN
"""Which expert plays the birth value; those before it forget at different speeds, those after it are recalled."""


class Experts(NamedTuple):
    """The experts, first `MEMORIES` of them by growing memory, then the birth value, then recalled mixes.

    Attributes
    ----------
    weights : (m,) array
        Summing to one.
    mixes : (m, k) array
        What each plays.
    sizes : (m,) array
        Samples behind each, and one; the birth value has none behind it.
    slack : (k,) array
        By how much a mix may differ from the birth value and be taken for it.
    """

    weights: FloatArray
    mixes: FloatArray
    sizes: FloatArray
    slack: FloatArray


def experts_of(tracker: LikelihoodMixture) -> Experts:
    """The experts of a tracker, as they are now, without places for recalled mixes that are free."""
    state = tracker._state
    counts = state.counts[0]
    weights = say(state.weights[0], state.trust[0])
    used = weights > 0.0
    mixes = plays(state.births[0], counts).T
    sizes = 1.0 + counts.sum(axis=0)
    return Experts(weights[used] / weights.sum(), np.ascontiguousarray(mixes[used]), sizes[used], tracker._slack)
