"""The HTML report of ``baserate adapt``: what happened to the class mix, when, and how far to trust it."""

from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baserate._version import __version__
from baserate.files.adapting.doubted_keys import doubted_keys, key_bands
from baserate.files.adapting.state import StreamState
from baserate.files.adapting.story import headline, tracked_by
from baserate.files.adapting.summary import alarm_sentence, sentences, summarise
from baserate.files.adapting.tracked import ClassPath, TrackedPath, carried_bands, distance, read_rounds
from baserate.files.adapting.tracked_keys import TrackedKeys
from baserate.files.moments import dates
from baserate.files.shares import percent, percent_range
from baserate.frames import polars
from baserate.protocols import FloatArray, IntArray
from baserate.reports import adapt_keys, figures, page
from baserate.reports.sparklines import sparkline
from baserate.reports.tables import html_frame, html_row
from baserate.state import write_atomically

_POINTS = 400
_MOST_EVIDENCE = 1e12  # in the figure: beyond, it is an alarm a billion times over
_SPARKS = 48  # points of a line in a table
_PICTURES, _ROWS, _MOST_ROWS = 6, 12, 200  # classes with a picture, in the table, and in its part that is folded away
_TITLE = "The class mix"
_READING = {
    "in the holdout": "the class mix that the model's probabilities assume.",
    "now": "the class mix that the next round will be predicted with.",
    "band": "contains the true share of the class as often as its level says, if only the class mix changes. It is "
    "computed in each of the first 100 rounds and then in every 25th; in between, its width is interpolated.",
    "evidence": "evidence against label shift, that is, against the assumption that only the class mix changes. 1 is "
    "none; from the dashed line on, which chance alone reaches less than one time in twenty, there is an alarm. The "
    "figure ends at 10 to the power of 12.",
    "doubt": "of a sample: one minus its largest probability.",
    "strangeness": "of a sample: how far its probabilities are from those of the holdout.",
    "correction reduced": "rounds in which only a part of the correction was used, because all of it might do harm.",
    "Estimated accuracy": "how often the adapted prediction is right, estimated without labels.",
    "Weight of the correction": "the part of the correction that is used now; 100 % if it is not reduced.",
    "Serial correlation": "how similar neighbouring samples are, beyond their class. It is 0 for independent samples. "
    "The higher it is, the less each sample says about the class mix.",
    "moved": "a class counts as moved if it left its start by clearly more than its band.",
}


def write(path: Path, state: StreamState, rounds_file: Path, level: float) -> None:
    """Write the page to a file, whole or not at all."""
    rounds = polars().concat(list(read_rounds(state, rounds_file)), how="vertical_relaxed")
    tracked = tracked_by(state, rounds_file, level)
    assert tracked is not None
    # Half of a character may be in the name of a file.
    write_atomically(path, render(state, rounds, tracked, level).encode(errors="backslashreplace"))


def render(state: StreamState, rounds: Any, tracked: TrackedPath | TrackedKeys, level: float) -> str:
    """Render the page.

    Parameters
    ----------
    state : StreamState
        The state at the end.
    rounds : polars.DataFrame
        The table of rounds.
    tracked : TrackedPath or TrackedKeys
        The path of the class mix.
    level : float
        The level of the bands.
    """
    found = summarise(state, level)
    drawn = _Drawn(rounds, found, tracked)
    if isinstance(tracked, TrackedKeys):
        doubted = [] if state.bank is None else doubted_keys(state.bank)
        numbers = adapt_keys.section(tracked, doubted, key_bands(state, level))
        legend = "Shares are means over the keys, by their rows."
        reading = _READING | adapt_keys.READING
    else:
        numbers, legend = (
            _class_section(tracked, found, drawn),
            (f"Shaded: its {100 * level:g} % band, which is interpolated between the rounds that it was computed in."),
        )
        reading = _READING
    alarmed = found.get("alarm", False)
    box = f'<div class="alarm" role="note">{_alarm(found, tracked)}</div>' if alarmed else ""
    texts = sentences(found)
    calm = [text for text in texts if text.startswith("No sign of drift")]
    said = "".join(f"<p>{escape(text)}</p>" for text in texts if text not in calm)
    name = "" if state.file is None else state.file.name
    body = f"""<p class="kicker">baserate adapt: {escape(name)}</p>
{box}
<h1 class="headline">{page.unbroken(headline(tracked, level))}</h1>
{"".join(f'<p class="calm">{escape(text)}</p>' for text in calm)}
<section>
<p>The line is the share of a class that each round was predicted with, the dashes are its share in the holdout.
{legend}{drawn.remark}</p>
<div class="figures">{drawn.pictures()}</div>
</section>
{numbers}
<section>
<h2>Details</h2>
{said}
{drawn.calm_evidence()}
</section>"""
    body = f"""<main>
{body}
{page.glossary(reading, body)}
</main>
<footer><p>Made by baserate {__version__}.</p></footer>"""
    return page.render(f"{_TITLE} | baserate adapt", body)


