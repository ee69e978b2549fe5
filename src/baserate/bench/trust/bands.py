"""How often the band of `PriorBand` holds the class mix: ``python -m baserate.bench.trust.bands``.

Each draw is a fresh holdout, on which an adapter is fitted, and a fresh stream for every shift.
"""

import argparse
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from baserate.bench.trust._draws import MODELS, draw_holdout, draw_stream, shifts, world_of
from baserate.protocols import FloatArray
from baserate.trackers import FLHFTL, LikelihoodMixture
from baserate.trust import PriorBand

TRACKERS = {"LikelihoodMixture": LikelihoodMixture, "FLHFTL": FLHFTL}


class Row(NamedTuple):
    """Coverage over all draws, looks and classes; of the worst class; of the moving class; widths."""

    model: str
    holdout: int
    shift: str
    coverage: float
    worst: float
    moving: float
    width: float
    width_moving: float


def run(
    model: str,
    size: int,
    n_draws: int,
    *,
    n_rounds: int = 300,
    batch_size: int = 10,
    look: int = 23,
    level: float = 0.9,
    tracker: str = "LikelihoodMixture",
    seed: int = 0,
) -> list[Row]:
    """One row per shift. The moving class changes from draw to draw.

    Parameters
    ----------
    model : str
        One of `MODELS`.
    size : int
        Samples of the holdout.
    n_draws : int
        Pairs of a holdout and a stream.
    n_rounds, batch_size, look : int
        Rounds, samples a round, and rounds from one look at the band to the next (a prime: every phase of a wave).
    level : float
        Nominal coverage.
    tracker : str
        One of `TRACKERS`.
    seed : int
        Draw i has the seed ``(seed, size, i)``.
    """
    world = world_of(model)
    k = world.proba.shape[1]
    found: dict[str, list[FloatArray]] = {}
    for i in range(n_draws):
        rng = np.random.default_rng([seed, size, i])
        moving = i % k
        draw = draw_holdout(world, size, rng, TRACKERS[tracker](k))
        adapter = draw.adapter
        band = PriorBand().fit(draw.holdout, draw.y, adapter.source_prior_)
        for name, shift in shifts(world, moving).items():
            path = shift.path(n_rounds, k, rng)
            adapter.reset()
            band.reset()
            for t, (q, rows) in enumerate(draw_stream(world, path, batch_size, rng), start=1):
                adapter.update(world.proba[rows])
                band.update(draw.world[rows], adapter.tracker_)
                if t % look == 0:
                    low, high = band.interval(adapter.prior_, adapter.tracker_, level).T
                    held = (low <= q + 1e-12) & (q - 1e-12 <= high)
                    found.setdefault(name, []).append(np.array([held, high - low, np.arange(k) == moving]))
    return [_row(model, size, name, np.array(looks)) for name, looks in found.items()]


def _row(model: str, size: int, name: str, looks: FloatArray) -> Row:
    held, width, moving = looks[:, 0], looks[:, 1], looks[:, 2] == 1.0
    return Row(
        model,
        size,
        name,
        float(held.mean()),
        float(held.mean(axis=0).min()),
        float(held[moving].mean()),
        float(np.median(width)),
        float(np.median(width[moving])),
    )


def table(rows: Sequence[Row]) -> str:
    """The rows in Markdown."""
    lines = [
        "| model | holdout | shift | coverage % | worst class % | moving class % | width | moving class's |",
        "|---|---:|---|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {r.model} | {r.holdout:,} | {r.shift} | {100 * r.coverage:.1f} | {100 * r.worst:.1f} | "
        f"{100 * r.moving:.1f} | {r.width:.3f} | {r.width_moving:.3f} |"
        for r in rows
    ]
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--holdouts", nargs="+", type=int, default=[200, 1000, 10000])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--look", type=int, default=23)
    parser.add_argument("--level", type=float, default=0.9)
    parser.add_argument("--tracker", default="LikelihoodMixture", choices=list(TRACKERS))
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
                n_rounds=args.rounds,
                batch_size=args.batch,
                look=args.look,
                level=args.level,
                tracker=args.tracker,
                seed=args.seed,
            )
    print(table(rows))  # noqa: T201


if __name__ == "__main__":
    main()
