"""Distance of the default calibrator from the best single map: ``python -m baserate_lab.bench.calibration``.

A cell is a model's outputs, distorted by a temperature and random class biases, and a holdout size; its figures are
means over random holdouts. Writes the page docs/results/calibration.md.
"""

import argparse
import itertools
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, softmax

from baserate.calibrators import BCTS, AutoCalibrator, TemperatureScaling, VectorScaling
from baserate.protocols import Calibrator, FloatArray, IntArray
from baserate_lab.bench.tables import to_markdown
from baserate_lab.bench.trackers.sets import load

SETS = ("cifar10", "mnist", "forest", "fashion", "synthetic")
DESIGNED_ON = ("cifar10", "mnist", "forest", "rare")
SIZES = (100, 200, 400, 1000, 5000)
RARE_SIZES = (500, 2000, 10_000)
DISTORTIONS = tuple(itertools.product((1.0, 0.5, 0.4, 2.5), (0.0, 1.0)))
"""Temperatures that divide the logits, and standard deviations of the biases added then."""
FIGURES = ("error", "error, shifted", "log loss", "log loss, shifted")
UNSEEN = 20261118  # part of every seed, so that no draw was used while the calibrator was designed
_POOL = 10_000
_RARE_POOL = 100_000
_MIXES = 4


class Identity:
    """The model left alone."""

    def fit(self, proba: ArrayLike, y: ArrayLike) -> Self:
        """Do nothing."""
        return self

    def transform(self, proba: ArrayLike) -> FloatArray:
        """Return the probabilities."""
        return np.asarray(proba, dtype=np.float64)


SINGLE: dict[str, Callable[[], Calibrator]] = {
    "none": Identity,
    "temperature": TemperatureScaling,
    "BCTS": BCTS,
    "vector": VectorScaling,
}
METHODS: dict[str, Callable[[], Calibrator]] = {**SINGLE, "auto": AutoCalibrator}


class Cell(NamedTuple):
    """A set, the distortion of its outputs, and a holdout size."""

    name: str
    temperature: float
    spread: float
    size: int


class Draw(NamedTuple):
    """Logits and labels of a holdout and of a pool, and the class mixes that the pool is shifted to."""

    holdout_logits: FloatArray
    holdout_y: IntArray
    logits: FloatArray
    y: IntArray
    mixes: FloatArray


def draw(cell: Cell, rng: np.random.Generator) -> Draw:
    """A random holdout with every class, and a random part of the pool."""
    if cell.name == "rare":
        mixes = np.array([[0.92, 0.08], [0.6, 0.4]])
        return Draw(*_scored(cell.size, rng), *_scored(_RARE_POOL, rng), mixes)
    found = load(cell.name)
    while True:
        rows = rng.choice(len(found.holdout_y), min(cell.size, len(found.holdout_y)), replace=False)
        if len(np.unique(found.holdout_y[rows])) == found.n_classes:
            break
    part = rng.permutation(len(found.y))[:_POOL]
    mixes = 0.001 / found.n_classes + 0.999 * rng.dirichlet(np.ones(found.n_classes), size=_MIXES)
    return Draw(found.holdout_logits[rows], found.holdout_y[rows], found.logits[part], found.y[part], mixes)


