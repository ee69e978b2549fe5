"""Parts of the HTML report: tables, claims, figures."""

import itertools
import re
from collections.abc import Sequence
from html import escape

from baserate.reports import page
from baserate.reports.tables import html_frame
from baserate_lab.paper.pages import names
from baserate_lab.paper.pages.records import Claim
from baserate_lab.paper.pages.run import Reproduction, ShownArtefact
from baserate_lab.paper.pages.summary import Summary, verdict, why
from baserate_lab.paper.pages.table import Entry, TableBlock, blocks

_CLASSES = {True: "holds", False: "fails", None: "open"}


def section(part: ShownArtefact) -> str:
    """Section of an artefact: description, figures, tables, claims."""
    artefact = part.artefact
    pictures, numbers = figures(part), tables(part)
    if pictures and numbers:
        numbers = f"<details><summary>The numbers</summary>\n{numbers}\n</details>"
    note = f"<p>{_prose(artefact.note)}</p>" if artefact.note else ""
    return f"""<section id="{escape(artefact.name)}">
<h2>{escape(artefact.title)}</h2>
<p class="where">{escape(artefact.where)}; <code>{escape(artefact.name)}</code></p>
{note}
{pictures}
{numbers}
{claims(part.claims)}
</section>
"""


def tables(part: ShownArtefact) -> str:
    """Tables of an artefact, side by side if there is room."""
    found = blocks(part.artefact, part.records)
    lines = []
    for metric, group in itertools.groupby(found, key=lambda block: block.metric):
        shown = [page.scrolling(_table(block), f"{part.artefact.title}. {block.caption}") for block in group]
        lines.append(f'<h3>{_metric(metric)}</h3>\n<div class="tables">\n{"".join(shown)}\n</div>')
    return "\n".join(lines)


def figures(part: ShownArtefact) -> str:
    """Figures of an artefact under their legend, or the pip command if matplotlib is missing."""
    if part.artefact.kind != "figure" and part.timeline is None:
        return ""
    try:
        from baserate.reports.figures import AreaStyle, area_entry, chart_svg, legend_entry
        from baserate_lab.paper.pages.figures import drawn
    except ModuleNotFoundError as error:
        return f"<p>{escape(str(error))}</p>"
    panels, looks = drawn(part)
    if not panels:
        return ""
    entries = [
        area_entry(name, look) if isinstance(look, AreaStyle) else legend_entry(name, look)
        for name, look in looks.items()
    ]
    over_time = part.timeline is not None
    size = {"height": 2.3} if over_time else {}
    pictures = [
        chart_svg(
            panel, looks, label=f"{panel.title}, over: {panel.x_label}.", name=f"{part.artefact.name}-{i}", **size
        )
        for i, panel in enumerate(panels)
    ]
    drawings = "\n".join(f"<figure>{picture}</figure>" for picture in pictures)
    crosses = any(panel.dots for panel in panels)
    says = "Bands are one standard deviation wide on either side." + (" Crosses are the paper's." if crosses else "")
    banded = any(len(line.spread) for panel in panels for line in panel.lines.values())
    caption = f'<p class="where">{says}</p>' if banded or crosses else ""
    kind = "figures over-time" if over_time else "figures"
    return f'<ul class="legend">{"".join(entries)}</ul>\n<div class="{kind}">\n{drawings}\n</div>\n{caption}'


def claims(said: Sequence[Claim]) -> str:
    """List of claims, and whether they hold."""
    items = [
        f'<li><strong class="{_CLASSES[claim.holds]}">{verdict(claim)}</strong> {_prose(claim.text)}'
        + (f' <span class="evidence">{_prose(claim.evidence)}</span></li>' if claim.evidence else "</li>")
        for claim in said
    ]
    return f'<ul class="claims">{"".join(items)}</ul>' if items else ""


def counts(run: Reproduction, found: Summary) -> str:
    """Table of how many numbers agree on each data set, and why the others do not."""
    reasons = why(run, found)
    lines = [
        f'<tr><th scope="row">{escape(names.problem(name))}</th><td>{agree} of {compared}</td>'
        f'<td class="text">{_prose(reasons.get(name, ""))}</td></tr>'
        for name, (agree, compared, _) in found.datasets.items()
    ]
    heads = ["data set", "agree", "why the others do not"]
    table = html_frame(heads, lines, caption="Agreement by data set")
    return f'<div class="counts">{page.scrolling(table, "Agreement by data set")}</div>'


def differing(found: Summary) -> str:
    """Folded table of every number that does not agree."""
    lines = [
        f'<tr><th scope="row">{escape(names.problem(record.problem))}</th>'
        f'<td class="text">{escape(record.artefact)}</td>'
        f'<td class="text">{escape(_setting(record.shift, record.variant))}</td>'
        f'<td class="text">{escape(record.method)}</td><td class="text">{escape(record.metric)}</td>'
        f"<td>{names.ours(record.ours_mean or 0.0, record.metric)}</td>"
        f"<td>{names.printed(record.paper_mean or 0.0, record.digits)}</td></tr>"
        for records in found.differing.values()
        for record in records
    ]
    if not lines:
        return ""
    heads = ["data set", "where", "setting", "method", "metric", "ours", "paper"]
    table = html_frame(heads, lines, caption="By data set and metric, the farthest off first")
    scrolling = page.scrolling(table, "Numbers that do not agree")
    return f"<details><summary>All {len(lines)} that do not agree</summary>\n{scrolling}\n</details>"


def _setting(shift: str, variant: str) -> str:
    return ", ".join(part for part in (shift, variant) if part)


def _table(block: TableBlock) -> str:
    lines = [
        f'<tr><th scope="row">{escape(method)}</th>{"".join(map(_cell, cells))}</tr>' for method, cells in block.rows
    ]
    return html_frame(["method", *map(escape, block.heads)], lines, caption=block.title or names.metric(block.metric))


def _cell(entry: Entry | None) -> str:
    if entry is None:
        return "<td>-</td>"
    ours = f"<b>{entry.ours}</b>" if entry.best else escape(entry.ours)
    # All cells keep room for two stars, so that the numbers are aligned.
    mark = f'<sup class="mark{len(entry.mark)}">{entry.mark}</sup>'
    paper = f'<span class="paper">{escape(entry.paper)}</span>' if entry.paper else ""
    return f"<td>{ours}{mark}{paper}</td>"


def _metric(name: str) -> str:
    return escape(names.metric(name)).replace(" %", "&nbsp;%")


def _prose(text: str) -> str:
    return re.sub(r"`(.+?)`", r"<code>\1</code>", escape(text))
