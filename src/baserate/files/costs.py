"""Options of decisions on the command line: ``--costs``, a pair or a file, ``--threshold`` and ``--positive``."""

import contextlib
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from baserate.decisions import DecisionRule, decision_rule
from baserate.files.columns import Classes
from baserate.files.content import fingerprint
from baserate.files.errors import FileProblemError, listed, shortened
from baserate.files.formats import open_reader, source_named
from baserate.files.positive import positive_class
from baserate.files.source import Source
from baserate.frames import polars
from baserate.protocols import FloatArray
from baserate.validation import check_real


class DecisionOptions(NamedTuple):
    """A way to decide: by a pair of costs, by a table of them, by a threshold, or not at all.

    Parameters
    ----------
    pair : (float, float), optional
        The costs of calling a negative positive, and of missing a positive.
    table : Source, optional
        A file: a column of true classes, then a column of costs for each decision.
    threshold : float, optional
        The probability from which on the decision is the positive class.
    positive : str, optional
        The name of the positive class.
    """

    pair: tuple[float, float] | None = None
    table: Source | None = None
    threshold: float | None = None
    positive: str | None = None

    @property
    def decides(self) -> bool:
        """True if there are costs or a threshold."""
        return not (self.pair is None and self.table is None and self.threshold is None)

    def options(self) -> dict[str, Any]:
        """Those that decide, as plain data by the options' names; of a file, the fingerprint."""
        if not self.decides:
            return {}
        costs = None if self.pair is None else f"{self.pair[0]!r}:{self.pair[1]!r}"
        found = {
            "--costs": costs if self.table is None else fingerprint(self.table.path),
            "--threshold": self.threshold,
            "--positive": self.positive,
        }
        return {name: value for name, value in found.items() if value is not None}


def decisions_in_words(options: Mapping[str, Any]) -> str:
    """The options that decide, among those that `DecisionOptions.options` has made, to be typed again; or nothing.

    Examples
    --------
    >>> decisions_in_words({"--costs": "1.0:20.0", "--positive": "fraud", "--wide": True})
    '--costs 1:20 --positive fraud'
    """
    costs, threshold, positive = (options.get(name) for name in ("--costs", "--threshold", "--positive"))
    if costs is None and threshold is None:
        return ""
    if costs is None:
        words = f"--threshold {threshold}"
    elif ":" in costs:
        words = f"--costs {':'.join(cost.removesuffix('.0') for cost in costs.split(':'))}"
    else:
        words = "--costs FILE"  # of which only the content is known
    return words if positive is None else f"{words} --positive {positive}"


def parse_decisions(costs: str | None, threshold: float | None, positive: str | None) -> DecisionOptions:
    """Read the options as the command line has them; the file of costs is not opened.

    Examples
    --------
    >>> parse_decisions("1:20", None, "fraud").pair
    (1.0, 20.0)
    """
    if costs is not None and threshold is not None:
        raise ValueError("--costs and --threshold are two ways to decide; give one of them.")
    if threshold is not None:
        check_real(threshold, "--threshold", 0.0, 1.0, closed=False)
    if costs is None:
        return DecisionOptions(threshold=threshold, positive=positive)
    if costs == "-":
        raise ValueError("--costs cannot be standard input; name a file, or give FP:FN such as 1:20.")
    if ":" in costs and not Path(costs).exists():
        return DecisionOptions(pair=_pair(costs), positive=positive)
    try:
        return DecisionOptions(table=source_named(costs, option=None), positive=positive)
    except ValueError:
        _no_costs(costs)


def _pair(text: str) -> tuple[float, float]:
    try:
        false_positive, false_negative = (float(part) for part in text.split(":"))
    except ValueError:
        _no_costs(text)
    if not all(math.isfinite(cost) and cost > 0 for cost in (false_positive, false_negative)):
        raise ValueError(f"--costs {text}: both costs must be above 0, and finite; what costs nothing is no mistake.")
    return false_positive, false_negative


def _no_costs(text: str) -> NoReturn:
    raise ValueError(
        f"--costs {text}: expected FP:FN, such as --costs 1:20 (calling a negative positive costs 1, missing a "
        "positive 20), or a file with a table of costs that ends in .csv."
    ) from None