def _scored(n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    """Logits of a calibrated model of 1 % positives: one normal score, of which the means are 1.8 apart."""
    y = (np.arange(n) < n // 100).astype(np.int64)
    logit = 1.8 * rng.normal(1.8 * y) - 1.8**2 / 2 + np.log(0.01 / 0.99)
    return np.column_stack([np.zeros(n), logit]), y


def score(proba: FloatArray, y: IntArray, mixes: FloatArray, source: FloatArray) -> FloatArray:
    """Error in percent and log loss in hundredths of a nat: as it is, and re-weighted to shifted class mixes.

    `source` is the class mix that the probabilities are re-weighted from: the holdout's, as in the adapters.
    """
    logs = np.log(np.maximum(proba, 1e-300))
    pool = np.bincount(y, minlength=len(source)) / len(y)
    shifted = np.mean([_score(logs + np.log(q / source), y, (q / pool)[y]) for q in mixes], axis=0)
    return np.asarray([_score(logs, y, np.ones(len(y))), shifted]).T.ravel()


def _score(logs: FloatArray, y: IntArray, weights: FloatArray) -> tuple[float, float]:
    loss = logsumexp(logs, axis=1) - logs[np.arange(len(y)), y]
    wrong = logs.argmax(axis=1) != y
    return 100.0 * float(np.average(wrong, weights=weights)), 100.0 * float(np.average(loss, weights=weights))


def measure(cell: Cell, n_seeds: int) -> dict[str, FloatArray]:
    """The `FIGURES` (n_seeds, 4) of each method; all methods see the same draws."""
    found: dict[str, list[FloatArray]] = {method: [] for method in METHODS}
    for seed in range(n_seeds):
        scaled = int(100 * cell.temperature), int(10 * cell.spread)
        rng = np.random.default_rng([UNSEEN, zlib.crc32(cell.name.encode()), *scaled, cell.size, seed])
        drawn = draw(cell, rng)
        k = drawn.logits.shape[1]
        biases = cell.spread * rng.standard_normal(k)
        holdout, pool = (softmax(z / cell.temperature + biases, axis=1) for z in (drawn.holdout_logits, drawn.logits))
        source = np.bincount(drawn.holdout_y, minlength=k) / len(drawn.holdout_y)
        for method, make in METHODS.items():
            calibrated = make().fit(holdout, drawn.holdout_y).transform(pool)
            found[method].append(score(calibrated, drawn.y, drawn.mixes, source))
    return {method: np.array(rows) for method, rows in found.items()}


Results = Mapping[Cell, Mapping[str, FloatArray]]


def distance(rows: Mapping[str, FloatArray], figure: int, method: str) -> tuple[float, float, str]:
    """Return a method's distance from the best single map, its standard error, and that map's name."""
    best = min(SINGLE, key=lambda name: float(rows[name][:, figure].mean()))
    apart = rows[method][:, figure] - rows[best][:, figure]
    return float(apart.mean()), float(apart.std(ddof=1) / np.sqrt(len(apart))), best


def summary(results: Results, cells: Sequence[Cell]) -> str:
    """Distances from the best single map over all cells, for every method."""
    head = ["figure", "method", "mean distance", "largest", "its standard error", "in the cell", "cells above 0.3"]
    lines = []
    for i, figure in enumerate(FIGURES):
        for method in METHODS:
            found = [distance(results[cell], i, method) for cell in cells]
            worst = int(np.argmax([mean for mean, *_ in found]))
            lines.append(
                [
                    figure,
                    method,
                    f"{np.mean([mean for mean, *_ in found]):.3f}",
                    f"{found[worst][0]:.2f}",
                    f"{found[worst][1]:.2f}",
                    _name(cells[worst]),
                    f"{sum(mean > 0.3 for mean, *_ in found)} of {len(cells)}",
                ]
            )
    return to_markdown(head, lines, text=(0, 1, 5))


def _name(cell: Cell) -> str:
    return f"{cell.name}, {_distortion(cell)}, {cell.size:,}"


def _distortion(cell: Cell) -> str:
    return f"T = {cell.temperature:g}{', biased' if cell.spread else ''}"


def table(results: Results, names: Sequence[str], figure: int) -> str:
    """The default calibrator's figure in every cell, and how far that is above the best single map's."""
    cells = [cell for cell in results if cell.name in names]
    sizes = sorted({cell.size for cell in cells})
    lines: dict[tuple[str, str], list[str]] = {}
    for cell in sorted(cells, key=lambda cell: (names.index(cell.name), cell.size)):
        mean, error, best = distance(results[cell], figure, "auto")
        own = float(results[cell]["auto"][:, figure].mean())
        lines.setdefault((cell.name, _distortion(cell)), []).append(f"{own:.2f} ({mean:+.2f} ± {error:.2f}, {best})")
    return to_markdown(
        ["set", "distortion", *(f"{size:,}" for size in sizes)], [[*k, *v] for k, v in lines.items()], text=(0, 1)
    )


def page(results: Results, n_seeds: int) -> str:
    """The page of all results."""
    sets = [name for name in dict.fromkeys(cell.name for cell in results) if name != "rare"]
    parts = [
        "# Calibration",
        "Made by `python -m baserate_lab.bench.calibration`. Each cell is the mean over "
        f"{n_seeds} random holdouts, with seeds that were not used for the design. Logits are divided by a temperature "
        "T, and in the biased rows a bias from N(0, 1) is added to each class's logit. *Shifted*: re-weighted to class "
        "mixes drawn from Dirichlet(1), by the ratio of the mix to the holdout's class frequencies. *rare*: 1 % "
        "positives, one normal score with distance 1.8, shifted to 8 % and 40 %. Errors are in percent, log losses in "
        "hundredths of a nat. Distances are from the best of no calibration, `TemperatureScaling`, `BCTS` and "
        "`VectorScaling`, chosen in hindsight in every cell. Standard errors are those of the paired difference. One "
        "choice was made on these draws: a prior that also shrinks the temperature to 1 had the same errors and a "
        "higher log loss, and was dropped.",
    ]
    groups = {
        "Sets that were not used for the design": [name for name in sets if name not in DESIGNED_ON],
        "Sets that were used for the design, new draws": [name for name in sets if name in DESIGNED_ON],
        "Rare positives": ["rare"],
    }
    for title, names in groups.items():
        cells = [cell for cell in results if cell.name in names]
        if cells:
            parts += [f"## {title}", summary(results, cells)]
            for i, figure in enumerate(FIGURES):
                parts += [
                    f"### {title}: {figure}",
                    "By holdout size: `AutoCalibrator` (distance from the best single map, which).",
                    table(results, names, i),
                ]
    return "\n\n".join(parts) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all cells, and write the page."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=20)
    options.add_argument("--sets", nargs="+", default=[*SETS, "rare"], choices=[*SETS, "rare"])
    options.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    options.add_argument("--out", type=Path, default=Path("docs/results/calibration.md"))
    asked = options.parse_args(arguments)
    cells = [
        Cell(name, *distortion, size)
        for name in asked.sets
        for distortion in DISTORTIONS
        for size in (RARE_SIZES if name == "rare" else asked.sizes)
    ]
    results = {cell: measure(cell, asked.seeds) for cell in cells}
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(page(results, asked.seeds))


if __name__ == "__main__":
    main()
