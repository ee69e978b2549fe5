"""The keys in the report of ``baserate adapt``: those in doubt, those that moved, and how many there are."""

from collections.abc import Callable, Sequence
from html import escape

from baserate.files.adapting.doubted_keys import DoubtedKey
from baserate.files.adapting.tracked_keys import FEW, STRETCHES, KeyPath, TrackedKeys
from baserate.files.moments import Calendar
from baserate.files.shares import percent
from baserate.reports import page
from baserate.reports.sparklines import sparkline
from baserate.reports.tables import html_frame, html_row

_ROWS, _FOLDED = 12, 100  # keys in the table, and in its part that is folded away
READING = {
    "moved": "a key counts as moved if its mean share in a stretch of the file is further from its start than chance "
    "explains, given the number of its rows there.",
    "furthest": "the mean share in the stretch of the file that is furthest from the start, or the share now if that "
    f"is even further. The file is cut into {STRETCHES} stretches; for keys with few rows, several are taken together.",
    "in doubt": "keys with drift beyond the class mix, or whose rows repeat each other. About one in ten of those with "
    "drift is listed by chance, however many keys there are. Other alarms may be false: without any change, up to one "
    "key in twenty has an alarm.",
    "evidence": "evidence against label shift, that is, against the assumption that only the class mix of this key "
    "changes. 1 is none.",
    "correction used": "the part of the correction that the next rows of the key will get.",
    "with few rows": f"keys with fewer than {FEW} rows, too few to estimate a class mix.",
    "band": "contains the true share of the class now as often as its level says, if only the class mix changes; wide "
    "where the key is in doubt.",
}
_HEAD = ("key", "", "rows", "class", "start", "furthest", "now", "band")
_DOUBTED = ("key", "why", "rows", "evidence", "correction used")
Bands = Callable[[KeyPath], str]


def section(tracked: TrackedKeys, doubted: Sequence[DoubtedKey] = (), band: Bands = lambda _: "-") -> str:
    """The part of the page that is about keys; its length does not grow with their number.

    Parameters
    ----------
    tracked : TrackedKeys
        The paths of the keys.
    doubted : sequence of DoubtedKey
        Those in doubt.
    band : callable
        Returns the band of a key's class now, in words.
    """
    counts = {
        "in doubt": len(doubted),
        "moved": len(tracked.moved),
        "without a clear move": tracked.steady,
        "with few rows": len(tracked.doubtful),
    }
    tiles = "".join(f"<li><b>{n:,}</b>{what}</li>" for what, n in counts.items())
    moved = "<p>No key moved by more than chance explains.</p>"
    if tracked.moved:
        moved = _table("Those that moved most", tracked.moved[:_ROWS], tracked.calendar, band)
        moved += _folded("more that moved", tracked.moved[_ROWS:], tracked.calendar, band)
    few = _folded(f"with fewer than {FEW} rows", tracked.doubtful, tracked.calendar, band)
    return f"""<section>
<h2>Key by key</h2>
<ul class="counts"><li><b>{tracked.total:,}</b>keys</li>{tiles}</ul>
{_in_doubt(doubted)}
{moved}
{few}
</section>"""


def _in_doubt(doubted: Sequence[DoubtedKey]) -> str:
    """The keys in doubt, and what to do about them."""
    if not doubted:
        return ""
    advice = (
        "<p>Do not rely on the class mix of keys in doubt. Compare their rows with those of others: a feature that is "
        "missing, another version of the model, or rows that were sent twice? "
        "A few dozen labels for each key will show.</p>"
    )
    shown = _doubted_table("Those in doubt", doubted[:_ROWS])
    if len(doubted) > _ROWS:
        rest, left = doubted[_ROWS : _ROWS + _FOLDED], len(doubted) - _ROWS - _FOLDED
        more = f"<p>{left:,} more are in the table of rounds.</p>" if left > 0 else ""
        table = _doubted_table("More keys in doubt", rest)
        shown += f"<details><summary>{len(doubted) - _ROWS:,} more in doubt</summary>{table}{more}</details>"
    return advice + shown


def _doubted_table(caption: str, doubted: Sequence[DoubtedKey]) -> str:
    lines = [
        html_row(key.key, [escape(key.why), f"{key.rows:,}", f"{key.evidence:.2g}", f"{100 * key.weight:.0f} %"])
        for key in doubted
    ]
    return page.scrolling(html_frame(_DOUBTED, lines, caption=caption), caption)


def _folded(what: str, paths: Sequence[KeyPath], calendar: Calendar, band: Bands) -> str:
    if not paths:
        return ""
    left = len(paths) - _FOLDED
    more = f"<p>{left:,} more are in the table of rounds.</p>" if left > 0 else ""
    table = _table(f"Keys {what}", paths[:_FOLDED], calendar, band)
    return f"<details><summary>{len(paths):,} {what}</summary>{table}{more}</details>"


def _table(caption: str, paths: Sequence[KeyPath], calendar: Calendar, band: Bands) -> str:
    lines = []
    for path in paths:
        when = f' <span class="when">({calendar.short(path.at)})</span>'
        furthest = f"{percent(path.extreme)}{when}" if path.extreme != path.start else "-"
        drawn = sparkline(path.path, path.start, f"The share of {path.name} over time.")
        cells = [f"{path.rows:,}", escape(path.name), percent(path.start), furthest, percent(path.now), band(path)]
        lines.append(html_row(path.key, cells, drawn=drawn))
    return page.scrolling(html_frame(_HEAD, lines, caption=caption), caption)
