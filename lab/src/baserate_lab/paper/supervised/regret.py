"""Dynamic regret of TrainByWeights against the best hypothesis of its class in each round, for a convex model."""

import itertools
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

from baserate.learners import TrainByWeights
from baserate.metrics import best_hypothesis_losses, dynamic_regret
from baserate.protocols import FloatArray, IntArray
from baserate.trackers import FLHFTL
from baserate_lab.paper.rates import variation
from baserate_lab.paper.supervised.problems import N_CLASSES, PATHS, samples, uniform
from baserate_lab.paper.supervised.running import run_all

BATCH_SIZE = 10
LENGTHS = tuple(2**i for i in range(5, 10))
N_SEEDS = 6
REGRET_PATHS = ("step", "steps")
METHODS = ("with FLH-FTL", "with FLH-FTL (window)", "told the truth", "unweighted")

_PROBLEM = "misspecified"  # so that more than the intercepts of the best hypothesis depends on the mix
_POOL_SIZE = 6000
# A little regularisation, whose weight shrinks with every sample: ten samples may be separable, and then the log loss
# of the fitted model is infinite. The best hypothesis has no regularisation.
_ESTIMATOR = LogisticRegression(C=1.0, max_iter=1000)
_BEST = LogisticRegression(C=np.inf, tol=1e-8, max_iter=10_000)


@lru_cache(maxsize=1)
def _pool() -> tuple[FloatArray, IntArray]:
    """The labelled pool, with equally many samples of each class, in turn.

    It is the population: rounds are drawn from it with replacement, and every loss is measured on all of it.
    """
    y = np.arange(_POOL_SIZE) % N_CLASSES
    return samples(_PROBLEM, y, np.random.default_rng(2**32)), y


@lru_cache(maxsize=32)
def _best_losses(path_name: str, n_rounds: int) -> FloatArray:
    return best_hypothesis_losses(_BEST, *_pool(), PATHS[path_name](n_rounds, N_CLASSES), loss="log")


def _class_losses(proba: FloatArray, y: IntArray) -> FloatArray:
    """Mean log loss by class."""
    losses = -np.log(proba[np.arange(len(y)), y])
    return np.asarray(np.bincount(y, losses) / np.bincount(y))


def _learner(method: str, path: FloatArray) -> TrainByWeights:
    if method == "with FLH-FTL":
        return TrainByWeights(N_CLASSES, _ESTIMATOR, FLHFTL(N_CLASSES), rng=0)
    if method == "with FLH-FTL (window)":
        return TrainByWeights(N_CLASSES, _ESTIMATOR, FLHFTL(N_CLASSES, experts="window"), rng=0)
    # With a constant path, all samples get the same weight.
    told = path if method == "told the truth" else np.tile(uniform(N_CLASSES), (len(path), 1))
    return TrainByWeights(N_CLASSES, _ESTIMATOR, priors=told, rng=0)


def regret(path_name: str, method: str, n_rounds: int, seed: int) -> float:
    """Sum over rounds of L_t(f_t) - L_t(f_t*), in log loss over the whole pool re-weighted to the round's mix."""
    # One seed for all lengths, so that luck in the first rounds does not look like growth.
    rng = np.random.default_rng(seed)
    path = PATHS[path_name](n_rounds, N_CLASSES)
    learner = _learner(method, path)
    pool_X, pool_y = _pool()
    losses = np.empty_like(path)
    for t, q in enumerate(path):
        losses[t] = _class_losses(learner.predict_proba(pool_X), pool_y)
        y = rng.choice(N_CLASSES, size=BATCH_SIZE, p=q)
        learner.update(pool_X[y + N_CLASSES * rng.integers(_POOL_SIZE // N_CLASSES, size=BATCH_SIZE)], y)
    return float(dynamic_regret(losses, _best_losses(path_name, n_rounds), path)[-1])


def run_regret(
    paths: Sequence[str] = REGRET_PATHS,
    methods: Sequence[str] = METHODS,
    lengths: Sequence[int] = LENGTHS,
    n_seeds: int = N_SEEDS,
    *,
    n_jobs: int = 1,
) -> dict[tuple[str, str], FloatArray]:
    """Regret of every method on every path: arrays of shape (lengths, seeds)."""
    # The longest first, so that no core is idle at the end.
    cells = itertools.product(paths, methods, sorted(lengths, reverse=True), range(n_seeds))
    found: dict[tuple[str, str], FloatArray] = {}
    for (path, method, n_rounds, seed), value in run_all(regret, cells, "regret", n_jobs=n_jobs):
        array = found.setdefault((path, method), np.empty((len(lengths), n_seeds)))
        array[lengths.index(n_rounds), seed] = value
    return found


def order(path_name: str, n_rounds: int) -> float:
    """T^(2/3) V^(1/3) + sqrt(T), the order of the theorem's bound."""
    v = variation(PATHS[path_name](n_rounds, N_CLASSES))
    return float(n_rounds ** (2 / 3) * v ** (1 / 3) + np.sqrt(n_rounds))
