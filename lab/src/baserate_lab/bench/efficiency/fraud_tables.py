"""Bars and tables of the section "fraud"."""

import numpy as np

from baserate.protocols import FloatArray
from baserate_lab.bench.efficiency import fraud
from baserate_lab.bench.efficiency.cells import DEFAULT, ORACLE, Problem, Results, Section, block, bootstrap
from baserate_lab.bench.efficiency.fraud import COSTS, DISTORTED, EXACT, METHODS, OURS, QUAPY, FraudResult
from baserate_lab.bench.efficiency.windows import EVERY
from baserate_lab.bench.tables import to_markdown
from baserate_lab.bench.trackers.bars import Bar, at_most, not_run
from baserate_lab.bench.trackers.findings import Measured, paired

WINDOWED = (*OURS.values(), *QUAPY.values())
ERRORS = 2.0
"""Standard errors by which the default may be dearer than the best window."""

_WORDS = (
    f"A score model of a given AUC; its outputs are exactly calibrated for a fraud share of 1 %. The share is 1 %, 8 % "
    f"and 2 % in a third each of {fraud.ROWS:,} rows, in rounds of {fraud.N}. The holdout has 1 %, and decides the "
    "source mix and the calibration; a holdout has two frauds at least. A missed fraud costs "
    f"{COSTS[1, 0]:g}, a false alarm {COSTS[0, 1]:g}; `decide` takes the cheaper decision. EM on a window uses the "
    "model's outputs as they are, and the class mix of the holdout. QuaPy's EMQ does the same with its own defaults, "
    f"every {EVERY} rounds (to save time). The oracle is told the share and the model's exact posterior."
)


def _problems(variant: str) -> list[Problem]:
    return [problem for problem, _ in fraud.plan() if problem[1] == variant]


def _present(kept: Results, problem: Problem) -> tuple[str, ...]:
    """Methods that have results: QuaPy may not be installed."""
    there = {cell.method for cell in kept if cell[:3] == problem}
    return tuple(method for method in METHODS if method in there)


def best_window(kept: Results, problem: Problem) -> str | None:
    """The window with the lowest mean cost."""
    windows = [method for method in _present(kept, problem) if method in WINDOWED]
    if not windows:
        return None
    costs = block(kept, [problem], windows, "cost")
    return windows[int(costs.values[0].mean(axis=0).argmin())]


def beside_best(kept: Results, problems: list[Problem]) -> tuple[list[Problem], FloatArray]:
    """Costs of the default, the best window and the oracle, (problems, seeds, 3), where there are all."""
    found: list[Problem] = []
    rows = []
    for problem in problems:
        best = best_window(kept, problem)
        if best is not None:
            part = block(kept, [problem], (DEFAULT, best, ORACLE), "cost")
            if part.problems:
                found.append(problem)
                rows.append(part.values[0])
    least = min((len(row) for row in rows), default=0)
    return found, np.array([row[:least] for row in rows]).reshape(len(rows), least, 3)


def left(means: FloatArray) -> FloatArray:
    """Share of the way from the best window to the oracle that is left; costs are added up over problems."""
    ours, best, told = (means[..., i].sum(axis=-1) for i in range(3))
    return np.asarray((ours - told) / (best - told))


def bars(kept: Results) -> list[Bar]:
    """Acceptance bars of the section."""
    text = "cost per 1,000 rows minus that of the best window, every cell (the worst)"
    limit = f"<= 0, or above by at most {ERRORS:g} standard errors"
    way = "share of the way from the best window to the oracle that is left, costs added up over cells"
    problems, costs = beside_best(kept, _problems(EXACT))
    if not problems:
        return [not_run(text, limit), not_run(way, "<= 0.5")]
    differences = [paired(row[:, 0] - row[:, 1]) for row in costs]
    excess = [_excess(difference) for difference in differences]
    worst = int(np.argmax(excess))
    dearer = [_named(problem) for problem, much in zip(problems, excess, strict=True) if much > 0]
    where = "; ".join(dearer) or _named(problems[worst])
    holds = None if np.isnan(differences[worst].error) else not dearer
    return [Bar(text, limit, differences[worst].shown(1), holds, where), at_most(way, 0.5, bootstrap(costs, left))]


def _excess(difference: Measured) -> float:
    return difference.value - ERRORS * float(np.nan_to_num(difference.error))


def _named(problem: Problem) -> str:
    return f"{problem[0]}, holdout {problem[2]:,}"


def tables(kept: Results) -> str:
    """Text and tables of the section."""
    parts = [_table(kept, _problems(variant)) for variant in (EXACT, DISTORTED)]
    if not parts[0]:
        return ""
    between = (
        f"The same with outputs that are less sure than they should be: logits divided by {fraud.TEMPERATURE:g}. The "
        "oracle keeps the exact posterior."
    )
    shares = (
        "Mean share of fraud that is tracked, in percent, in the later half of each third; the true shares are 1, 8 "
        "and 2. The last column is the mean squared distance of the mix, in thousandths."
    )
    tail = [between, parts[1]] if parts[1] else []
    return "\n\n".join([_WORDS, "Mean cost per 1,000 rows.", parts[0], *tail, shares, _shares(kept)])


def _table(kept: Results, problems: list[Problem]) -> str:
    rows = []
    asked = [method for method in METHODS if any(method in _present(kept, problem) for problem in problems)]
    for problem in problems:
        best = best_window(kept, problem)
        found, costs = beside_best(kept, [problem])
        if not found:
            continue
        means = {method: block(kept, [problem], (method,), "cost").values.mean() for method in asked}
        shown = [f"**{mean:.1f}**" if method == best else f"{mean:.1f}" for method, mean in means.items()]
        difference = paired(costs[0][:, 0] - costs[0][:, 1])
        rows.append([_named(problem), *shown, difference.shown(1), bootstrap(costs, left).shown(2)])
    if not rows:
        return ""
    head = ["model", *asked, "default minus best window", "way left"]
    return to_markdown(head, rows)


def _shares(kept: Results) -> str:
    rows = []
    for problem in _problems(EXACT):
        for method in _present(kept, problem):
            names = ("share_1", "share_2", "share_3", "mse")
            found = [block(kept, [problem], (method,), name).values.mean() for name in names]
            if not np.isnan(found).any() and method != ORACLE:
                shown = [f"{100 * share:.2f}" for share in found[:3]]
                rows.append([_named(problem), method, *shown, f"{1000 * found[3]:.2f}"])
    return to_markdown(["model", "method", "first third", "second", "last", "MSE / 0.001"], rows, text=(0, 1))


SECTION = Section(
    title="Fraud",
    result=FraudResult,
    protocol=1,
    seeds=12,
    plan=fraud.plan,
    run=fraud.run,
    bars=bars,
    tables=tables,
)