def rule_for(options: DecisionOptions, classes: Classes) -> DecisionRule:
    """The rule of the options for a model's classes; without costs and threshold, the most probable class.

    The positive class is that of the scores, where there are scores. That a file of costs can be read was checked
    before, by `check_readable`.
    """
    names = classes.names
    if options.positive is None and classes.positive is not None:
        options = options._replace(positive=names[classes.positive])
    if (options.pair or options.threshold) is not None and len(names) != 2:
        given = "a threshold" if options.pair is None else "a pair of costs"
        raise ValueError(
            f"{given} is for two classes; this model has {len(names):,}: {listed(names)}. Give a table of costs, "
            "--costs costs.csv, with a row for each true class and a column for each decision."
        )
    if options.pair is not None:
        return decision_rule(names, costs=options.pair, positive=positive_class(names, options.positive))
    if options.threshold is not None:
        place = positive_class(names, options.positive)
        return decision_rule(names, threshold=options.threshold, positive=place)
    positive = None
    with contextlib.suppress(ValueError) if options.positive is None else contextlib.nullcontext():
        positive = positive_class(names, options.positive)
    if options.table is None:
        return decision_rule(names, positive=positive)
    costs, further = _read(options.table, names)
    return decision_rule(names, costs=costs, positive=positive, decisions=further)


def _read(source: Source, names: Sequence[str]) -> tuple[FloatArray, list[str]]:
    """The costs, with a row for each class and a column for each, then for each further decision; and those' names."""
    with contextlib.closing(open_reader(source)) as reader:
        first, *decisions = reader.columns
        rows = polars().concat([chunk.frame for chunk in reader.chunks(())], how="vertical_relaxed").rows()
    place_of: dict[str, int] = {}
    for row, (name, *_) in enumerate(rows):
        true = "" if name is None else str(name).strip()
        if true not in names:
            what = f"names {shortened(true, 30)!r}, which is no class; expected a row for each of {listed(names)}"
            raise FileProblemError(source.shown, what, row=row, column=first)
        if true in place_of:
            what = f"names {true!r} again; give one row for each class"
            raise FileProblemError(source.shown, what, row=row, column=first)
        place_of[true] = row
    columns: dict[str, int] = {}
    for place, decision in enumerate(decisions, 1):
        if decision.strip() in columns:
            what = "is there twice, but for spaces; give one column for each decision"
            raise FileProblemError(source.shown, what, column=decision.strip())
        columns[decision.strip()] = place
    for what, there in (("row", place_of), ("column", columns)):
        missing = [name for name in names if name not in there]
        if missing:
            raise FileProblemError(
                source.shown,
                f"there is no {what} for {listed(missing)}; expected a first column with the true classes, and a row "
                f"and a column for each of {listed(names)}",
            )
    further = [decision for decision in columns if decision not in names]
    costs = np.array(
        [
            [
                _cost(rows[place_of[name]][columns[decision]], source, place_of[name], decision)
                for decision in (*names, *further)
            ]
            for name in names
        ]
    )
    _check_right_is_cheap(costs, names, source)
    return costs, further


def _cost(cell: Any, source: Source, row: int, decision: str) -> float:
    text = "" if cell is None else str(cell).strip()
    try:
        cost = float(text)
    except ValueError:
        what = f"holds {shortened(text, 30)!r}; expected a cost" if text else "is empty; expected a cost"
        if re.fullmatch(r"-?\d*,\d+", text):
            what += f" with a decimal point, such as {text.replace(',', '.')}"
        raise FileProblemError(source.shown, what, row=row, column=decision) from None
    if not math.isfinite(cost):
        what = f"is {text}; give a finite cost. What must never happen costs much, but not infinitely much"
        raise FileProblemError(source.shown, what, row=row, column=decision)
    if cost < 0:
        what = (
            f"is negative ({text}); expected costs of 0 and more. For gains, add the same number to all costs of a row "
            "until none is negative: decisions and differences of costs stay the same"
        )
        raise FileProblemError(source.shown, what, row=row, column=decision)
    return cost


def _check_right_is_cheap(costs: FloatArray, names: Sequence[str], source: Source) -> None:
    """Refuse gains in the place of costs: to be right would cost more than to be wrong."""
    for true, name in enumerate(names):
        cheapest = int(costs[true, : len(names)].argmin())
        if costs[true, cheapest] < costs[true, true]:
            raise FileProblemError(
                source.shown,
                f"where {name} is true, deciding {name} costs {costs[true, true]:g}, and deciding {names[cheapest]} "
                f"only {costs[true, cheapest]:g}; rows are true classes, columns are decisions, and numbers are costs, "
                "not gains",
            )
