"""The keys in the report of ``baserate adapt``: those that moved, those in doubt, and how many there are."""

from collections.abc import Sequence
from html import escape

from baserate.files.adapting.tracked_keys import FEW, STRETCHES, KeyPath, TrackedKeys
from baserate.files.moments import Calendar
from baserate.files.shares import percent
from baserate.reports import page
from baserate.reports.sparklines import sparkline
from baserate.reports.tables import html_frame, html_row

_ROWS, _FOLDED = 12, 100  # keys in the table, and in its part that is folded away
READING = {
    "moved": "a key is said to have moved if its mean share in a stretch of the file is further from its start than "
    "chance explains, by the number of its rows there.",
    "furthest": "the mean share in the stretch of the file that is furthest from the start, or the share now if that "
    f"is further yet. The file is cut into {STRETCHES} stretches, and for keys with few rows several of them are taken "
    "together.",
    "too few rows": f"fewer than {FEW}, from which the class mix of a key cannot be told.",
    "reduced correction": "keys whose correction is not used in full at the end, because their rows do not look like "
    "label shift, or because it could have done harm. They are also counted among the others.",
}
_HEAD = ("key", "", "rows", "class", "start", "furthest", "now")


def section(tracked: TrackedKeys) -> str:
    """The part of the page that is about keys; its length does not grow with their number."""
    counts = {"moved": len(tracked.moved), "without a clear move": tracked.steady}
    counts["with too few rows"] = len(tracked.doubtful)
    if tracked.held_back:
        counts["with reduced correction"] = len(tracked.held_back)
    tiles = "".join(f"<li><b>{n:,}</b>{what}</li>" for what, n in counts.items())
    moved = "<p>No key moved by more than chance explains.</p>"
    if tracked.moved:
        moved = _table("Those that moved most", tracked.moved[:_ROWS], tracked.calendar)
        moved += _folded("more that moved", tracked.moved[_ROWS:], tracked.calendar)
    doubt = _folded("in doubt, with reduced correction", tracked.held_back, tracked.calendar)
    doubt += _folded(f"in doubt, with fewer than {FEW} rows", tracked.doubtful, tracked.calendar)
    return f"""<section>
<h2>Key by key</h2>
<ul class="counts"><li><b>{tracked.total:,}</b>keys</li>{tiles}</ul>
{moved}
{doubt}
</section>"""


def _folded(what: str, paths: Sequence[KeyPath], calendar: Calendar) -> str:
    if not paths:
        return ""
    left = len(paths) - _FOLDED
    more = f"<p>{left:,} more are in the table of rounds.</p>" if left > 0 else ""
    table = _table(f"Keys {what}", paths[:_FOLDED], calendar)
    return f"<details><summary>{len(paths):,} {what}</summary>{table}{more}</details>"


def _table(caption: str, paths: Sequence[KeyPath], calendar: Calendar) -> str:
    lines = []
    for path in paths:
        when = f' <span class="when">({calendar.short(path.at)})</span>'
        furthest = f"{percent(path.extreme)}{when}" if path.extreme != path.start else "-"
        drawn = sparkline(path.path, path.start, f"The share of {path.name} over time.")
        cells = [f"{path.rows:,}", escape(path.name), percent(path.start), furthest, percent(path.now)]
        lines.append(html_row(path.key, drawn, cells))
    return page.scrolling(html_frame(_HEAD, lines, caption=caption), caption)
