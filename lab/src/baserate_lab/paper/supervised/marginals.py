"""Errors of the class mix that trackers predict from the labels of earlier rounds; no samples are needed."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from baserate.metrics import marginal_mse
from baserate.protocols import BindableTracker, FloatArray, Tracker
from baserate.shifts import Bernoulli
from baserate.trackers import FLHFTL, FollowTheHistory
from baserate_lab.paper.supervised.problems import uniform
from baserate_lab.paper.supervised.running import run_all

K, BATCH_SIZE = 10, 50
PAPER_LENGTH = 200
LENGTHS = (50, 100, PAPER_LENGTH, 400, 800, 1600)
N_SEEDS = 100

TRACKERS: dict[str, Callable[[], Tracker]] = {
    "follow the history": lambda: FollowTheHistory(K),
    "FLH-FTL": lambda: FLHFTL(K),
    "FLH-FTL (window)": lambda: FLHFTL(K, experts="window"),
}


def bound(tracker: Tracker, k: int) -> Tracker:
    """A tracker as a learner sets it up: it starts at the uniform mix, and its inputs are label frequencies."""
    if isinstance(tracker, BindableTracker):
        tracker.bind(prior=uniform(k), sigma_min=None)
    return tracker


def played(tracker: Tracker, estimates: FloatArray) -> FloatArray:
    """Predictions of a tracker before each update."""
    predictions = np.empty_like(estimates)
    for t, z in enumerate(estimates):
        predictions[t] = tracker.predict()
        tracker.update(z)
    return predictions


def errors(n_rounds: int, seed: int) -> FloatArray:
    """Mean squared distance to the label frequencies of each round and to the true mix, (trackers, 2).

    The shift is that of the paper's supervised table. All trackers are given the same labels.
    """
    rng = np.random.default_rng([seed, n_rounds])
    path = Bernoulli().path(n_rounds, K, rng)
    estimates = rng.multinomial(BATCH_SIZE, path) / BATCH_SIZE
    found = []
    for make in TRACKERS.values():
        predictions = played(bound(make(), K), estimates)
        found.append([marginal_mse(predictions, estimates), marginal_mse(predictions, path)])
    return np.array(found)


def run_marginals(lengths: Sequence[int] = LENGTHS, n_seeds: int = N_SEEDS, *, n_jobs: int = 1) -> FloatArray:
    """Errors of every tracker, (lengths, seeds, trackers, 2)."""
    cells = itertools.product(lengths, range(n_seeds))
    found = [value for _, value in run_all(errors, cells, "marginals", n_jobs=n_jobs)]
    return np.reshape(found, (len(lengths), n_seeds, len(TRACKERS), 2))


def ratios(found: FloatArray) -> FloatArray:
    """Mean errors over seeds as shares of those of `FollowTheHistory`, (lengths, trackers, 2)."""
    means = found.mean(axis=1)
    return np.asarray(means / means[:, :1])
