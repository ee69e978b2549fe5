"""The state of the likelihood mixture: its arrays, and what a state file may hold of them."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from baserate.protocols import FloatArray, IntArray
from baserate.simplex import project
from baserate.state.declarations import (
    Fields,
    Flag,
    Saved,
    Sizes,
    Spec,
    Together,
    Whole,
    floats,
    ints,
    priors,
)
from baserate.state.unreadable import UnreadableError
from baserate.trackers._tracker import SAVED, has_one_key
from baserate.trackers.likelihood_mixture import experts, season
from baserate.trackers.likelihood_mixture.runs import FEW_LANES, FULL, LANES


class State(NamedTuple):
    """State of each key; all arrays have a leading axis of keys."""

    births: FloatArray
    """The class mix that is predicted before the first round."""
    counts: FloatArray
    """Soft counts of each class by each expert."""
    weights: FloatArray
    """Weights of the experts, under each switching rate."""
    trust: FloatArray
    """Weights of the switching rates."""
    doubted: FloatArray
    """Class counts of the latest rounds, while no known mix explains them."""
    doubt: FloatArray
    """Evidence that no known mix explains them, as a log-likelihood ratio; zero for none."""
    made: IntArray
    """First and last round that each recalled mix was learned from; zero for a free place."""
    rounds: IntArray
    """Number of rounds, and the round in which `doubt` began."""
    run_mixes: FloatArray
    """The class mix of each run; the last lane is the birth value's."""
    overlaps: FloatArray
    """Mean products of class probabilities in each run: of all pairs of classes, or second and first moments."""
    sizes: FloatArray
    """Number of samples in each run."""
    began: IntArray
    """Round in which each run began; zero for a free place, and for the birth value."""
    run_weights: FloatArray
    """Weights of the runs and of the birth value."""
    arms: FloatArray
    """Weights of the mixture of experts, and of the runs."""
    seasons: FloatArray
    """The profile, a class mix for each round of the period; what the latest rounds contain of each direction; and the
    mean squared distance of rounds that are 1, 2, 3, ... apart."""
    seasonal: IntArray
    """The period, zero for none; the round in which it was found; and that after which comparisons began."""
    season_arms: FloatArray
    """Weights of the forecast without a season, of the profile, and of the forecast moved as the profile moves."""
    season_arms_seen: FloatArray
    """The same where the round's samples are known, and the forecast without a season has learned from them."""


class Note(NamedTuple):
    """Record of a round, with which `correct` can count its samples again by their labels."""

    t: int
    """Number of the round, from 1."""
    mixes: FloatArray
    """The class mix that each expert was judged by."""
    mixture: FloatArray
    """The class mix with which class probabilities of the samples were computed."""
    shares: FloatArray
    """Share of each sample that each recalled mix has counted."""
    run_mixes: FloatArray
    """The class mix that each run began the round with, and that the birth value was judged by."""
    source_prior: FloatArray


def n_lanes(k: int, *, light: bool) -> int:
    """Return the number of lanes, one for each run and one for the birth value; none in the light profile."""
    if light:
        return 0
    return LANES if k <= FULL else FEW_LANES


def n_overlaps(k: int) -> int:
    """Return how many numbers say how well a run tells k classes apart."""
    return k * (k + 1) // 2 if k <= FULL else 2 * k


def n_places(k: int, *, light: bool) -> int:
    """Return the longest period that is looked for; zero in the light profile and for many classes."""
    return 0 if light or k > FULL else season.SPAN


def new_state(births: FloatArray, *, light: bool) -> State:
    """Return the initial state of ``len(births)`` keys."""
    keys, k = births.shape
    m, n_shares, lanes = experts.EXPERTS, len(experts.SWITCHING_RATES), n_lanes(k, light=light)
    weights = np.zeros((keys, n_shares, m))
    weights[:, :, : experts.MEMORIES] = 0.5 / experts.MEMORIES
    weights[:, :, experts.KNOWN] = 0.5
    rounds = np.zeros((keys, 2), dtype=np.int64)
    rounds[:, 1] = 1
    run_weights = np.zeros((keys, lanes))
    run_weights[:, -1:] = 1.0
    return State(
        births=project(births, np.zeros(k), np.ones(k)),
        counts=np.zeros((keys, k, m)),
        weights=weights,
        trust=np.full((keys, n_shares), 1.0 / n_shares),
        doubted=np.zeros((keys, k)),
        doubt=np.zeros(keys),
        made=np.zeros((keys, experts.RECALLED, 2), dtype=np.int64),
        rounds=rounds,
        run_mixes=np.full((keys, k, lanes), 1.0 / k),
        overlaps=np.zeros((keys, n_overlaps(k), lanes)),
        sizes=np.zeros((keys, lanes)),
        began=np.zeros((keys, lanes), dtype=np.int64),
        run_weights=run_weights,
        arms=np.full((keys, 2), 0.5) if lanes else np.tile([1.0, 0.0], (keys, 1)),
        seasons=np.zeros((keys, n_places(k, light=light), k + len(season.directions(k)) + 1)),
        seasonal=np.zeros((keys, 3), dtype=np.int64),
        season_arms=np.tile(season.START, (keys, 1)),
        season_arms_seen=np.tile(season.START, (keys, 1)),
    )


