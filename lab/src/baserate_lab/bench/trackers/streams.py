"""Streams of the benchmark: the class mix over time, and samples drawn along it. A stream depends on its cell alone."""

import functools
import zlib
from typing import NamedTuple

import numpy as np

from baserate.protocols import Batch, FloatArray, Shift
from baserate.shifts import Bernoulli, Constant, Monotone, RandomWalk, Sinusoidal, Square, sample_stream
from baserate_lab.bench.trackers.sets import UNSEEN, distorted, load

_BETWEEN_TWO = {"Monotone": Monotone, "Square": Square, "Sinusoidal": Sinusoidal, "Bernoulli": Bernoulli}
_DRAWN = " drawn"

EVEN = (*_BETWEEN_TWO, "RandomWalk")
"""Shifts between an even mix and class 0 alone, and the random walk, which starts at an even mix."""

DRAWN = tuple(f"{name}{_DRAWN}" for name in _BETWEEN_TWO)
"""Shifts between two class mixes that are drawn uniformly from the simplex by the seed."""

STILL = "Constant"
"""No shift: the class mix of the source in every round."""


class Stream(NamedTuple):
    """True class mix of each round, the rounds, and the two mixes that the shift moves between (if any)."""

    path: FloatArray
    batches: list[Batch]
    ends: FloatArray


def ends(shift: str, n_classes: int, rng: np.random.Generator) -> FloatArray:
    """The two mixes that a shift moves between, (2, k); (0, k) for shifts without two ends."""
    if shift.endswith(_DRAWN):
        return rng.dirichlet(np.ones(n_classes), size=2)
    if shift in _BETWEEN_TWO:
        return np.array([np.full(n_classes, 1 / n_classes), np.eye(n_classes)[0]])
    return np.empty((0, n_classes))


def path_of(
    shift: str, rounds: int, source_prior: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """The class mix of each round, (rounds, k), and the two mixes that it moves between."""
    k = len(source_prior)
    between = ends(shift, k, rng)
    moves: Shift
    if shift == STILL:
        moves = Constant(source_prior)
    elif shift == "RandomWalk":
        moves = RandomWalk()
    else:
        moves = _BETWEEN_TWO[shift.removesuffix(_DRAWN)](first=between[0], second=between[1])
    return moves.path(rounds, k, rng), between


@functools.lru_cache(maxsize=2)
def stream(data: str, shift: str, n: int, seed: int, distortion: str, rounds: int) -> Stream:
    """The stream of a set, shift, batch size and seed.

    The distortion changes only the model's outputs, not the samples drawn.
    """
    pool = load(data)
    rng = np.random.default_rng([UNSEEN, seed, zlib.crc32(f"{data}/{shift}/{n}".encode())])
    path, between = path_of(shift, rounds, pool.source_prior, rng)
    proba = distorted(pool.logits, distortion, seed)
    return Stream(path, list(sample_stream(proba, pool.y, path, batch_size=n, rng=rng)), between)
