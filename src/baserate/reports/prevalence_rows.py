"""The table and the headline of ``baserate prevalence``."""

import numpy as np

from baserate.files.prevalence import PrevalenceResult, tidy_rows
from baserate.files.shares import percent, percent_range
from baserate.reports.prevalence_doubts import named_period
from baserate.reports.tables import Column, Row

COUNTED, CAUSAL, HINDSIGHT = "counted", "tracked as of then", "in hindsight"
AUDITED, ALONE = "by audits and model", "audits of the period alone"
_MOST_CLASSES = 6


def columns(audited: bool, *, short: bool = False, one_class: bool = False) -> list[Column]:
    """The columns of the table; `short` for the terminal, without the audits alone, and where there are some, rows.

    With `one_class`, it need not be named in every row.
    """
    return [
        Column("period", "period", str),
        *([] if one_class else [Column("class", "class", str)]),
        *([] if short and audited else [Column("rows", "rows", lambda n: f"{n:,}")]),
        *([Column("audits", "labels", lambda n: f"{n:,}")] if audited else []),
        Column("share", "share", percent),
        Column("limits", "limits", str),
        Column(COUNTED, "counted", percent),
        Column("tracked" if short else CAUSAL, "causal", percent),
        Column("hindsight" if short else HINDSIGHT, "hindsight", percent),
        *([Column(ALONE, "labels_alone", percent)] if audited and not short else []),
    ]


def table_rows(result: PrevalenceResult, *, rarer_alone: bool = True) -> list[Row]:
    """The rows of the table; of two classes, those of the rarer one."""
    names = result.log.classes.names
    shown = {names[shown_classes(result)[0]]} if len(names) == 2 and rarer_alone else set(names)
    return [
        {
            "labels_alone": None,
            **row,
            "limits": None if row["share"] is None else percent_range(row["low"], row["high"]),
        }
        for row in tidy_rows(result)
        if row["class"] in shown
    ]


def shown_classes(result: PrevalenceResult) -> list[int]:
    """The classes that figures show: of two the rarer one, else those that moved most."""
    mixes = np.vstack([each.found.best.prior for each in result.keys])
    if mixes.shape[1] == 2:
        return [int(np.nanmean(mixes, axis=0).argmin())]
    return [
        int(c) for c in np.argsort(np.nanmin(mixes, axis=0) - np.nanmax(mixes, axis=0), kind="stable")[:_MOST_CLASSES]
    ]


def sentence(result: PrevalenceResult) -> str:
    """The headline: where the share of the class that is shown first began, and where it ended."""
    c = shown_classes(result)[0]
    name, (key, periods, found) = result.log.classes.names[c], result.keys[0]
    best = found.best
    others = f" (the first of {len(result.keys):,} keys)" if len(result.keys) > 1 else ""
    whose = f" of {key}{others}" if key else ""
    top = int(np.nanargmax(best.prior[:, c]))
    ends = (f"{percent(best.prior[t, c])} ({percent_range(best.low[t, c], best.high[t, c])})" for t in (0, -1, top))
    first, last, highest = ends
    named = [named_period(periods[t]) for t in (0, -1, top)]
    begin, end, at = (named[0], *(name.replace("the period from", "the one from") for name in named[1:]))
    if len(periods) == 1:
        return f"Share of {name}{whose}: {first} in {begin}."
    peak = f"; highest at {highest} in {at}" if 0 < top < len(periods) - 1 else ""
    return f"Share of {name}{whose}: {first} in {begin}, {last} in {end}{peak}."
