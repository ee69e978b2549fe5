"""Tables of the alarms on streams that violate label shift, and the delays for the figure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from baserate_lab.bench.tables import to_markdown
from baserate_lab.bench.trust.assumption_figure import quantile

LONGEST = 1000
"""Rounds of a stream that violates label shift."""
SOON = 300
"""Rounds within which an alarm should come."""
_ENOUGH = 0.9  # of the runs
_NAMED = 6  # the most cases below that share that a table names
_LEFT_OUT = "logistic"  # left out of the figure: much like the others


class CheckedStream(NamedTuple):
    """One stream: the round of the alarm (infinite without one), and the verdict of the check."""

    since: float
    finding: str


class Case(NamedTuple):
    """One violation: kind, model, details, size, and its runs."""

    kind: str
    model: str
    details: str
    size: float
    runs: list[CheckedStream]

    def share_within(self, rounds: int) -> float:
        """The share of runs that had an alarm within this many rounds."""
        return float(np.mean([run.since <= rounds for run in self.runs]))


def true_table(found: Iterable[Case]) -> str:
    """Table of true alarms."""
    rows = []
    for case in found:
        rounds = [run.since for run in case.runs]
        ends = [f"{delay:.0f}" if np.isfinite(delay := quantile(rounds, share)) else "none" for share in (0.5, 0.9)]
        within = [_of(case, limit) for limit in (SOON, LONGEST)]
        said = next((run.finding for run in case.runs if run.finding), "")
        rows.append([case.model, case.kind, case.details, f"{case.size:g}", *within, *ends, said])
    soon, late = f"alarms within {SOON} rounds", f"within {LONGEST:,}"
    head = ["model", "violation", "case", "size", soon, late, "median round", "90 % by round", "first finding"]
    return to_markdown(head, rows, text=(0, 1, 2, 8))


def _of(case: Case, limit: int) -> str:
    return f"{sum(run.since <= limit for run in case.runs)} of {len(case.runs)}"


def summary_table(found: Sequence[Case]) -> str:
    """Table by kind and size: share of runs with an alarm, and the cases in which it is below 90 %."""
    rows = []
    for kind, size in dict.fromkeys((case.kind, case.size) for case in found):
        alike = [case for case in found if (case.kind, case.size) == (kind, size)]
        few = [case for case in alike if case.share_within(SOON) < _ENOUGH]
        named = [f"{case.model} {case.details}".strip() + f" ({_of(case, SOON)})" for case in few]
        share = np.mean([case.share_within(SOON) for case in alike])
        rows.append(
            [
                kind,
                f"{size:g}",
                str(len(alike)),
                f"{100 * share:.0f}",
                ", ".join(named) if len(few) <= _NAMED else f"{len(few)} of them",
            ]
        )
    head = ["violation", "size", "cases", f"alarms within {SOON} rounds, % of all runs", "cases below 90 %"]
    return to_markdown(head, rows, text=(0, 4))


def delays(found: Iterable[Case]) -> dict[str, dict[str, dict[float, list[float]]]]:
    """Delays for the figure: all kinds with several sizes, all models except the logistic ones."""
    by_kind: dict[str, dict[str, dict[float, list[float]]]] = {}
    for case in found:
        if not case.model.endswith(_LEFT_OUT):
            by_size = by_kind.setdefault(case.kind, {}).setdefault(case.model.split()[0], {})
            by_size.setdefault(case.size, []).extend(run.since for run in case.runs)
    return {kind: shown for kind, shown in by_kind.items() if max(map(len, shown.values())) > 1}
