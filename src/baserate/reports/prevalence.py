"""The HTML report of ``baserate prevalence``: the share of each class over the periods, with limits."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

from baserate._version import __version__
from baserate.files.prevalence import KeyedPrevalence, PrevalenceResult
from baserate.files.shares import percent
from baserate.protocols import FloatArray
from baserate.reports import page
from baserate.reports.figures import Chart, Line, LineStyle, chart_svg, legend_entry, scale_top
from baserate.reports.prevalence_rows import (
    ALONE,
    AUDITED,
    CAUSAL,
    COUNTED,
    HINDSIGHT,
    columns,
    sentence,
    shown_classes,
    table_rows,
)
from baserate.reports.tables import to_html
from baserate.state import write_atomically

_STYLES = {
    AUDITED: LineStyle("line0", ()),
    HINDSIGHT: LineStyle("line2", ()),
    CAUSAL: LineStyle("line1", (4.0, 2.0)),
    COUNTED: LineStyle("truth", ()),
    ALONE: LineStyle("ink", (1.0, 1.5)),
}
_MOST_KEYS = 12
_DWARFED = 2.5
_MOST_COUNTS = 120
_CSS = (
    "tbody th, td { white-space: nowrap !important } .one { grid-template-columns: minmax(0, 56rem) } "
    ".one figure { max-width: none }"
)
_READING = {
    COUNTED: "the share of rows for which the class is the model's most probable one. It is biased wherever the "
    "model makes mistakes, the more the rarer the class.",
    CAUSAL: "the class mix as it was known at the end of the period, from the rows until then.",
    HINDSIGHT: "the class mix from all rows of the log, those after the period included. Its limits are for "
    "label shift: that the classes look as they did in the holdout.",
    AUDITED: "the model's probabilities of all rows of a period, re-weighted to the mix in hindsight, put right by the "
    "labels of audited rows. If rows were chosen for audits at random, it is right whatever the model does.",
    ALONE: "the share among the audited rows of the period.",
}


def write(
    path: Path, result: PrevalenceResult, log: str, warnings: Sequence[str] = (), *, made_by: str = "prevalence"
) -> None:
    """Write the page to a file, whole or not at all."""
    write_atomically(path, render(result, log, warnings, made_by=made_by).encode(errors="backslashreplace"))


def render(result: PrevalenceResult, log: str, warnings: Sequence[str] = (), *, made_by: str = "prevalence") -> str:
    """Render the page, with warnings above all else; `made_by` is the command's name."""
    audited = any(each.found.audited is not None for each in result.keys)
    figures, used = [], set()
    for i, each in enumerate(result.keys[:_MOST_KEYS]):
        for c in shown_classes(result):
            chart = _chart(each, c, result.log.classes.names[c])
            used |= set(chart.lines) | set(chart.dots)
            drawn = chart_svg(chart, _STYLES, label=f"Line chart: {chart.title}.", name=f"prevalence-{i}-{c}")
            figures.append(
                f"<figure>{drawn}<figcaption>{escape(_caption(each, c, result.level, chart.top))}</figcaption></figure>"
            )
    left = len(result.keys) - _MOST_KEYS
    more = f"<p>{left:,} more keys are in the table.</p>" if left > 0 else ""
    entries = "".join(legend_entry(name, style) for name, style in _STYLES.items() if name in used)
    rows = table_rows(result)
    if result.log.keys is not None:
        rows = [{**row, "period": f"{row['key']}, {row['period']}"} for row in rows]
    table = to_html(
        rows,
        columns(audited, one_class=len(result.log.classes.names) == 2),
        caption=f"The class mix of each period; share and limits {AUDITED if audited else HINDSIGHT}",
    )
    body = f"""<p class="kicker">baserate {made_by}: {escape(log)}</p>
{"".join(_box(text) for text in warnings)}
<h1 class="headline">{page.unbroken(sentence(result))}</h1>
<ul class="legend">{entries}</ul>
<div class="figures{" one" if len(figures) == 1 else ""}">
{"".join(figures)}
</div>
{more}
{page.scrolling(table, "Periods")}"""
    body = f"""<main>
{body}
{page.glossary({name: text for name, text in _READING.items() if name in used or name == HINDSIGHT}, body)}
</main>
<footer><p>Made by baserate {__version__}.</p></footer>"""
    return page.render("Prevalence | baserate", body, css=_CSS)