def _alarm(found: dict[str, Any], tracked: TrackedPath | TrackedKeys) -> str:
    """The alarm, its first word set apart, and what to do."""
    word, _, rest = alarm_sentence(found, tracked).partition(":")
    steps = (
        "Compare the rows from that time on with those before: a feature that went missing, a new client, another "
        "version of the model?",
        "Label a few hundred recent rows. If the model is worse on them, retrain it, and give the new holdout with "
        "<code>--refit</code>.",
    )
    advice = "".join(f"<li>{step}</li>" for step in steps)
    return f"<p><strong>▲ {escape(word)}</strong>:{escape(rest)}</p><ul>{advice}</ul>"


def _class_section(tracked: TrackedPath, found: dict[str, Any], drawn: "_Drawn") -> str:
    """A table of the classes; those that moved less are folded away, where there are many."""
    head = ["class", "", "in the holdout", "lowest", "highest", "now", f"{100 * found['level']:g}&nbsp;% band"]
    lines = [_line(path, tracked, found, drawn) for path in tracked.classes[:_MOST_ROWS]]
    table = page.scrolling(html_frame(head, lines[:_ROWS], caption="Each class"), "Each class")
    if len(lines) > _ROWS:
        rest = page.scrolling(html_frame(head, lines[_ROWS:], caption="Those that moved less"), "Further classes")
        left = len(tracked.classes) - len(lines)
        more = f"<p>{left:,} more are in the table of rounds.</p>" if left else ""
        table += f"<details><summary>{len(tracked.classes) - _ROWS:,} more classes</summary>{rest}{more}</details>"
    return f"<section>\n<h2>Class by class</h2>\n{table}\n</section>"


def _line(path: ClassPath, tracked: TrackedPath, found: dict[str, Any], drawn: "_Drawn") -> str:
    def at(share: float, moment: Any) -> str:
        return f'{percent(share)} <span class="when">({tracked.calendar.short(moment)})</span>'

    cells = [
        percent(found["source_prior"][path.name]),
        at(path.lowest, path.lowest_at),
        at(path.highest, path.highest_at),
        percent(path.now),
        percent_range(*path.band),
    ]
    return html_row(path.name, cells, drawn=drawn.spark(path.name))


_STYLES = {
    "share": figures.LineStyle("line0", ()),
    "holdout": figures.LineStyle("truth", (5.0, 2.0)),
    "evidence": figures.LineStyle("line1", ()),
}


