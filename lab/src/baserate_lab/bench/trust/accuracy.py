"""Benchmark of `estimated_accuracy` against the true accuracy: ``python -m baserate_lab.bench.trust.accuracy``.

The default adapter predicts streams of several windows. At the end of each window its estimate is compared with the
share of correct predictions in that window.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from baserate.protocols import FloatArray, IntArray
from baserate.trust import Accuracy
from baserate_lab.bench.tables import to_markdown
from baserate_lab.bench.trust._command import for_all, parser
from baserate_lab.bench.trust._draws import Draw, World, draw_holdout, draw_stream, shifts, world_of

WINDOW = 5000
"""Samples that the adapter's estimate covers."""


class AccuracyRow(NamedTuple):
    """Errors of the estimate and of the mean confidence, in points; coverage and width of the band."""

    model: str
    holdout: int
    shift: str
    accuracy: float
    error: float
    confidence_error: float
    coverage: float
    width: float


class Window(NamedTuple):
    """A window of a stream under a shift: rows of the world, adapted outputs, and the adapter's estimate."""

    shift: str
    rows: IntArray
    adapted: FloatArray
    estimated: Accuracy


def windows(
    world: World,
    draw: Draw,
    moving: int,
    rng: np.random.Generator,
    *,
    n_windows: int = 3,
    batch_size: int = 50,
    level: float = 0.9,
) -> Iterator[Window]:
    """Windows of one stream per shift, in order.

    Parameters
    ----------
    world, draw
        The world that the stream is drawn from, and the adapter that predicts it.
    moving : int
        The class that moves.
    rng : numpy.random.Generator
    n_windows, batch_size : int
        Windows per stream, and samples per round.
    level : float
        Nominal coverage.
    """
    adapter, per_window = draw.adapter, WINDOW // batch_size
    for name, shift in shifts(world, moving).items():
        path = shift.path(n_windows * per_window, world.proba.shape[1], rng)
        rounds = [rows for _, rows in draw_stream(world, path, batch_size, rng)]
        adapter.reset()
        for start in range(0, len(rounds), per_window):
            part = rounds[start : start + per_window]
            adapted = np.concatenate([adapter.step(world.proba[rows]).proba for rows in part])
            yield Window(name, np.concatenate(part), adapted, adapter.estimated_accuracy(level))


def measure_accuracy(
    model: str,
    size: int,
    n_draws: int,
    *,
    n_windows: int = 3,
    batch_size: int = 50,
    level: float = 0.9,
    seed: int = 0,
) -> list[AccuracyRow]:
    """One row per shift, for a model and a holdout size; draw i has the seed ``(seed, size, i)``."""
    world = world_of(model)
    found: dict[str, list[tuple[float, ...]]] = {}
    for i in range(n_draws):
        rng = np.random.default_rng([seed, size, i])
        draw, moving = draw_holdout(world, size, rng), i % world.proba.shape[1]
        for seen in windows(world, draw, moving, rng, n_windows=n_windows, batch_size=batch_size, level=level):
            truth = (seen.adapted.argmax(axis=1) == world.y[seen.rows]).mean()
            looks = found.setdefault(seen.shift, [])
            looks.append((float(truth), float(seen.adapted.max(axis=1).mean()), *seen.estimated))
    return [_row(model, size, name, np.array(looks).T) for name, looks in found.items()]


def _row(model: str, size: int, name: str, looks: FloatArray) -> AccuracyRow:
    truth, sureness, value, low, high = looks
    return AccuracyRow(
        model,
        size,
        name,
        100 * float(truth.mean()),
        100 * float(np.abs(value - truth).mean()),
        100 * float(np.abs(sureness - truth).mean()),
        float(((low <= truth) & (truth <= high)).mean()),
        100 * float(np.median(high - low)),
    )


def table(rows: Sequence[AccuracyRow]) -> str:
    """Rows as a Markdown table."""
    head = ["model", "holdout", "shift", "accuracy %", "mean error, points", "of the confidence alone", "coverage %"]
    cells = [
        [
            r.model,
            f"{r.holdout:,}",
            r.shift,
            f"{r.accuracy:.1f}",
            f"{r.error:.2f}",
            f"{r.confidence_error:.2f}",
            f"{100 * r.coverage:.1f}",
            f"{r.width:.2f}",
        ]
        for r in rows
    ]
    return to_markdown([*head, "median width, points"], cells, text=(0, 2))


def main() -> None:
    """Print the table."""
    options = parser(__doc__, draws=30)
    options.add_argument("--windows", type=int, default=3)
    options.add_argument("--batch", type=int, default=50)
    options.add_argument("--level", type=float, default=0.9)
    asked = options.parse_args()

    def measured(model: str, size: int) -> list[AccuracyRow]:
        how = {"n_windows": asked.windows, "batch_size": asked.batch, "level": asked.level, "seed": asked.seed}
        return measure_accuracy(model, size, asked.draws, **how)

    print(table(for_all(asked, measured)))  # noqa: T201


if __name__ == "__main__":
    main()