_OF_SEASONS: dict[str, Spec] = {
    "seasons": floats("keys", "places", "columns", low=-2.0, high=season.MISSING),
    "seasonal": ints("keys", 3, low=0),
    "season_arms": priors("keys", 3),
    "season_arms_seen": priors("keys", 3),
}
_ARRAYS = Fields(
    {
        "births": priors("keys", "k"),
        "counts": floats("keys", "k", experts.EXPERTS, low=0.0, high=1e18),
        "weights": priors("keys", len(experts.SWITCHING_RATES), experts.EXPERTS),
        "trust": priors("keys", len(experts.SWITCHING_RATES)),
        "doubted": floats("keys", "k", low=0.0, high=1e18),
        "doubt": floats("keys", high=1e18),
        "made": ints("keys", experts.RECALLED, 2, low=0),
        "rounds": ints("keys", 2, low=0),
        "run_mixes": floats("keys", "k", "lanes", low=1e-30, high=1.0 + 1e-9),
        "overlaps": floats("keys", "overlaps", "lanes", low=0.0, high=1.0 + 1e-9),
        "sizes": floats("keys", "lanes", low=0.0, high=1e18),
        "began": ints("keys", "lanes", low=0),
        "run_weights": floats("keys", "lanes", low=0.0, high=1.0 + 1e-9),
        "arms": priors("keys", 2),
    }
)
_WITH_SEASONS = Fields({**_ARRAYS.specs, **_OF_SEASONS})


@dataclass(frozen=True)
class _Arrays:
    """The declaration of the state's arrays: runs have as many lanes and products as the number of classes says."""

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        if isinstance(value, dict) and not _OF_SEASONS.keys() & value.keys():
            _ARRAYS.check(value, where, sizes)  # of an earlier version: seasons begin now
            made = new_state(value["births"], light=sizes.known["lanes"] == 0)
            made.seasonal[:, 2] = value["rounds"][:, 0]
            value.update({name: getattr(made, name) for name in _OF_SEASONS})
        elif isinstance(value, dict) and "season_arms_seen" not in value and "season_arms" in value:
            value["season_arms_seen"] = value["season_arms"]  # of an earlier version, too
        _WITH_SEASONS.check(value, where, sizes)
        k, lanes = sizes.known["k"], sizes.known["lanes"]
        if lanes not in (0, n_lanes(k, light=False)) or sizes.known["overlaps"] != n_overlaps(k):
            raise UnreadableError(f"holds {where} of other runs than {k} classes have")
        columns = k + len(season.directions(k)) + 1
        if (sizes.known["places"], sizes.known["columns"]) != (n_places(k, light=lanes == 0), columns):
            raise UnreadableError(f"holds {where} of other seasons than {k} classes have")
        if (value["seasonal"] > value["rounds"][:, :1]).any() or (
            value["seasonal"][:, 0] > sizes.known["places"]
        ).any():
            raise UnreadableError(f"holds {where} with a season that is too long, or begins later than now")
        if lanes == 0:
            if (value["arms"][:, 1] != 0.0).any():
                raise UnreadableError(f"holds {where} with weight for runs, and without runs")
        elif (
            not (np.abs(value["run_mixes"].sum(axis=1) - 1.0) <= 1e-6).all()
            or not (np.abs(value["run_weights"].sum(axis=1) - 1.0) <= 1e-6).all()
        ):
            raise UnreadableError(
                f"holds {where} with runs that are no class mixes, or whose weights do not sum to one"
            )
        # The birth value may have no weight for a moment, after a large batch: each round gives it a share of all ends.
        elif (value["began"] > value["rounds"][:, :1]).any():
            raise UnreadableError(f"holds {where} with runs that begin later than now")


def _fits_together(saved: Saved) -> str:
    """Check that every expert but recalled mixes has weight, as each has a share of it after every round."""
    if problem := has_one_key(saved):
        return problem
    if (saved.sizes["lanes"] == 0) != saved.params["light"]:
        return "has runs that its parameters do not ask for, or none"
    weights = saved.state["_state"]["trust"][0] @ saved.state["_state"]["weights"][0]
    return "" if (weights[: experts.MEMORIES + 1] > 0.0).all() else "has experts without weight"


SAVES = SAVED.extended(
    {"light": Flag()}, {"_state": _Arrays(), "_slack": floats("k", low=0.0, high=1e9)}, check=_fits_together
)
"""The declaration of the tracker."""

SAVED_NOTE = Together(
    (
        Whole(1),
        floats("k", experts.EXPERTS, low=0.0, high=1.0 + 1e-9),
        priors("k"),
        floats(experts.RECALLED, low=0.0, high=1.0 + 1e-9),
        floats("k", "lanes", low=1e-30, high=1.0 + 1e-9),
        priors("k", low=1e-300),
    )
)
"""The declaration of a note."""