def _box(warning: str) -> str:
    word, _, rest = warning.partition(":")
    return f'<div class="alarm" role="note"><p><strong>▲ {escape(word)}</strong>:{escape(rest)}</p></div>'


def _chart(each: KeyedPrevalence, c: int, name: str) -> Chart:
    found = each.found
    days = _days(each.periods)
    x = list(range(1, len(each.periods) + 1)) if days is None else days
    lines = {COUNTED: _counts(each, c, np.array(x)), CAUSAL: Line(x, found.causal.prior[:, c].tolist())}
    best = HINDSIGHT
    if found.audited is not None:
        lines[HINDSIGHT] = Line(x, found.hindsight.prior[:, c].tolist())
        best = AUDITED
    low, high = _limits(each, c)
    lines[best] = Line(x, found.best.prior[:, c].tolist(), low=low.tolist(), high=high.tolist())
    values = np.concatenate([line.y for line in lines.values()])
    top = _top(values, high)
    title = f"Share of {name}{f', {each.key}' if each.key else ''}"
    label = f"period, from {each.periods[0]}" if days is None else ""
    return Chart(title, label, lines, flush=True, shares=True, top=top, dates=days is not None)


def _counts(each: KeyedPrevalence, c: int, x: FloatArray) -> Line:
    """The counts of periods, or their means over some where so many restless ones would hide all else."""
    rows, counted = each.found.rows, np.nan_to_num(each.found.counted[:, c])
    firsts = np.arange(0, len(rows), _together(each))
    totals = np.add.reduceat(rows, firsts)
    shares = np.where(totals > 0, np.add.reduceat(rows * counted, firsts) / np.maximum(totals, 1), np.nan)
    lasts = np.append(firsts[1:], len(rows)) - 1
    return Line((0.5 * (x[firsts] + x[lasts])).tolist(), shares.tolist())


def _together(each: KeyedPrevalence) -> int:
    return -(-len(each.periods) // _MOST_COUNTS)


def _limits(each: KeyedPrevalence, c: int) -> tuple[FloatArray, FloatArray]:
    """The limits of the estimate to report; NaN where there is none."""
    best = each.found.best
    low, high = (np.where(np.isnan(best.prior[:, c]), np.nan, limit[:, c]) for limit in (best.low, best.high))
    return low, high


def _top(values: FloatArray, high: FloatArray) -> float:
    """The end of the scale: above all limits, unless those of a few (such as empty) periods would dwarf the rest."""
    usual = max(scale_top(values, high), 1.1 * float(np.nanquantile(high, 0.8)))
    shown = high[high <= _DWARFED * usual]
    return min(max(usual, 1.05 * float(shown.max(initial=0.0))), 1.0)


def _days(periods: list[str]) -> list[float] | None:
    """Periods that are called by their first day or minute, in seconds since 1970; None for others, or a single one."""
    try:
        seconds = np.array(periods, dtype="datetime64[s]").astype(np.float64)
    except ValueError:
        return None
    return seconds.tolist() if len(periods) > 1 else None


def _caption(each: KeyedPrevalence, c: int, level: float, top: float | None) -> str:
    found = each.found
    what = AUDITED if found.audited is not None else HINDSIGHT
    audits = f", {found.labels.sum():,} of them audited" if found.audited is not None else ""
    low, high = _limits(each, c)
    width = float(np.nanmean(high - low))
    cut, together = 0 if top is None else int((high > top).sum()), _together(each)
    means = f" Counts are means over {together} periods." if together > 1 else ""
    above = f" In {cut:,} of the periods they reach above the figure: see the table." if cut else ""
    return (
        f"{found.rows.sum():,} rows in {len(each.periods):,} periods{audits}. Shaded: {100 * level:g} % limits of the "
        f"share {what}, {percent(width)} wide on average.{above}{means}"
    )
