"""Claims of the paper about its numbers, checked on ours."""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from baserate.protocols import FloatArray
from baserate_lab.paper import printed
from baserate_lab.paper.findings import Findings, paired
from baserate_lab.paper.pages.records import Claim
from baserate_lab.paper.printed import Printed
from baserate_lab.paper.runs.methods import PAPER
from baserate_lab.paper.runs.problems import TABLE, PaperProblem

ALTERNATIVES = ("FTH", "FTFWH", "ROGD", "UOGD", "ATLAS")
"""Methods that FLH-FTL is compared with; the others are told what nobody knows, or do not adapt."""


def standard_error(values: FloatArray) -> float:
    """Standard error of a mean over seeds; infinite for a single seed."""
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.inf


def spread(cell: Printed) -> float:
    """Printed standard deviation; if printed as 0, half of the last digit."""
    digits = len(cell.std_text.partition(".")[2])
    return max(cell.std or 0.0, 0.5 * 10.0**-digits)


def on_every_set(findings: Findings, shifts: Sequence[str]) -> list[Claim]:
    """Claims on order and gap for each data set of a table; of stand-ins only the order is asked."""
    found = []
    for problem in TABLE:
        found.append(same_order(findings, problem, shifts, PAPER))
        if problem.stand_in is None:
            found.append(same_gap(findings, problem, shifts))
    return found


def of_the_abstract(findings: Findings, shifts: Sequence[str]) -> list[Claim]:
    """Claims of the abstract and of the caption of Table 1: by how much, and how often, FLH-FTL is ahead.

    "Often" is read as at least half of the columns, a column being a data set and a shift.
    """
    columns = [(problem, shift) for problem in TABLE for shift in shifts]
    return [
        _often(
            findings,
            columns,
            "FLH-FTL often improves over the best alternative: a lower mean error in at least half of the columns.",
            lambda gain: gain > 0,
        ),
        _often(
            findings,
            columns,
            "It often improves accuracy by 1-3 %, read as over the best alternative: by 1 point or more in at least "
            "half of the columns.",
            lambda gain: gain >= 1,
        ),
        _often(
            findings,
            columns,
            "It often improves accuracy by 1-3 %, read as over the base model: by 1 point or more in at least half of "
            "the columns.",
            lambda gain: gain >= 1,
            rivals=("Base",),
        ),
    ]


def _often(
    findings: Findings,
    columns: Sequence[tuple[PaperProblem, str]],
    text: str,
    counts: Callable[[float], bool],
    rivals: Sequence[str] = ALTERNATIVES,
) -> Claim:
    name = findings.artefact.name
    ours, theirs = [], []
    for problem, shift in columns:
        where = {"dataset": problem.dataset, "model": problem.model, "shift": shift}
        errors = {m: findings.values("error", method=m, **where) for m in ("FLH-FTL", *rivals)}
        if not all(errors.values()):
            return Claim(name, text, None, f"{problem.title} under {shift} was not run")
        means = {m: sum(values.values()) / len(values) for m, values in errors.items()}
        ours.append(min(means[m] for m in rivals) - means["FLH-FTL"])
        cells = {
            m: printed.find(name, dataset=problem.printed, shift=shift, variant="", method=m, metric="error")
            for m in ("FLH-FTL", *rivals)
        }
        said = {m: cell.mean for m, cell in cells.items() if cell is not None and cell.mean is not None}
        if "FLH-FTL" in said and len(said) > 1:
            theirs.append(min(mean for m, mean in said.items() if m != "FLH-FTL") - said["FLH-FTL"])
    right = sum(map(counts, ours))
    evidence = (
        f"{right} of {len(ours)} columns, median gain {_median(ours):+.2f} points, {min(ours):+.2f} to "
        f"{max(ours):+.2f}; by the printed numbers {sum(map(counts, theirs))} of {len(theirs)}"
    )
    return Claim(name, text, 2 * right >= len(ours), evidence)


def _median(values: Sequence[float]) -> float:
    return float(np.median(values))


def same_order(findings: Findings, problem: PaperProblem, shifts: Iterable[str], methods: Iterable[str]) -> Claim:
    """Claim that every pair of methods that the paper separates has the same order here.

    A pair is separated if its printed means differ by more than two standard deviations of their difference.
    """
    name = findings.artefact.name
    right, wrong, missing = 0, [], 0
    for shift, (a, b) in itertools.product(shifts, itertools.combinations(methods, 2)):
        where = {"dataset": problem.printed, "shift": shift, "variant": "", "metric": "error"}
        one, other = printed.find(name, method=a, **where), printed.find(name, method=b, **where)
        if one is None or other is None or one.mean is None or other.mean is None:
            continue
        if abs(one.mean - other.mean) <= 2 * math.hypot(spread(one), spread(other)):
            continue
        ours = _gaps(findings, problem, shift, a, b)
        if len(ours) == 0:
            missing += 1
        elif ours.mean() * (one.mean - other.mean) > 0:
            right += 1
        else:
            wrong.append(f"{shift}: {a} and {b}")
    of = problem.title if problem.stand_in is None else f"{problem.title} (stand-in for {problem.stand_in})"
    text = f"{of}: every pair of methods that the paper separates by two stds comes in the same order."
    evidence = f"{right} of {right + len(wrong)} pairs" + (f"; not {', '.join(wrong)}" if wrong else "")
    if missing or not right + len(wrong):
        return Claim(name, text, None, f"{missing} pairs were not run" if missing else "not run")
    return Claim(name, text, not wrong, evidence)


def same_gap(findings: Findings, problem: PaperProblem, shifts: Iterable[str]) -> Claim:
    """Claim that the gain of FLH-FTL over the base model agrees with the paper within two pooled stds."""
    name = findings.artefact.name
    text = f"{problem.title}: the gap Base - FLH-FTL agrees with the paper's within two pooled stds."
    parts, holds = [], True
    for shift in shifts:
        where = {"dataset": problem.printed, "shift": shift, "variant": "", "metric": "error"}
        base, best = printed.find(name, method="Base", **where), printed.find(name, method="FLH-FTL", **where)
        gaps = _gaps(findings, problem, shift, "Base", "FLH-FTL")
        if base is None or best is None or base.mean is None or best.mean is None:
            continue
        if len(gaps) < 2:
            return Claim(name, text, None, f"{shift} was not run, or with one seed only")
        theirs, their_std = base.mean - best.mean, math.hypot(spread(base), spread(best))
        pooled = math.hypot(float(gaps.std()), their_std) / math.sqrt(2)
        agrees = bool(abs(gaps.mean() - theirs) <= 2 * pooled)
        holds = holds and agrees
        parts.append(
            f"{shift} {gaps.mean():.2f} ± {gaps.std():.2f} (paper {theirs:.1f} ± {their_std:.1f})"
            + ("" if agrees else " differs")
        )
    return Claim(name, text, holds if parts else None, ", ".join(parts) or "not run")


def _gaps(findings: Findings, problem: PaperProblem, shift: str, a: str, b: str) -> FloatArray:
    where = {"dataset": problem.dataset, "model": problem.model, "shift": shift}
    return paired(*(findings.values("error", method=method, **where) for method in (a, b)))
