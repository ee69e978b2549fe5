"""Bars and tables of the section "efficiency"."""

import itertools

import numpy as np

from baserate.protocols import FloatArray
from baserate_lab.bench.efficiency import after_change
from baserate_lab.bench.efficiency.after_change import MARKS, SIZES, VARIANTS, AfterChange
from baserate_lab.bench.efficiency.cells import (
    ALONE,
    DEFAULT,
    LIGHT,
    ML,
    ORACLE,
    Block,
    Problem,
    Results,
    Section,
    block,
    bootstrap,
)
from baserate_lab.bench.efficiency.score_models import CASES
from baserate_lab.bench.tables import to_markdown
from baserate_lab.bench.trackers.bars import Bar, at_most, not_run
from baserate_lab.bench.trackers.findings import Measured

LIMITS = {100: 1.7, 10: 1.9, 1: 1.9}
"""Largest geometric mean of MSE beside that of maximum likelihood, by rows per round."""

MEAN_LIMITS = {100: 0.35, 10: 0.45, 1: 0.45}
"""Largest geometric mean of the mean MSE beside that of the light profile."""

FAR, LATE = 5.0, 2_000
"""No more than one case may have more than so many times the MSE of maximum likelihood, from so many rows on."""

_WORDS = (
    "Outputs are exactly calibrated, and nothing but the class mix changes, once: at the start of the stream or after "
    "30 rounds of the source mix. The tracker is not told when. Maximum likelihood is: it is the most likely mix of "
    "all rows since the change. MSE is the squared distance to the true mix, summed over classes, averaged over seeds."
)


def _problems(n: int, variant: str | None = None) -> list[Problem]:
    chosen = VARIANTS if variant is None else (variant,)
    return [(case, each, n) for case, each in itertools.product(CASES, chosen)]


def beside_ml(kept: Results, problems: list[Problem], method: str, marks: tuple[int, ...] = MARKS) -> Block:
    """MSE of a method and of maximum likelihood, one problem after another for each of the marks."""
    parts = [block(kept, problems, (method, ML), f"mse_{mark}") for mark in marks]
    return Block(
        [problem for part in parts for problem in part.problems],
        (method, ML),
        np.concatenate([part.values for part in parts]),
    )


def bars(kept: Results) -> list[Bar]:
    """Acceptance bars of the section."""
    found = []
    for n in SIZES:
        text = f"MSE beside that of maximum likelihood since the change, n = {n}, geometric mean over cases and marks"
        both = beside_ml(kept, _problems(n), DEFAULT)
        if both.problems:
            found.append(at_most(text, LIMITS[n], both.geometric(DEFAULT, ML)))
        else:
            found.append(not_run(text, f"<= {LIMITS[n]:g}"))
    found.append(_far(kept))
    for n in SIZES:
        text = f"MSE averaged over the {_span(n)} after the change beside the light profile's, n = {n}, geometric mean"
        means = block(kept, _problems(n), (DEFAULT, LIGHT), "mse_mean")
        if means.problems:
            found.append(at_most(text, MEAN_LIMITS[n], means.geometric(DEFAULT, LIGHT)))
        else:
            found.append(not_run(text, f"<= {MEAN_LIMITS[n]:g}"))
    return found


def _span(n: int) -> str:
    return "100 rounds" if n == 100 else f"{after_change.ROWS:,} rows"


def _far(kept: Results) -> Bar:
    text = f"cases with an MSE of more than {FAR:g} times that of maximum likelihood at {LATE:,} rows or more"
    late = tuple(mark for mark in MARKS if mark >= LATE)
    problems = [problem for n in SIZES for problem in _problems(n)]
    both = beside_ml(kept, problems, DEFAULT, late)
    if not both.problems:
        return not_run(text, "<= 1")
    far: dict[Problem, float] = {}
    for problem, ratio in zip(both.problems, both.ratios(DEFAULT, ML), strict=True):
        if ratio > FAR:
            far[problem] = max(far.get(problem, 0.0), float(ratio))
    where = "; ".join(f"{case}, {variant}, n = {n} ({ratio:.1f})" for (case, variant, n), ratio in far.items())
    return Bar(text, "<= 1", str(len(far)), len(far) <= 1, where)


