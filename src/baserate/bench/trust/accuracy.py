"""How near `AccuracyEstimate` comes to the accuracy: ``python -m baserate.bench.trust.accuracy``.

Streams of several windows, predicted by an adapted model; at the end of each window the estimate is compared with the
share of right predictions in it.
"""

import argparse
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from baserate.bench.trust._draws import MODELS, draw_holdout, draw_stream, shifts, world_of
from baserate.protocols import FloatArray
from baserate.trust import AccuracyEstimate


class Row(NamedTuple):
    """Errors in points, of the estimate and of the mean confidence alone; coverage of the band; its width in points."""

    model: str
    holdout: int
    shift: str
    accuracy: float
    error: float
    confidence_error: float
    coverage: float
    width: float


def run(
    model: str,
    size: int,
    n_draws: int,
    *,
    n_windows: int = 3,
    window: int = 5000,
    batch_size: int = 50,
    level: float = 0.9,
    seed: int = 0,
) -> list[Row]:
    """One row per shift.

    Parameters
    ----------
    model : str
        One of `MODELS`.
    size : int
        Samples of the holdout.
    n_draws : int
        Pairs of a holdout and a stream.
    n_windows, window, batch_size : int
        Windows of a stream, samples of a window, and samples a round.
    level : float
        Nominal coverage.
    seed : int
        Draw i has the seed ``(seed, size, i)``.
    """
    world = world_of(model)
    k = world.proba.shape[1]
    found: dict[str, list[tuple[float, float, float, float, float]]] = {}
    for i in range(n_draws):
        rng = np.random.default_rng([seed, size, i])
        draw = draw_holdout(world, size, rng)
        adapter = draw.adapter
        estimate = AccuracyEstimate(window).fit(draw.holdout, draw.y, adapter.source_prior_)
        starts = np.array([0, batch_size])
        for name, shift in shifts(world, i % k).items():
            path = shift.path(n_windows * window // batch_size, k, rng)
            adapter.reset()
            estimate.reset()
            right: list[FloatArray] = []
            sure: list[FloatArray] = []
            for t, (_, rows) in enumerate(draw_stream(world, path, batch_size, rng), start=1):
                step = adapter.step(world.proba[rows])
                right.append(step.proba.argmax(axis=1) == world.y[rows])
                sure.append(step.proba.max(axis=1))
                estimate.take_in(draw.world[rows], step.proba, step.prior[np.newaxis], starts)
                if t * batch_size % window == 0:
                    truth = float(np.concatenate(right).mean())
                    sureness = float(np.concatenate(sure).mean())
                    right, sure = [], []
                    found.setdefault(name, []).append((truth, sureness, *estimate.estimate(level)))
    return [_row(model, size, name, np.array(looks).T) for name, looks in found.items()]


def _row(model: str, size: int, name: str, looks: FloatArray) -> Row:
    truth, sureness, value, low, high = looks
    return Row(
        model,
        size,
        name,
        100 * float(truth.mean()),
        100 * float(np.abs(value - truth).mean()),
        100 * float(np.abs(sureness - truth).mean()),
        float(((low <= truth) & (truth <= high)).mean()),
        100 * float(np.median(high - low)),
    )


def table(rows: Sequence[Row]) -> str:
    """The rows in Markdown."""
    lines = [
        "| model | holdout | shift | accuracy % | mean error, points | of the confidence alone | coverage % | "
        "median width, points |",
        "|---|---:|---|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {r.model} | {r.holdout:,} | {r.shift} | {r.accuracy:.1f} | {r.error:.2f} | {r.confidence_error:.2f} | "
        f"{100 * r.coverage:.1f} | {r.width:.2f} |"
        for r in rows
    ]
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--holdouts", nargs="+", type=int, default=[200, 1000, 10000])
    parser.add_argument("--draws", type=int, default=30)
    parser.add_argument("--windows", type=int, default=3)
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--level", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # a small holdout may be called nearly singular; that is the point
    rows = []
    for model in args.models:
        for size in args.holdouts:
            rows += run(
                model,
                size,
                args.draws,
                n_windows=args.windows,
                batch_size=args.batch,
                level=args.level,
                seed=args.seed,
            )
    print(table(rows))  # noqa: T201


if __name__ == "__main__":
    main()
