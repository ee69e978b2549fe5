"""Acceptance bars of the main table: the limit, the measured value, and whether the bar is met."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from baserate.protocols import FloatArray
from baserate_lab.bench.trackers import cells
from baserate_lab.bench.trackers.cells import (
    CAUSAL,
    ORACLE,
    SIZES,
    START,
    TRANSDUCTIVE,
    WINDOW,
    TablePlan,
    TrackingProblem,
)
from baserate_lab.bench.trackers.findings import Measured, ResultBlock, TrackingResults, block, paired
from baserate_lab.bench.trackers.streams import EVEN

VARIANTS = (START, WINDOW)
LARGE = tuple(n for n in SIZES if n >= 10)


class Bar(NamedTuple):
    """One acceptance bar: a limit that a measured value must meet.

    Attributes
    ----------
    text : str
        The quantity.
    limit, measured : str
        The limit and the measured value.
    holds : bool or None
        None if there are no results, or only one seed where two are needed.
    where : str
        The cells that decide, or that miss the bar.
    """

    text: str
    limit: str
    measured: str
    holds: bool | None
    where: str = ""

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return "not run" if self.holds is None else "holds" if self.holds else "does not hold"


def named(problem: TrackingProblem) -> str:
    """A cell described in words."""
    parts = [problem.data, problem.shift, f"n = {problem.n}"]
    parts += [f"holdout {problem.holdout:,}"] if problem.holdout else []
    parts += [problem.distortion] if problem.distortion else []
    return ", ".join(parts)


def not_run(text: str, limit: str) -> Bar:
    """A bar for which there are no results."""
    return Bar(text, limit, "-", None)


def at_most(text: str, limit: float, measured: Measured, unit: str = "", digits: int = 3) -> Bar:
    """A bar for a number that must not exceed a limit."""
    return Bar(text, f"<= {limit:g}{unit}", measured.shown(digits) + unit, bool(measured.value <= limit))


def geometric_bar(text: str, limit: float, mses: ResultBlock, method: str, others: Sequence[str]) -> Bar:
    """A bar for a geometric mean of ratios, which must not exceed a limit."""
    if not mses.problems:
        return not_run(text, f"<= {limit:g}")
    return at_most(text, limit, mses.geometric(method, others))


def worst_ratio_bar(text: str, limit: float, mses: ResultBlock, method: str, others: Sequence[str]) -> Bar:
    """A bar for ratios, none of which may exceed a limit."""
    if not mses.problems:
        return not_run(text, f"<= {limit:g}")
    ratios = mses.ratios(method, others)
    worst = int(ratios.argmax())
    alone = mses.where(lambda problem: problem == mses.problems[worst])
    bar = at_most(text, limit, alone.geometric(method, others))
    above = [named(problem) for problem, ratio in zip(mses.problems, ratios, strict=True) if ratio > limit]
    return bar._replace(where="; ".join(above) or named(mses.problems[worst]))


def not_above_bar(
    text: str, limit: float, errors: float, problems: Sequence[TrackingProblem], found: list[Measured]
) -> Bar:
    """A bar for differences, none of which may exceed a limit by more than `errors` standard errors.

    The bar shows the difference that exceeds the limit by the most standard errors, or is closest below it.
    """
    says = f"<= {limit:g} points, or above by at most {errors:g} standard errors"
    if not found:
        return not_run(text, says)
    if any(np.isnan(difference.error) for difference in found):
        return Bar(text, says, "needs a second seed", None)
    excess = [difference.value - limit - errors * difference.error for difference in found]
    worst = int(np.argmax(excess))
    broken = [named(problem) for problem, much in zip(problems, excess, strict=True) if much > 0]
    shown = f"{found[worst].shown()} points"
    if broken:
        shown += f"; {len(broken)} of {len(found)} cells are"
    return Bar(text, says, shown, not broken, "; ".join(broken) or named(problems[worst]))


def closed(errors: ResultBlock) -> Measured:
    """The share of the gap in error between literal FLH-FTL and the oracle that is closed; gaps are summed over cells.

    NaN if there is no gap.
    """

    def share(means: FloatArray) -> FloatArray:
        start, ours, told = (
            means[..., errors.methods.index(method)].sum(axis=-1) for method in (START, CAUSAL, ORACLE)
        )
        gap = start - told
        return np.asarray((start - ours) / np.where(gap > 0, gap, np.nan))

    return errors.measured(share)


def _gap_bars(errors: ResultBlock) -> list[Bar]:
    """Bars that at least half of the gap is closed, read in three ways."""
    text = "share of the gap in error between literal FLH-FTL and the oracle that is closed, n >= 10"
    switching = errors.where(lambda p: p.n in LARGE and p.shift.split()[0] in ("Bernoulli", "Square"))
    even = switching.where(lambda p: p.shift in EVEN)
    bars = []
    for says, chosen in (("Bernoulli and Square", even), ("the same and with drawn ends", switching)):
        line = f"{text}: {says}, gaps added up over all cells"
        if not chosen.problems:
            bars.append(not_run(line, ">= 0.5"))
            continue
        found = closed(chosen)
        bars.append(Bar(line, ">= 0.5", found.shown(), bool(found.value >= 0.5)))
    line = f"{text}: Bernoulli and Square, each cell alone (the least)"
    if not even.problems:
        return [*bars, not_run(line, ">= 0.5")]
    each = [closed(even.where(lambda p, at=at: p == at)) for at in even.problems]  # type: ignore[misc]
    least = int(np.argmin([np.inf if np.isnan(share.value) else share.value for share in each]))
    found_at = list(zip(even.problems, each, strict=True))
    below = [f"{named(at)} ({share.shown(2)})" for at, share in found_at if share.value < 0.5]
    none = [f"no gap: {named(at)}" for at, share in found_at if np.isnan(share.value)]
    where = "; ".join(below + none) or named(even.problems[least])
    return [*bars, Bar(line, ">= 0.5", each[least].shown(), not below, where)]


def _transductive_bars(errors: ResultBlock) -> list[Bar]:
    """Bars that the transductive mode helps, for every batch size."""
    bars = []
    for n in SIZES:
        text = f"mean error of the transductive mixture minus that of the causal one, n = {n}"
        limit = "< 0" if n > 1 else "0, within 2 standard errors"
        some = errors.where(lambda p, n=n: p.n == n)  # type: ignore[misc]
        if not some.problems:
            bars.append(not_run(text, limit))
            continue
        found = paired((some.of(TRANSDUCTIVE) - some.of(CAUSAL)).mean(axis=0))
        equal = found.value == 0 or bool(abs(found.value) <= 2 * found.error)
        bars.append(Bar(text, limit, f"{found.shown(4)} points", found.value < 0 if n > 1 else equal))
    return bars


def main_bars(kept: TrackingResults) -> list[Bar]:
    """Bars of the main table: methods fitted on the whole holdout."""
    mses, errors = (block(kept, cells.main(), quantity) for quantity in ("mse", "error"))
    large, single = mses.where(lambda p: p.n in LARGE), mses.where(lambda p: p.n == 1)
    beside = "MSE beside that of the better FLH-FTL"
    return [
        geometric_bar(f"causal: {beside}, n >= 10, geometric mean", 0.38, large, CAUSAL, VARIANTS),
        geometric_bar(
            "causal: MSE beside that of literal FLH-FTL, n >= 10, geometric mean", 0.27, large, CAUSAL, [START]
        ),
        geometric_bar(f"causal: {beside}, n = 1, geometric mean", 0.82, single, CAUSAL, VARIANTS),
        worst_ratio_bar(f"causal: {beside}, every cell (the worst)", 1.1, mses, CAUSAL, VARIANTS),
        *_gap_bars(errors),
        _error_bar("causal: error minus that of the better FLH-FTL, every cell", errors),
        geometric_bar(f"transductive: {beside}, n >= 10, geometric mean", 0.22, large, TRANSDUCTIVE, VARIANTS),
        *_transductive_bars(errors),
    ]


def _error_bar(text: str, errors: ResultBlock) -> Bar:
    return not_above_bar(text, 0.15, 3.0, errors.problems, errors.difference_to_better(CAUSAL, VARIANTS))


def small_holdout_bars(kept: TrackingResults) -> list[Bar]:
    """Bars for every cell with a small holdout; bars on geometric means would need all batch sizes."""
    plan: TablePlan = cells.small()
    mses, errors = (block(kept, plan, quantity) for quantity in ("mse", "error"))
    on = f"on a holdout of {cells.SMALL:,}"
    text = f"causal, {on}: MSE beside that of the better FLH-FTL, every cell (the worst)"
    return [
        worst_ratio_bar(text, 1.1, mses, CAUSAL, VARIANTS),
        _error_bar(f"causal, {on}: error minus that of the better FLH-FTL, every cell", errors),
    ]