class _Drawn:
    """The pictures of a table of rounds.

    Parameters
    ----------
    rounds : polars.DataFrame
        The table.
    found : dict
        From `summarise`.
    tracked : TrackedPath or TrackedKeys
        The path of the class mix.
    """

    def __init__(self, rounds: Any, found: dict[str, Any], tracked: TrackedPath | TrackedKeys) -> None:
        self._keyed = isinstance(tracked, TrackedKeys)
        self._source: dict[str, float] = found["source_prior"]
        self._limit = found.get("alarm_at")
        self._tested = not self._keyed and not found["untested"]
        self._rounds = _mean_over_keys(rounds, found["classes"]) if self._keyed else rounds
        seconds = dates(self._rounds["time"]) if tracked.calendar.has_dates else None
        self._dates = seconds is not None and seconds[-1] > seconds[0]
        self._x: Any = seconds if self._dates else self._rounds["round"].to_numpy()
        self._alarm = self._flags("alarm")
        names = [path.name for path in tracked.classes] if isinstance(tracked, TrackedPath) else self._by_distance()
        # Of two classes, the second curve would only be the first one upside down.
        self._names = [min(names, key=lambda name: self._source[name])] if len(names) == 2 else names[:_PICTURES]
        self.remark = (
            f" The {_PICTURES} that moved furthest of {len(names):,} classes are shown."
            if (len(names) > _PICTURES)
            else ""
        )

    def _by_distance(self) -> list[str]:
        away = {
            name: float(distance(self._rounds[f"prior_{name}"].to_numpy(), source).max())
            for name, source in self._source.items()
        }
        return sorted(away, key=lambda name: -away[name])

    def _flags(self, name: str) -> NDArray[np.bool_]:
        if name not in self._rounds.columns:
            return np.zeros(len(self._rounds), dtype=bool)
        return np.asarray(self._rounds[name].to_numpy(), dtype=bool)

    def pictures(self) -> str:
        """The figures of the classes that moved most, and that of the evidence."""
        drawn = [self._class_figure(name, place) for place, name in enumerate(self._names)]
        if self._tested and not self._calm:
            drawn.append(self._evidence_figure())
        return "".join(f"<figure>{picture}</figure>" for picture in drawn)

    @property
    def _calm(self) -> bool:
        """True if the evidence was never near an alarm: a flat line, for which nobody should have to scroll."""
        highest = float(self._rounds["evidence"].to_numpy().max())
        return not self._alarm.any() and (self._limit is None or highest < np.sqrt(self._limit))

    def calm_evidence(self) -> str:
        """The figure of the evidence, folded away, where there is none."""
        if not self._tested or not self._calm:
            return ""
        figure = f'<div class="figures"><figure>{self._evidence_figure()}</figure></div>'
        return f"<details><summary>The evidence over time</summary>{figure}</details>"

    def spark(self, name: str) -> str:
        """The path of a class in a row of the table."""
        prior = self._rounds[f"prior_{name}"].to_numpy()
        shown = prior[_furthest(prior, self._source[name], _SPARKS)].tolist()
        return sparkline(shown, self._source[name], f"The share of {name} over time.")

    @property
    def _label(self) -> str:
        return "" if self._dates else "round"

    def _class_figure(self, name: str, place: int) -> str:
        x, prior, source = self._x, self._rounds[f"prior_{name}"].to_numpy(), self._source[name]
        shown = _furthest(prior, source, _POINTS)
        share, top = _points(x[shown], prior[shown]), figures.scale_top(np.append(prior, source))
        if not self._keyed:
            low, high = (
                limits[shown, 0] for limits in carried_bands(*(self._column(f"{what}_{name}") for what in _BAND))
            )
            share = share._replace(low=low.tolist(), high=high.tolist())
            # The band of the first rounds is as wide as can be.
            top = figures.scale_top(np.append(prior, source), high[len(high) // 20 :])
        lines = {"share": share, "holdout": _points(np.linspace(x[0], x[-1], 20), np.full(20, source))}
        label = (
            f"Line chart: the share of {name} over {len(x):,} rounds, {percent(source)} in the holdout, "
            f"{percent(prior[0])} in the first round, {percent(prior[-1])} in the last."
        )
        title = f"Share of {name}{', all keys' if self._keyed else ''}"
        chart = figures.Chart(title, self._label, lines, flush=True, shares=True, top=top, dates=self._dates)
        chart = chart._replace(alarms=figures.spans(x, self._alarm))
        return figures.chart_svg(chart, _STYLES, label=label, name=f"class-{place}", height=3.0)

    def _column(self, name: str) -> FloatArray:
        """A column, as one of an array; where no band is known, the widest."""
        values = self._rounds[name].to_numpy().astype(np.float64)[:, None]
        if np.isnan(values).all():
            values[0, 0] = float(name.startswith("high"))
        return np.asarray(values)

    def _evidence_figure(self) -> str:
        x = self._x
        starts = np.arange(0, len(x), -(-len(x) // _POINTS))
        evidence = np.maximum.reduceat(self._rounds["evidence"].to_numpy().astype(np.float64), starts)
        held = self._flags("fallback")
        label = (
            f"Line chart: the evidence, on a logarithmic axis. The correction was reduced in {held.mean():.0%} of the "
        )
        shaded = " (shaded: correction reduced)" if held.any() else ""
        shown = evidence.clip(1e-3, _MOST_EVIDENCE)
        if evidence.max() > _MOST_EVIDENCE:
            label += f"rounds; it went beyond {_MOST_EVIDENCE:.0e}, at which the line ends, in some of the "
        chart = figures.Chart(
            f"Evidence against label shift{shaded}",
            self._label,
            {"evidence": _points(x[starts], shown)},
            spans=figures.spans(x[starts], np.logical_or.reduceat(held, starts)),
            alarms=figures.spans(x, self._alarm),
            flush=True,
            log_y=True,
            limit=self._limit,
            dates=self._dates,
        )
        return figures.chart_svg(chart, _STYLES, label=f"{label}rounds.", name="evidence", height=3.0)


_BAND = ("prior", "low", "high")


def _mean_over_keys(rounds: Any, names: list[str]) -> Any:
    pl = polars()
    weight = pl.col("rows")
    means = [((pl.col(f"prior_{name}") * weight).sum() / weight.sum()).alias(f"prior_{name}") for name in names]
    time = [pl.col("time").first()] if "time" in rounds.columns else []
    return rounds.group_by("round", maintain_order=True).agg(*means, *time)


def _furthest(values: FloatArray, source: float, points: int) -> IntArray:
    """The rounds to draw of a long path: of each stretch the one furthest from the holdout; no peak is lost."""
    starts = np.arange(0, len(values), -(-len(values) // points))
    ends = np.append(starts[1:], len(values))
    away = np.abs(values - source)
    chosen = [start + int(away[start:end].argmax()) for start, end in zip(starts, ends, strict=True)]
    return np.unique([0, *chosen, len(values) - 1])


def _points(x: FloatArray, y: FloatArray) -> figures.Line:
    return figures.Line(x.tolist(), y.tolist())
