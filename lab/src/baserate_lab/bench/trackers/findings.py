"""Results as arrays over problems, seeds and methods; means, ratios, paired differences and their standard errors."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from baserate.protocols import FloatArray
from baserate_lab.bench.trackers.cells import TablePlan, TrackingCell, TrackingProblem, TrackingResult

_RESAMPLES = 1000

TrackingResults = Mapping[TrackingCell, TrackingResult]
"""Results by cell, as a store holds them."""


class Measured(NamedTuple):
    """A number and its standard error over seeds (NaN with a single seed)."""

    value: float
    error: float

    def shown(self, digits: int = 3) -> str:
        """Text for a table."""
        margin = "" if np.isnan(self.error) else f" ± {self.error:.{digits}f}"
        return f"{self.value:.{digits}f}{margin}"


class ResultBlock(NamedTuple):
    """Numbers of several methods on several problems, all with the same seeds.

    Attributes
    ----------
    problems : tuple of TrackingProblem
        The first axis.
    methods : tuple of str
        The last axis.
    values : (problems, seeds, methods) array
        The numbers.
    """

    problems: tuple[TrackingProblem, ...]
    methods: tuple[str, ...]
    values: FloatArray

    def where(self, wanted: Callable[[TrackingProblem], bool]) -> "ResultBlock":
        """The same block with only the wanted problems."""
        chosen = [i for i, problem in enumerate(self.problems) if wanted(problem)]
        return ResultBlock(tuple(self.problems[i] for i in chosen), self.methods, self.values[chosen])

    def of(self, method: str) -> FloatArray:
        """Numbers of one method, (problems, seeds)."""
        return self.values[:, :, self.methods.index(method)]

    def measured(self, statistic: Callable[[FloatArray], FloatArray]) -> Measured:
        """A statistic with its standard error, from a bootstrap over seeds.

        Seeds are resampled jointly for all problems and methods, because a seed gives every method the same stream.

        Parameters
        ----------
        statistic : callable
            Called with means over seeds, of shape (..., problems, methods).
        """
        value = float(statistic(self.values.mean(axis=1)))
        n_seeds = self.values.shape[1]
        if n_seeds < 2:
            return Measured(value, np.nan)
        drawn = np.random.default_rng(0).multinomial(n_seeds, np.full(n_seeds, 1 / n_seeds), size=_RESAMPLES)
        again = statistic(np.einsum("rs,psm->rpm", drawn / n_seeds, self.values))
        # The bootstrap variance of S seeds is too small by the factor 1 - 1/S.
        return Measured(value, float(np.std(again) * np.sqrt(n_seeds / (n_seeds - 1))))

    def difference(self, method: str, other: str) -> list[Measured]:
        """Mean of method minus other for each problem, paired by seed."""
        return [paired(row) for row in self.of(method) - self.of(other)]

    def better(self, methods: Sequence[str]) -> list[str]:
        """The method with the lowest mean over seeds, for each problem."""
        means = np.array([self.of(method).mean(axis=1) for method in methods])
        return [methods[i] for i in means.argmin(axis=0)]

    def difference_to_better(self, method: str, others: Sequence[str]) -> list[Measured]:
        """Paired difference to the other method with the lowest mean, for each problem."""
        chosen = self.better(others)
        return [paired(self.of(method)[i] - self.of(other)[i]) for i, other in enumerate(chosen)]

    def ratios(self, method: str, others: Sequence[str]) -> FloatArray:
        """The method's mean over seeds divided by the lowest mean of the others, for each problem."""
        return self._ratios(self.values.mean(axis=1), method, others)

    def geometric(self, method: str, others: Sequence[str]) -> Measured:
        """The geometric mean over problems of `ratios`."""
        return self.measured(lambda means: np.exp(np.log(self._ratios(means, method, others)).mean(axis=-1)))

    def _ratios(self, means: FloatArray, method: str, others: Sequence[str]) -> FloatArray:
        lowest = means[..., [self.methods.index(other) for other in others]].min(axis=-1)
        return np.asarray(means[..., self.methods.index(method)] / lowest)


def paired(differences: FloatArray) -> Measured:
    """The mean of differences, one per seed, and its standard error."""
    n = len(differences)
    error = float(np.std(differences, ddof=1) / np.sqrt(n)) if n > 1 else np.nan
    return Measured(float(np.mean(differences)), error)


def n_seeds(kept: TrackingResults) -> int:
    """Number of seeds among the results."""
    return 1 + max((cell.seed for cell in kept), default=-1)


def block(kept: TrackingResults, plan: TablePlan, quantity: str, methods: Sequence[str] | None = None) -> ResultBlock:
    """Numbers of those problems of a plan that have results of all methods and seeds.

    Parameters
    ----------
    kept : mapping of TrackingCell to TrackingResult
        The results.
    plan : list of (TrackingProblem, methods)
        The problems wanted.
    quantity : str
        "mse", or "error" (in percent).
    methods : sequence of str, optional
        Default: the methods of the plan's first problem.
    """
    asked = tuple(methods if methods is not None else plan[0][1])
    seeds = range(n_seeds(kept))
    scale = 100.0 if quantity == "error" else 1.0
    found = {}
    for problem, _ in plan:
        wanted = [[TrackingCell(method, seed, *problem) for method in asked] for seed in seeds]
        if seeds and all(cell in kept for row in wanted for cell in row):
            found[problem] = [[scale * getattr(kept[cell], quantity) for cell in row] for row in wanted]
    values = np.array(list(found.values())).reshape(len(found), max(len(seeds), 1), len(asked))
    return ResultBlock(tuple(found), asked, values)


def share_complete(kept: TrackingResults, plans: Iterable[TablePlan]) -> tuple[int, int]:
    """Number of problems with results of all methods and seeds, and number of all problems."""
    problems = [(problem, methods) for plan in plans for problem, methods in plan]
    seeds = range(n_seeds(kept))
    done = sum(
        all(TrackingCell(m, seed, *problem) in kept for m in methods for seed in seeds) for problem, methods in problems
    )
    return (done if seeds else 0), len(problems)
