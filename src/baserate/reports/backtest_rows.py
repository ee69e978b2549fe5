"""The results of a backtest as tidy rows, as plain data, and in words."""

import math
from typing import Any

import numpy as np

from baserate._version import __version__
from baserate.backtesting import Backtest, Change
from baserate.backtesting.methods import CALIBRATED, DEFAULT, HINDSIGHT, NOTHING
from baserate.backtesting.replay import SMALLEST
from baserate.reports.tables import Column

IN_SHORT = (
    Column("method", "method", str),
    Column("error %", "error", lambda value: f"{100 * value:.2f}"),
    Column("change, in points", "error_change", lambda change: limits(change, 100.0, 1)),
    Column("log loss", "log_loss", lambda value: f"{value:.3f}"),
)
"""For the terminal."""
COLUMNS = (
    Column("method", "method", str),
    Column("error %", "error", lambda value: f"{100 * value:.2f}"),
    Column("change, in points", "error_change", lambda change: limits(change, 100.0, 2)),
    Column("mistakes avoided", "better", lambda value: f"{value:,}"),
    Column("new mistakes", "worse", lambda value: f"{value:,}"),
    Column("log loss", "log_loss", lambda value: f"{value:.3f}"),
    Column("change of log loss", "log_loss_change", lambda change: limits(change, 1.0, 3)),
)


def limits(change: Change, times: float, digits: int) -> str:
    """A change and its limits."""
    value, low, high = (f"{times * part:+.{digits}f}" for part in change)
    return f"{value} ({low} to {high})"


def rows(found: Backtest, log: str) -> list[dict[str, Any]]:
    """A row for each method; of doing nothing, changes are None."""
    return [
        score._asdict()
        | {"log": log, "default": score.method == DEFAULT}
        | (
            {"error_change": None, "log_loss_change": None, "better": None, "worse": None}
            if score.method == NOTHING
            else {}
        )
        for score in found.scores
    ]


def facts(found: Backtest) -> list[str]:
    """Further facts about a backtest, in sentences."""
    nothing = found.played[NOTHING]
    n, labelled, rounds = len(found.log.y), int(nothing.n.sum()), found.log.n_rounds
    sizes = np.diff(found.log.starts)
    size = f"{int(np.median(sizes)):,} rows" if np.ptp(sizes[:-1]) == 0 else f"{sizes.min():,} to {sizes.max():,} rows"
    others = len(found.scores) - 3  # without doing nothing, the default and hindsight
    said = [
        f"{found.n_holdout:,} rows are the holdout, and {n:,} were replayed in {rounds:,} rounds of {size}, without "
        "labels."
    ]
    if labelled < n:
        said.append(
            f"Only the {labelled:,} rows that have a label are scored; if they are no random part of the log, neither "
            "is this result."
        )
    said.append(
        f"Changes are to doing nothing, with {100 * found.level:g} % intervals from {found.resamples:,} resamples of "
        f"blocks of {found.block} rounds."
    )
    if others > 1:
        said.append(
            f"The sentence is about the default alone. The other {others} methods are context: the best of so many may "
            "look good by chance, so choose one of them only if it wins on another log, too."
        )
    said.append(
        f"'{HINDSIGHT}' is told the labels of the {found.neighbours:,} rounds before and after each, which nobody has "
        "in time; all others see no label after the holdout."
    )
    calibrated, default = found.score(CALIBRATED), found.score(DEFAULT)
    if calibrated.error_change.clear and default.error_change.clear:
        beyond = found.beyond_calibration
        said.append(
            f"Calibrating the model on the holdout, without following the class mix, gives "
            f"{100 * calibrated.error:.1f} %; the default's difference to that is {limits(beyond, 100.0, 1)} points"
            + ("." if beyond.clear else ", which could be chance.")
        )
    held = float(found.trust.held_back.mean())
    if held > 0:
        said.append(f"The default reduced its correction in {100 * held:.0f} % of the rounds.")
    said += [f"Left out: {name}, because {why}; ask for it with --methods." for name, why in found.left_out.items()]
    return said


def plain(found: Backtest) -> dict[str, Any]:
    """Everything that programs may want to know, as plain data."""
    trust = found.trust
    return {
        "baserate": __version__,
        "verdict": found.verdict,
        "sentence": found.sentence,
        "classes": list(found.names),
        "holdout_rows": found.n_holdout,
        "rows": len(found.log.y),
        "labelled_rows": int(found.played[NOTHING].n.sum()),
        "rounds": found.log.n_rounds,
        "level": found.level,
        "resamples": found.resamples,
        "block_rounds": found.block,
        "seed": found.seed,
        "smallest_probability": SMALLEST,
        "hindsight_neighbours": found.neighbours,
        "alarm_since_round": None if trust.since is None else trust.since + 1,
        "alarm_why": trust.why,
        "evidence": _finite(float(trust.evidence[-1])),
        "held_back_share": float(trust.held_back.mean()),
        "methods": [
            score._asdict()
            | {"error_change": score.error_change._asdict(), "log_loss_change": score.log_loss_change._asdict()}
            for score in found.scores
        ],
        "beyond_calibration": found.beyond_calibration._asdict(),
        "left_out": found.left_out,
        "notes": list(found.notes),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
