"""Bars and tables of the section "one batch"."""

from collections.abc import Sequence

import numpy as np

from baserate_lab.bench.efficiency import one_batch
from baserate_lab.bench.efficiency.cells import ALONE, DEFAULT, LIGHT, ORACLE, Problem, Results, Section, block
from baserate_lab.bench.efficiency.one_batch import MAP, METHODS, ONE_CLASS, OneBatch
from baserate_lab.bench.tables import to_markdown
from baserate_lab.bench.trackers.bars import Bar, not_run
from baserate_lab.bench.trackers.findings import Measured, paired

ERRORS = 2.0
"""Standard errors by which the default may be worse, beyond a margin that does not matter."""

MARGIN, POINTS, SHARE = 0.05, 0.1, 0.01
"""Margins: of the squared distance, relative to that of EM; of labels, in points of a percent; of a share."""

_WORDS = (
    "The adapter is told the source mix, and then sees one batch of n rows of another mix, with `transductive=True`. "
    "Beside it: EM to convergence on that batch, where the source mix counts as one labelled sample (split among the "
    "classes). MSE is the squared distance of `prior_` after the batch to the true mix; labels are those that the step "
    "gives to the batch itself, in percent right."
)


def _problems() -> list[Problem]:
    return [problem for problem, _ in one_batch.plan()]


def bars(kept: Results) -> list[Bar]:
    """Acceptance bars of the section."""
    above = f"or above by at most {ERRORS:g} standard errors"
    mse = block(kept, [problem for problem in _problems() if problem[1] != ONE_CLASS], (DEFAULT, MAP), "mse")
    right = block(kept, _problems(), (DEFAULT, MAP), "accuracy")
    largest = block(kept, [problem for problem in _problems() if problem[1] == ONE_CLASS], (DEFAULT, MAP), "largest")
    return [
        _worst(
            "squared distance of `prior_` to the true mix minus that of EM on the batch, as a share of the latter, "
            "every cell (the worst)",
            f"<= + {MARGIN:g} of that of EM, {above}",
            mse.problems,
            [paired(row / row[:, 1].mean() @ [1.0, -1.0]) for row in mse.values],
            MARGIN,
        ),
        _worst(
            "labels of the batch: points wrong more than by EM on the batch, every cell (the worst)",
            f"<= + {POINTS:g} points, {above}",
            right.problems,
            [paired(row) for row in 100 * (right.of(MAP) - right.of(DEFAULT))],
            POINTS,
        ),
        _worst(
            "batches of one class: the share of it by EM on the batch minus that by `prior_`, every cell (the worst)",
            f"<= + {SHARE:g}, {above}",
            largest.problems,
            [paired(row) for row in largest.of(MAP) - largest.of(DEFAULT)],
            SHARE,
        ),
    ]


def _worst(text: str, limit: str, problems: Sequence[Problem], found: list[Measured], margin: float) -> Bar:
    """A bar for numbers none of which may be above a margin by more than some standard errors."""
    if not found:
        return not_run(text, limit)
    excess = np.array([each.value - margin - ERRORS * np.nan_to_num(each.error) for each in found])
    worst = int(excess.argmax())
    broken = [_named(problem) for problem, much in zip(problems, excess, strict=True) if much > 0]
    holds = None if np.isnan(found[worst].error) else not broken
    return Bar(text, limit, f"+ {found[worst].shown(3)}", holds, "; ".join(broken) or _named(problems[worst]))


def _named(problem: Problem) -> str:
    variant = f", {problem[1]}" if problem[1] == ONE_CLASS else ""
    return f"{problem[0]}{variant}, n = {problem[2]:,}"


def tables(kept: Results) -> str:
    """Text and tables of the section."""
    mses, rights, alone = [], [], []
    for problem in _problems():
        mse, right, largest = (block(kept, [problem], METHODS, of) for of in ("mse", "accuracy", "largest"))
        if not mse.problems:
            continue
        means = {method: mse.of(method).mean() for method in METHODS}
        shown = [f"{1000 * means[method]:.3f}" for method in (DEFAULT, LIGHT, MAP, ALONE)]
        difference = paired(1000 * (mse.of(DEFAULT) - mse.of(MAP))[0])
        mses.append([_named(problem), *shown, f"{means[DEFAULT] / means[MAP]:.2f}", difference.shown(3)])
        percents = [f"{100 * right.of(method).mean():.2f}" for method in (DEFAULT, LIGHT, MAP, ALONE, ORACLE)]
        rights.append([_named(problem), *percents, paired(100 * (right.of(DEFAULT) - right.of(MAP))[0]).shown(2)])
        if problem[1] == ONE_CLASS:
            shares = [f"{largest.of(method).mean():.3f}" for method in (DEFAULT, LIGHT, MAP)]
            alone.append([_named(problem), *shares])
    if not mses:
        return ""
    return "\n\n".join(
        [
            _WORDS,
            "MSE in thousandths.",
            to_markdown(["batch", DEFAULT, LIGHT, MAP, ALONE, "default / EM", "default minus EM"], mses),
            "Labels of the batch, percent right.",
            to_markdown(["batch", DEFAULT, LIGHT, MAP, ALONE, ORACLE, "default minus EM"], rights),
            "The share that `prior_` gives to the only class of a batch, after the batch.",
            to_markdown(["batch", DEFAULT, LIGHT, MAP], alone),
        ]
    )


SECTION = Section(
    title="One batch",
    result=OneBatch,
    protocol=2,
    seeds=40,
    plan=one_batch.plan,
    run=one_batch.run,
    bars=bars,
    tables=tables,
)
