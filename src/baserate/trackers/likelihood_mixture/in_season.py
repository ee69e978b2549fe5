"""The season of a likelihood mixture, shown for batches that are used before they are predicted, and for bands."""

from typing import NamedTuple

import numpy as np

from baserate.protocols import FloatArray, IntArray
from baserate.trackers.likelihood_mixture import season
from baserate.trackers.likelihood_mixture.state import State


class Arms(NamedTuple):
    """The arms of a season before a round."""

    plays: FloatArray
    """The class mix that each predicts, (3, k)."""
    weights: FloatArray
    """Their weights, (3,)."""
    moves: bool
    """True if the profile moves the forecast."""
    worth: float
    """Number of labelled samples that the profile is worth, by how much rounds a period apart differ."""


def found(state: State) -> bool:
    """Return whether the mix of one key comes back after a number of rounds."""
    return state.seasons.shape[1] > 0 and bool(state.seasonal[0, 0] > 0)


def arms_of(state: State, plain: FloatArray) -> Arms:
    """Return the arms of one key that has a season; `plain` is the forecast without it."""
    seasons, k = state.seasons[0], len(plain)
    t, period = int(state.rounds[0, 0]) + 1, int(state.seasonal[0, 0])
    plays, moves, seen = season.plays_of(seasons, state.seasonal[0], season.directions(k), t, plain)
    chance = 0.5 * seasons[period - 1, -1] * (k - 1) / (seasons.shape[1] - k - 1)
    worth = seen * (1.0 - (plays[season.LEVEL] ** 2).sum()) / max(chance, 1e-12)
    return Arms(plays, state.season_arms[0], moves, max(1.0, float(worth)))


def settle(mixes: FloatArray, before: Arms | None, state: State, keys: IntArray) -> FloatArray:
    """Return the class mixes of the round that was just seen, one row for each key.

    `mixes` are those without a season now, and `before` is what the arms predicted for the round.
    """
    if before is None:
        return mixes
    moved, moves = before.plays[season.MOVED], before.moves
    return season.settled(
        state.seasons, state.seasonal, state.season_arms_seen, state.rounds, keys, moved, moves, mixes
    )


def add_arms(
    arms: Arms, weights: FloatArray, mixes: FloatArray, sizes: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Add the profile and the moved forecast to the experts that are weighed against each other."""
    own = np.array([arms.weights[season.LEVEL], arms.weights[season.MOVED] if arms.moves else 0.0])
    return (
        np.append(weights * (1.0 - own.sum()), own),
        np.vstack([mixes, arms.plays[season.LEVEL :]]),
        np.append(sizes, [arms.worth, 0.5 * arms.worth]),
    )
