"""Coverage of the class mix by the adapter's `prior_interval`: ``python -m baserate_lab.bench.trust.bands``.

Each draw is a new holdout, on which an adapter is fitted, and a new stream for every shift.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from baserate.protocols import FloatArray
from baserate.trackers import FLHFTL, LikelihoodMixture
from baserate_lab.bench.tables import to_markdown
from baserate_lab.bench.trust._command import for_all, parser
from baserate_lab.bench.trust._draws import draw_holdout, draw_stream, shifts, world_of

TRACKERS = {"LikelihoodMixture": LikelihoodMixture, "FLHFTL": FLHFTL}


class BandRow(NamedTuple):
    """Coverage over all draws, rounds and classes, of the worst class and of the moving class; widths."""

    model: str
    holdout: int
    shift: str
    coverage: float
    worst: float
    moving: float
    width: float
    width_moving: float


def measure_bands(
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
) -> list[BandRow]:
    """One row per shift, for a model and a holdout size; the moving class changes from draw to draw.

    Parameters
    ----------
    model, size
        The model, and the size of the holdout.
    n_draws : int
        Draw i has the seed ``(seed, size, i)``.
    n_rounds, batch_size, look : int
        Rounds, samples per round, and the interval in rounds at which the band is checked (a prime number, so that
        every phase of a wave is met).
    level : float
        Nominal coverage.
    tracker : str
        One of `TRACKERS`.
    seed : int
    """
    world = world_of(model)
    k = world.proba.shape[1]
    found: dict[str, list[FloatArray]] = {}
    for i in range(n_draws):
        rng = np.random.default_rng([seed, size, i])
        moving = i % k
        adapter = draw_holdout(world, size, rng, TRACKERS[tracker](k)).adapter
        for name, shift in shifts(world, moving).items():
            path = shift.path(n_rounds, k, rng)
            adapter.reset()
            for t, (q, rows) in enumerate(draw_stream(world, path, batch_size, rng), start=1):
                adapter.update(world.proba[rows])
                if t % look == 0:
                    low, high = adapter.prior_interval(level).T
                    held = (low <= q + 1e-12) & (q - 1e-12 <= high)
                    found.setdefault(name, []).append(np.array([held, high - low, np.arange(k) == moving]))
    return [_row(model, size, name, np.array(looks)) for name, looks in found.items()]


def _row(model: str, size: int, name: str, looks: FloatArray) -> BandRow:
    held, width, moving = looks[:, 0], looks[:, 1], looks[:, 2] == 1.0
    return BandRow(
        model,
        size,
        name,
        float(held.mean()),
        float(held.mean(axis=0).min()),
        float(held[moving].mean()),
        float(np.median(width)),
        float(np.median(width[moving])),
    )


def table(rows: Sequence[BandRow]) -> str:
    """Rows as a Markdown table."""
    head = ["model", "holdout", "shift", "coverage %", "worst class %", "moving class %", "width", "moving class's"]
    cells = [
        [
            r.model,
            f"{r.holdout:,}",
            r.shift,
            *(f"{100 * share:.1f}" for share in (r.coverage, r.worst, r.moving)),
            *(f"{width:.3f}" for width in (r.width, r.width_moving)),
        ]
        for r in rows
    ]
    return to_markdown(head, cells, text=(0, 2))


def main() -> None:
    """Print the table."""
    options = parser(__doc__, draws=200)
    options.add_argument("--rounds", type=int, default=300)
    options.add_argument("--batch", type=int, default=10)
    options.add_argument("--look", type=int, default=23)
    options.add_argument("--level", type=float, default=0.9)
    options.add_argument("--tracker", default="LikelihoodMixture", choices=list(TRACKERS))
    asked = options.parse_args()

    def measured(model: str, size: int) -> list[BandRow]:
        return measure_bands(
            model,
            size,
            asked.draws,
            n_rounds=asked.rounds,
            batch_size=asked.batch,
            look=asked.look,
            level=asked.level,
            tracker=asked.tracker,
            seed=asked.seed,
        )

    print(table(for_all(asked, measured)))  # noqa: T201


if __name__ == "__main__":
    main()
