"""Number of trainings of the lazy variant of TrainByWeights (Algorithm 4), which trains when LPA's prediction changes.

That depends on the labels alone, so no model is trained here.
"""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from baserate.protocols import FloatArray, IntArray
from baserate.trackers import FLHFTL, LowSwitching
from baserate_lab.paper.rates import variation
from baserate_lab.paper.supervised.marginals import BATCH_SIZE, K, bound
from baserate_lab.paper.supervised.problems import PATHS, skewed, uniform
from baserate_lab.paper.supervised.running import run_all

LENGTHS = tuple(2**i for i in range(6, 14))
N_SEEDS = 10
DELTA = 0.05
THRESHOLDS = ("calibrated", "theory")

STILL_LENGTH, STILL_RUNS = 1024, 200
STILL = {
    "uniform": uniform(K),
    "skewed": skewed(K),
    "one class nearly alone": 0.01 / K + 0.99 * np.eye(K)[0],
    "each half of the one before": 2.0 ** -np.arange(K) / (2.0 ** -np.arange(K)).sum(),
    "two of ten": np.array([0.5, 0.5, *np.zeros(K - 2)]),
}
"""Constant class mixes."""


def tracker(threshold: str, n_rounds: int) -> LowSwitching:
    """LPA around FLH-FTL, with its defaults or as in the theorem (with the number of rounds and sigma^2 = 1/N)."""
    if threshold == "theory":
        return LowSwitching(FLHFTL(K), sigma2=1.0 / BATCH_SIZE, delta=DELTA, horizon=n_rounds, threshold="theory")
    return LowSwitching(FLHFTL(K), delta=DELTA)


def count(path: FloatArray, threshold: str, rng: np.random.Generator) -> int:
    """Number of trainings on labels drawn along a path."""
    lpa = tracker(threshold, len(path))
    bound(lpa, path.shape[1])
    calls = 0
    for z in rng.multinomial(BATCH_SIZE, path) / BATCH_SIZE:
        lpa.update(z)
        calls += lpa.switched_
    return calls


def _moving(path_name: str, threshold: str, n_rounds: int, seed: int) -> int:
    return count(PATHS[path_name](n_rounds, K), threshold, np.random.default_rng([seed, n_rounds]))


def _still(mix: str, threshold: str, n_rounds: int, seed: int) -> int:
    path = np.tile(STILL[mix], (n_rounds, 1))
    return count(path, threshold, np.random.default_rng([seed, n_rounds, list(STILL).index(mix)]))


def run_calls(
    lengths: Sequence[int] = LENGTHS, n_seeds: int = N_SEEDS, *, n_jobs: int = 1
) -> dict[tuple[str, str], FloatArray]:
    """Trainings on every path with every threshold, arrays of shape (lengths, seeds)."""
    cells = itertools.product(PATHS, THRESHOLDS, lengths, range(n_seeds))
    found: dict[tuple[str, str], FloatArray] = {}
    for (path, threshold, n_rounds, seed), calls in run_all(_moving, cells, "calls", n_jobs=n_jobs):
        array = found.setdefault((path, threshold), np.empty((len(lengths), n_seeds)))
        array[lengths.index(n_rounds), seed] = calls
    return found


def run_still(
    n_rounds: int = STILL_LENGTH, n_runs: int = STILL_RUNS, *, n_jobs: int = 1
) -> dict[tuple[str, str], IntArray]:
    """Trainings on streams with a constant mix, by mix and threshold; one number per run."""
    cells = itertools.product(STILL, THRESHOLDS, [n_rounds], range(n_runs))
    found: dict[tuple[str, str], list[int]] = {}
    for (mix, threshold, _, _), calls in run_all(_still, cells, "standing still", n_jobs=n_jobs):
        found.setdefault((mix, threshold), []).append(calls)
    return {key: np.array(calls) for key, calls in found.items()}


def few(calls: IntArray, n_rounds: int) -> float:
    """Share of runs with no more trainings than a constant mix needs: after 1, 2, 4, 8, ... rounds."""
    return float((calls <= math.log2(n_rounds) + 1).mean())


def order(path_name: str, n_rounds: int) -> float:
    """T^(1/3) V^(2/3), the order of the theorem's bound."""
    return float(n_rounds ** (1 / 3) * variation(PATHS[path_name](n_rounds, K)) ** (2 / 3))