def tables(kept: Results) -> str:
    """Text and tables of the section."""
    summary, each, quality = [], [], []
    for n in SIZES:
        for variant in VARIANTS:
            problems = _problems(n, variant)
            both = {method: beside_ml(kept, problems, method) for method in (DEFAULT, LIGHT)}
            if not both[DEFAULT].problems:
                continue
            means = {name: block(kept, problems, (DEFAULT, LIGHT), name) for name in ("mse_mean", "mse_used")}
            summary.append(
                [str(n), variant, *(both[method].geometric(method, ML).shown(2) for method in both)]
                + [part.geometric(DEFAULT, LIGHT).shown() for part in means.values()]
            )
            for problem in problems:
                each.append(_ratios(kept, problem))
                quality.append(_quality(kept, problem))
    if not summary:
        return ""
    head = ["n", "change", "default / ML", "light / ML", "mean MSE: default / light", "the same, of mixes used"]
    marks = " / ".join(f"{mark:,}" for mark in MARKS)
    return "\n\n".join(
        [
            _WORDS,
            f"Geometric means over cases, and over the marks {marks} rows after the change. The mean MSE is that over "
            f"the {_span(100)} after the change (n = 100) or {_span(1)}, each round after its rows were seen; the last "
            "column is of the mixes that the predictions used, one round earlier, where the first mix after the change "
            "is the old one whatever the method.",
            to_markdown(head, summary, text=(1,)),
            f"Every case: MSE beside that of maximum likelihood, {marks} rows after the change.",
            to_markdown(
                ["case", "n", "change", "default", "light", "MSE of ML"], [row for row in each if row], text=_TEXT
            ),
            "Error in percent and log loss of the corrected predictions of all rows after the change.",
            to_markdown(
                ["case", "n", "change", *(f"{of}, {m}" for of in ("error", "log loss") for m in _QUALITY)],
                [row for row in quality if row],
                text=_TEXT,
            ),
        ]
    )


_TEXT = (0, 2)
_QUALITY = (ALONE, LIGHT, DEFAULT, ORACLE)


def _joined(numbers: FloatArray, pattern: str) -> str:
    return " / ".join(format(number, pattern) for number in numbers)


def _ratios(kept: Results, problem: Problem) -> list[str]:
    both = {method: beside_ml(kept, [problem], method) for method in (DEFAULT, LIGHT)}
    if not all(part.problems for part in both.values()):
        return []
    limit = both[DEFAULT].of(ML).mean(axis=1)
    shown = [_joined(part.ratios(method, ML), ".1f") for method, part in both.items()]
    return [problem[0], str(problem[2]), problem[1], *shown, _joined(limit, ".1g")]


def _quality(kept: Results, problem: Problem) -> list[str]:
    error, loss = (block(kept, [problem], _QUALITY, of) for of in ("error", "log_loss"))
    if not error.problems:
        return []
    shown = [f"{100 * x:.2f}" for x in error.values[0].mean(axis=0)]
    return [problem[0], str(problem[2]), problem[1], *shown, *(f"{x:.4f}" for x in loss.values[0].mean(axis=0))]


def curves(kept: Results, problem: Problem) -> dict[str, list[Measured]]:
    """MSE of each method after each of the marks of the figure."""
    found: dict[str, list[Measured]] = {}
    for method, mark in itertools.product((LIGHT, DEFAULT, ML), after_change.DRAWN_MARKS):
        part = block(kept, [problem], (method,), f"mse_{mark}")
        if part.problems:
            found.setdefault(method, []).append(bootstrap(part.values, lambda means: means[..., 0, 0]))
    return found


SECTION = Section(
    title="Efficiency after a change",
    result=AfterChange,
    protocol=2,
    seeds=40,
    plan=after_change.plan,
    run=after_change.run,
    bars=bars,
    tables=tables,
)
