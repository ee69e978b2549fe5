"""The cells of each table: one method on one stream."""

import itertools
from collections.abc import Callable, Iterable
from typing import NamedTuple

from baserate_lab.bench.trackers.sets import DISTORTIONS, SETS
from baserate_lab.bench.trackers.streams import DRAWN, EVEN, STILL

BASE, CALIBRATED, ORACLE = "Base", "Base (calibrated)", "Oracle"
START, WINDOW, HISTORY = "FLH-FTL", "FLH-FTL (window)", "FollowTheHistory"
CAUSAL, TRANSDUCTIVE = "LikelihoodMixture", "LikelihoodMixture (transductive)"
TOLD = "Bayes filter"
"""Label of `TwoMixes`, which is told both mixes and the switching rate."""

METHODS = (BASE, START, WINDOW, CAUSAL, TRANSDUCTIVE, ORACLE)
SIZES = (1, 10, 100)
SMALL = 1000

LABELS: dict[str, tuple[float, int]] = {"late": (0.05, 20), "some": (0.05, 0), "all": (1.0, 0)}
"""Share of labels that become known, and the delay in rounds, by name."""

LABELLED_SETS, LABELLED_SHIFTS = ("cifar10", "synthetic", "forest"), ("Bernoulli", "Sinusoidal", "Monotone")
DISTORTED_SETS = ("cifar10", "mnist", "fashion", "synthetic")
DISTORTED_SHIFTS, DISTORTED_HOLDOUTS = (STILL, "Bernoulli", "Monotone", "Sinusoidal"), (200, 1000)
LIMIT_SET, LIMIT_SHIFTS = "cifar10", ("Bernoulli", "Bernoulli drawn")


class TrackingProblem(NamedTuple):
    """Everything about a cell except its method and seed.

    Attributes
    ----------
    data, shift : str
        From `sets.SETS` and `streams`.
    n : int
        Samples per round.
    holdout : int
        Samples of the holdout; 0 for all of them.
    distortion : str
        From `sets.DISTORTIONS`; empty for the model's outputs unchanged.
    labels : str
        From `LABELS`; empty for no labels.
    rounds : int
        Length of the stream, T.
    """

    data: str
    shift: str
    n: int
    holdout: int = 0
    distortion: str = ""
    labels: str = ""
    rounds: int = 1000


class TrackingCell(NamedTuple):
    """One method with one seed on one problem; the fields of the problem follow."""

    method: str
    seed: int
    data: str
    shift: str
    n: int
    holdout: int = 0
    distortion: str = ""
    labels: str = ""
    rounds: int = 1000

    @property
    def problem(self) -> TrackingProblem:
        """The problem: the cell without method and seed."""
        return TrackingProblem(*self[2:])


class TrackingResult(NamedTuple):
    """Result of a cell: mean squared error of the tracked class mix, and the share of wrong predictions."""

    mse: float
    error: float


TablePlan = list[tuple[TrackingProblem, tuple[str, ...]]]
"""Problems, each with the methods to run on it."""


def main() -> TablePlan:
    """Plan of the main table: every set, shift and batch size; methods fitted on the whole holdout."""
    return [(TrackingProblem(*at), METHODS) for at in itertools.product(SETS, (*EVEN, *DRAWN), SIZES)]


def small() -> TablePlan:
    """Plan with a small holdout. The digits are left out: their holdout is smaller anyway."""
    sets = [name for name in SETS if name != "digits"]
    return [(TrackingProblem(data, shift, 10, SMALL), METHODS) for data, shift in itertools.product(sets, EVEN)]


def limit() -> TablePlan:
    """Plan for the comparison with a Bayes filter that is told both mixes and the switching rate."""
    return [(TrackingProblem(LIMIT_SET, *at), (CAUSAL, TOLD, ORACLE)) for at in itertools.product(LIMIT_SHIFTS, SIZES)]


def labels() -> TablePlan:
    """Plan with labels: a few at once, the same few late, and all of them."""
    few: TablePlan = [
        (TrackingProblem(data, shift, 10, labels=known), (CAUSAL,))
        for data, shift, known in itertools.product(LABELLED_SETS, LABELLED_SHIFTS, ("", "late", "some"))
    ]
    rivals = (HISTORY, START, WINDOW, CAUSAL)
    every = itertools.product(LABELLED_SETS, (*EVEN, *DRAWN))
    return [*few, *((TrackingProblem(data, shift, 10, labels="all"), rivals) for data, shift in every)]


def miscalibration() -> TablePlan:
    """Plan with miscalibrated outputs and a small holdout to correct them on."""
    every = itertools.product(DISTORTED_SETS, DISTORTED_SHIFTS, [10], DISTORTED_HOLDOUTS, ("", *DISTORTIONS))
    return [(TrackingProblem(*at), (BASE, CALIBRATED, CAUSAL)) for at in every]


def constant() -> TablePlan:
    """Plan without any shift."""
    return [(TrackingProblem(data, STILL, 10), (BASE, CALIBRATED, CAUSAL)) for data in SETS]


TABLES: dict[str, Callable[[], TablePlan]] = {
    "main": main,
    "small-holdout": small,
    "limit": limit,
    "labels": labels,
    "miscalibration": miscalibration,
    "constant": constant,
}


def cells(tables: Iterable[str], seeds: int, data: Iterable[str] = ()) -> list[TrackingCell]:
    """Cells of some tables without repetitions, grouped by stream; of all sets unless `data` names some."""
    wanted = set(data) or set(SETS)
    planned: dict[TrackingProblem, dict[str, None]] = {}
    for table in tables:
        for problem, methods in TABLES[table]():
            if problem.data in wanted:
                planned.setdefault(problem, {}).update(dict.fromkeys(methods))
    return [
        TrackingCell(method, seed, *problem)
        for problem, methods in planned.items()
        for seed in range(seeds)
        for method in methods
    ]
