"""Claims of the paper about its numbers, checked on ours."""

import itertools
import math
from collections.abc import Iterable, Sequence

from baserate.protocols import FloatArray
from baserate_lab.paper import printed
from baserate_lab.paper.findings import Findings, paired
from baserate_lab.paper.pages.records import Claim
from baserate_lab.paper.printed import Printed
from baserate_lab.paper.runs.methods import PAPER
from baserate_lab.paper.runs.problems import FASHION, MNIST, PaperProblem


def standard_error(values: FloatArray) -> float:
    """Standard error of a mean over seeds; infinite for a single seed."""
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.inf


def spread(cell: Printed) -> float:
    """Printed standard deviation; if printed as 0, half of the last digit."""
    digits = len(cell.std_text.partition(".")[2])
    return max(cell.std or 0.0, 0.5 * 10.0**-digits)


def on_images(findings: Findings, shifts: Sequence[str]) -> list[Claim]:
    """Claims on order and gap for the two image sets whose networks are trained as in the paper."""
    found = []
    for problem in (MNIST, FASHION):
        found += [same_order(findings, problem, shifts, PAPER), same_gap(findings, problem, shifts)]
    return found


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
    text = f"{problem.title}: every pair of methods that the paper separates by two stds comes in the same order."
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
