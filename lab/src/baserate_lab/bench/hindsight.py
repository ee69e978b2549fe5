"""The class mix in hindsight beside the causal one: ``python -m baserate_lab.bench.hindsight``.

Each draw is a new holdout, on which an adapter is fitted, and a new stream for every shift of the library. The mean
squared error to the true mix of `baserate.smooth` is divided by that of the causal path, which `prior_` follows. "+-"
is the standard error, over draws, of the column before it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import baserate
from baserate.protocols import Evidence, FloatArray, IntArray, Shift
from baserate.shifts import Adversary, Bernoulli, Constant, Monotone, RandomWalk, Sinusoidal, Square
from baserate_lab.bench.tables import to_markdown
from baserate_lab.bench.trust._command import for_all, parser
from baserate_lab.bench.trust._draws import draw_holdout, draw_stream, world_of

BATCHES = (1, 10, 100)
SHIFTS = ("Constant", "Monotone", "Sinusoidal", "Bernoulli", "Square", "RandomWalk", "Adversary")


class HindsightRow(NamedTuple):
    """MSE to the true mix; the geometric mean of ratios over draws; coverage; standard errors of both; widths."""

    model: str
    shift: str
    batch: int
    causal: float
    smoothed: float
    ratio: float
    error: float
    coverage: float
    coverage_error: float
    width: float


def shifts(n_classes: int, rng: np.random.Generator) -> dict[str, Shift]:
    """Every shift of the library; the constant mix is drawn anew each time."""
    return {
        "Constant": Constant(rng.dirichlet(np.ones(n_classes))),
        "Monotone": Monotone(),
        "Sinusoidal": Sinusoidal(),
        "Bernoulli": Bernoulli(),
        "Square": Square(),
        "RandomWalk": RandomWalk(),
        "Adversary": Adversary(variation=5.0),
    }


def causal_path(adapter: baserate.RegressAndReweight, proba: FloatArray, starts: IntArray) -> FloatArray:
    """The mix that the adapter predicts each round with, gate or not."""
    adapter.reset()
    play = adapter.tracker_.play  # type: ignore[attr-defined]
    path = adapter.project(play(Evidence(adapter.calibrate(proba), adapter.source_prior_, starts=starts)))
    adapter.reset()
    return path


def measure_hindsight(
    model: str,
    size: int,
    n_draws: int,
    *,
    n_rounds: int = 1000,
    batch: int = 10,
    level: float = 0.9,
    seed: int = 0,
    only: Sequence[str] = SHIFTS,
) -> list[HindsightRow]:
    """One row per shift, for a model and a holdout size; draw i has the seed ``(seed, size, batch, i)``."""
    world = world_of(model)
    k = world.proba.shape[1]
    found: dict[str, list[tuple[float, ...]]] = {}
    for i in range(n_draws):
        rng = np.random.default_rng([seed, size, batch, i])
        adapter = draw_holdout(world, size, rng).adapter
        for name, shift in shifts(k, rng).items():
            if name not in only:
                continue
            q = shift.path(n_rounds, k, rng)
            rows = np.concatenate([rows for _, rows in draw_stream(world, q, batch, rng)])
            proba, starts = world.proba[rows], np.arange(0, n_rounds * batch + 1, batch)
            before, mix = causal_path(adapter, proba, starts), baserate.smooth(adapter, proba, starts, level=level)
            held = (mix.low <= q + 1e-9) & (q <= mix.high + 1e-9)
            squares = [float(((path - q) ** 2).sum(axis=1).mean()) for path in (before, mix.prior)]
            found.setdefault(name, []).append((*squares, float(held.mean()), float((mix.high - mix.low).mean())))
    return [_row(model, name, batch, np.array(draws).T) for name, draws in found.items()]


def _row(model: str, name: str, batch: int, draws: FloatArray) -> HindsightRow:
    causal, smoothed, held, width = draws
    logs = np.log(smoothed / causal)
    ratio = float(np.exp(logs.mean()))
    means = (float(causal.mean()), float(smoothed.mean()))
    covers = (float(held.mean()), _error(held))
    return HindsightRow(model, name, batch, *means, ratio, ratio * _error(logs), *covers, float(width.mean()))


def _error(values: FloatArray) -> float:
    """Standard error of the mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def table(rows: Sequence[HindsightRow]) -> str:
    """Rows as a Markdown table."""
    head = ["model", "shift", "rows a round", "MSE, causal", "MSE, hindsight", "ratio", "+-", "coverage %", "+-"]
    cells = [
        [
            r.model,
            r.shift,
            str(r.batch),
            *(f"{mse:.2g}" for mse in (r.causal, r.smoothed)),
            *(f"{ratio:.3f}" for ratio in (r.ratio, r.error)),
            *(f"{100 * share:.1f}" for share in (r.coverage, r.coverage_error)),
            f"{r.width:.3f}",
        ]
        for r in rows
    ]
    return to_markdown([*head, "mean width"], cells, text=(0, 1))


def summary(rows: Sequence[HindsightRow]) -> str:
    """Geometric means of the ratio, and coverage, by rows a round and over all."""
    lines = []
    for batch in (*sorted({r.batch for r in rows}), None):
        some = [r for r in rows if batch in (None, r.batch)]
        mean = np.exp(np.mean([np.log(r.ratio) for r in some]))
        low = min(some, key=lambda r: r.coverage)
        loses = [r for r in some if r.ratio > 1.0]
        lines.append(
            f"- {'All cells' if batch is None else f'{batch} rows a round'}: MSE {mean:.3f} of the causal path's "
            f"(geometric mean over {len(some)} cells, {len(loses)} of which lose), coverage "
            f"{100 * np.mean([r.coverage for r in some]):.1f} %, at least {100 * low.coverage:.1f} % ({low.model}, "
            f"{low.shift})."
        )
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    options = parser(__doc__, draws=5, holdouts=(1000,))
    options.add_argument("--rounds", type=int, default=1000)
    options.add_argument("--batches", type=int, nargs="+", default=list(BATCHES))
    options.add_argument("--level", type=float, default=0.9)
    options.add_argument("--shifts", nargs="+", default=list(SHIFTS), choices=SHIFTS)
    asked = options.parse_args()

    def measured(model: str, size: int) -> list[HindsightRow]:
        how = {"n_rounds": asked.rounds, "level": asked.level, "seed": asked.seed, "only": asked.shifts}
        return [
            row for batch in asked.batches for row in measure_hindsight(model, size, asked.draws, batch=batch, **how)
        ]

    rows = for_all(asked, measured)
    print(f"{summary(rows)}\n\n{table(rows)}")  # noqa: T201


if __name__ == "__main__":
    main()
