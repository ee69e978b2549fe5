"""Records as tables: one row per method, one column per setting, and one table per data set if it gets too wide."""

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.pages import names
from baserate_lab.paper.pages.records import Record
from baserate_lab.paper.pages.run import fields_of, key_of

WIDEST = 4
"""Columns that fit into a terminal of 80 characters."""
NOT_RUN = "not run"


class Entry(NamedTuple):
    """Content of a table cell.

    Attributes
    ----------
    ours : str
        Our number, or "not run".
    paper : str
        The paper's number in brackets; empty if it prints none.
    mark : str
        ``*`` or ``**``, as `Record.mark` says.
    best : bool
        True if it is the lowest of its column among the methods that adapt.
    """

    ours: str
    paper: str = ""
    mark: str = ""
    best: bool = False


class TableBlock(NamedTuple):
    """One table.

    Attributes
    ----------
    title : str
        The setting that all columns share.
    metric : str
        The metric.
    heads : list of str
        Headings of the columns.
    rows : list of (str, list of Entry or None)
        A method and its cells; None where there is no number at all.
    """

    title: str
    metric: str
    heads: list[str]
    rows: list[tuple[str, list[Entry | None]]]

    @property
    def caption(self) -> str:
        """Title and metric."""
        return ": ".join(part for part in (self.title, names.metric(self.metric)) if part)


def blocks(artefact: Artefact, records: Sequence[Record]) -> list[TableBlock]:
    """Tables of an artefact, metric by metric; for a figure, the last field is its axis."""
    mine = [r for r in records if r.metric in artefact.metrics and (r.ours_mean, r.paper_mean) != (None, None)]
    fields = fields_of(artefact, mine)
    found = []
    for metric in artefact.metrics:
        of_metric = [record for record in mine if record.metric == metric]
        columns = _columns(of_metric, fields)
        found += [_block(of_metric, metric, fields, group) for group in _groups(columns)]
    return found


def settings(records: Sequence[Record], fields: Sequence[str]) -> list[tuple[str, list[Record]]]:
    """Every combination of some fields in words, with its records, in the order of a table's columns."""
    stand_ins = _stand_ins(records)
    return [
        (
            ", ".join(_said(field, value, stand_ins) for field, value in zip(fields, key, strict=True)),
            [record for record in records if key_of(record, fields) == key],
        )
        for key in _columns(records, fields)
    ]


def _columns(records: Sequence[Record], fields: Sequence[str]) -> list[tuple[Any, ...]]:
    """Every combination that occurs: shifts in the paper's order, numbers ascending, the rest as they appear."""
    orders = [list(dict.fromkeys(getattr(record, field) for record in records)) for field in fields]

    def rank(key: tuple[Any, ...]) -> list[float]:
        return [_rank(field, value, order) for field, value, order in zip(fields, key, orders, strict=True)]

    return sorted({key_of(record, fields) for record in records}, key=rank)


def _rank(field: str, value: Any, order: list[Any]) -> float:
    if field == "shift" and value in names.SHIFTS:
        return names.SHIFTS.index(value)
    if field == "holdout" and value is None:
        return -1.0
    number = value if field == "holdout" else names.number_of(value) if field == "variant" else None
    return order.index(value) if number is None else float(number)


def _groups(columns: list[tuple[Any, ...]], n_shared: int = 0) -> list[list[tuple[Any, ...]]]:
    """Groups of columns, one per table: all columns, or those that share their first field, or their first two, ..."""
    if len(columns) <= WIDEST:
        return [columns] if columns else []
    parts = [list(group) for _, group in itertools.groupby(columns, key=lambda key: key[: n_shared + 1])]
    if len(parts) == len(columns):  # one table per column would be useless
        size = -(-len(columns) // -(-len(columns) // WIDEST))
        return [columns[i : i + size] for i in range(0, len(columns), size)]
    return [found for part in parts for found in _groups(part, n_shared + 1)]


def _block(records: Sequence[Record], metric: str, fields: Sequence[str], columns: list[tuple[Any, ...]]) -> TableBlock:
    # Values shared by all columns go into the title, unless no field would be left.
    shared = [i for i in range(len(fields)) if len({key[i] for key in columns}) == 1]
    if len(shared) == len(fields):
        shared = shared[:-1] if len(fields) > 1 else []
    by_place = {(record.method, key_of(record, fields)): record for record in records}
    placed = [record for (_, key), record in by_place.items() if key in columns]
    methods = names.in_order(record.method for record in placed)
    stand_ins = _stand_ins(placed)
    best = {key: _lowest([by_place[m, key] for m in methods if (m, key) in by_place]) for key in columns}
    rows = [(m, [_entry(by_place.get((m, key)), best[key]) for key in columns]) for m in methods]
    heads = [
        ", ".join(_said(f, v, stand_ins) for i, (f, v) in enumerate(zip(fields, key, strict=True)) if i not in shared)
        for key in columns
    ]
    title = ", ".join(_said(fields[i], columns[0][i], stand_ins) for i in shared)
    models = list(dict.fromkeys(record.model for record in placed))
    if len(models) == 1 and "model" not in fields and title:
        title += f" ({models[0]})"
    return TableBlock(title, metric, heads, rows)


def _stand_ins(records: Sequence[Record]) -> dict[str, str]:
    return {record.dataset: record.stand_in for record in records if record.stand_in}


def _said(field: str, value: Any, stand_ins: dict[str, str]) -> str:
    if field == "dataset":
        return names.dataset(value) + (
            f", stand-in for {names.dataset(stand_ins[value])}" if value in stand_ins else ""
        )
    if field == "shift":
        return value if value == "real" else str(value).capitalize()
    if field == "holdout":
        return "no holdout" if value is None else f"holdout {value:,}"
    return str(value)


def _lowest(records: Sequence[Record]) -> str | None:
    """The lowest number of a column as shown, so that ties are all bold; None if there is nothing to compare."""
    rivals = [r for r in records if r.ours_mean is not None and not names.is_reference(r.method)]
    means = [r.ours_mean for r in rivals if r.ours_mean is not None and math.isfinite(r.ours_mean)]
    return names.ours(min(means), rivals[0].metric) if len(means) > 1 else None


def _entry(record: Record | None, best: str | None) -> Entry | None:
    if record is None:
        return None
    paper = ""
    if record.paper_mean is not None:
        spread = "" if record.paper_std is None else f" ± {names.printed(record.paper_std, record.digits)}"
        paper = f"({names.printed(record.paper_mean, record.digits)}{spread})"
    if record.ours_mean is None:
        return Entry(NOT_RUN, paper)
    mean = names.ours(record.ours_mean, record.metric)
    # One seed has no spread; "± 0" would look exact.
    spread = "" if record.ours_std is None or record.seeds < 2 else f" ± {names.ours(record.ours_std, record.metric)}"
    is_best = mean == best and not names.is_reference(record.method)
    return Entry(mean + spread, paper, record.mark, is_best)
