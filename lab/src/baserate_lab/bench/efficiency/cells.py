"""Cells that all sections share, the trackers compared, and results as arrays with error bars."""

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from baserate.protocols import FloatArray
from baserate.trackers import LikelihoodMixture
from baserate_lab.bench.trackers.bars import Bar
from baserate_lab.bench.trackers.findings import Measured

UNSEEN, DESIGN = 20261118, 7
"""Part of every seed: of the streams that judge, which are not used while the tracker is designed, and of others."""

DEFAULT, LIGHT, ML, ORACLE, ALONE = "default", "light", "maximum likelihood", "oracle", "model alone"

_RESAMPLES = 1000


class Cell(NamedTuple):
    """One method on one stream.

    Attributes
    ----------
    case, variant : str
        The problem, in words of its section.
    n : int
        A size: rows per round, of the holdout, or of the batch.
    method : str
        The method.
    seed : int
        Everything random depends on the seed and the problem alone, not on the method.
    design : bool
        Whether the streams are those to look at while designing, which never judge.
    """

    case: str
    variant: str
    n: int
    method: str
    seed: int
    design: bool = False

    def rng(self, *parts: object) -> np.random.Generator:
        """A generator that depends on the seed and on the given parts of the problem."""
        return np.random.default_rng([DESIGN if self.design else UNSEEN, self.seed, zlib.crc32(repr(parts).encode())])


Results = Mapping[Cell, Any]
"""Results by cell, as a store holds them; the type of a result is that of its section."""

Problem = tuple[str, str, int]
"""Case, variant and size."""


class Section(NamedTuple):
    """A part of the benchmark with results of its own.

    Attributes
    ----------
    title : str
        Heading on the page.
    result : type
        Named tuple of numbers.
    protocol : int
        Raise it when the same cell would give another result: stored cells are then run again.
    seeds : int
        Number of seeds unless the command line says another.
    plan : callable
        All problems with the methods to run on each.
    run : callable
        Result of a cell.
    bars, tables : callable
        Made of results: the acceptance bars, and the text of the section.
    """

    title: str
    result: type[Any]
    protocol: int
    seeds: int
    plan: Callable[[], list[tuple[Problem, tuple[str, ...]]]]
    run: Callable[[Cell], Any]
    bars: Callable[[Results], list[Bar]]
    tables: Callable[[Results], str]

    def cells(self, seeds: int, *, design: bool = False) -> list[Cell]:
        """All cells, those that share a stream next to each other."""
        return [
            Cell(*problem, method, seed, design)
            for problem, methods in self.plan()
            for seed in range(seeds)
            for method in methods
        ]


def mixture(n_classes: int, *, light: bool, prior: FloatArray | None = None) -> LikelihoodMixture:
    """The default tracker, or its light profile."""
    return LikelihoodMixture(n_classes, prior=prior, light=light)


class Block(NamedTuple):
    """Numbers of several methods on several problems, all with the same seeds.

    Attributes
    ----------
    problems : list of Problem
        The first axis.
    methods : tuple of str
        The last axis.
    values : (problems, seeds, methods) array
        The numbers.
    """

    problems: list[Problem]
    methods: tuple[str, ...]
    values: FloatArray

    def of(self, method: str) -> FloatArray:
        """Numbers of one method, (problems, seeds)."""
        return self.values[:, :, self.methods.index(method)]

    def geometric(self, method: str, other: str) -> Measured:
        """Geometric mean over problems of the ratio of two methods' means over seeds."""
        a, b = self.methods.index(method), self.methods.index(other)
        return bootstrap(self.values, lambda means: np.exp(np.log(means[..., a] / means[..., b]).mean(axis=-1)))

    def ratios(self, method: str, other: str) -> FloatArray:
        """Ratio of two methods' means over seeds, for each problem."""
        return np.asarray(self.of(method).mean(axis=1) / self.of(other).mean(axis=1))


def block(kept: Results, problems: Sequence[Problem], methods: Sequence[str], quantity: str) -> Block:
    """Numbers of those problems that have results of all methods, with the seeds that all of these have."""
    found: dict[Problem, dict[int, list[float]]] = {}
    seeds = sorted({(cell.design, cell.seed) for cell in kept})
    for problem in problems:
        rows = {}
        for design, seed in seeds:
            cells = [Cell(*problem, method, seed, design) for method in methods]
            if all(cell in kept for cell in cells):
                rows[seed] = [getattr(kept[cell], quantity) for cell in cells]
        if rows:
            found[problem] = rows
    common = sorted(set.intersection(*(set(rows) for rows in found.values()))) if found else []
    values = [[rows[seed] for seed in common] for rows in found.values()]
    return Block(list(found), tuple(methods), np.array(values).reshape(len(found), len(common), len(methods)))


def bootstrap(values: FloatArray, statistic: Callable[[FloatArray], FloatArray]) -> Measured:
    """A statistic with its standard error, from a bootstrap over seeds, drawn jointly for all problems and methods.

    Parameters
    ----------
    values : (problems, seeds, methods) array
        The numbers.
    statistic : callable
        Called with means over seeds, of shape (..., problems, methods).
    """
    value = float(statistic(values.mean(axis=1)))
    n = values.shape[1]
    if n < 2:
        return Measured(value, np.nan)
    drawn = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=_RESAMPLES)
    again = statistic(np.einsum("rs,psm->rpm", drawn / n, values))
    # The bootstrap variance of n seeds is too small by the factor 1 - 1/n.
    return Measured(value, float(np.std(again) * np.sqrt(n / (n - 1))))


def n_seeds(kept: Results) -> int:
    """Number of seeds among the results."""
    return 1 + max((cell.seed for cell in kept), default=-1)
