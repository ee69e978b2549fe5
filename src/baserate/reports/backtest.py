"""The HTML report of ``baserate backtest``: what to do, the figures behind it, and how it went."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

from baserate._version import __version__
from baserate.backtesting import Backtest
from baserate.backtesting.hindsight import around_rounds
from baserate.backtesting.measures import digits_of
from baserate.backtesting.methods import DEFAULT, DESCRIPTIONS, HINDSIGHT, NOTHING, TRACKERS
from baserate.backtesting.played import SMALLEST
from baserate.backtesting.replay import LEVEL
from baserate.backtesting.sentence import DO_NOT_USE, NO_DIFFERENCE, SIMPLER, USE, with_names
from baserate.files.moments import Calendar, Moment, are_dates
from baserate.files.shares import percent
from baserate.protocols import FloatArray, IntArray
from baserate.reports import page
from baserate.reports.backtest_rows import columns, facts, reading, rows
from baserate.reports.figures import Chart, Line, LineStyle, chart_svg, legend_entry, scale_top, spans
from baserate.reports.tables import to_html
from baserate.state import write_atomically

_TITLE = "Would it have helped?"
_POINTS = 400
_TRUTH = "share among the labels"
_EVIDENCE = "evidence"
_SMOOTHED = "looking back, without labels"
_STYLES = {
    DEFAULT: LineStyle("line0", ()),
    HINDSIGHT: LineStyle("ink", (1.0, 1.5)),
    _TRUTH: LineStyle("truth", ()),
    _EVIDENCE: LineStyle("line1", ()),
    _SMOOTHED: LineStyle("line2", (4.0, 2.0)),
}
_SAVED = {
    "error": "Mistakes avoided", "cost": "Cost saved", "log-loss": "Log loss saved", "brier": "Brier score saved",
}  # fmt: skip
_COLOURS = {USE: "good", SIMPLER: "good", NO_DIFFERENCE: "truth", DO_NOT_USE: "line1"}
_READING = {
    "error %": "share of labelled samples with a wrong decision: the most probable class, or the decision by costs or "
    "a threshold.",
    "change": "to doing nothing, on the same samples; below 0 is better. In brackets is an interval that should "
    "contain the true difference as often as its level says. Neighbouring rounds are alike, so whole blocks of them "
    "are resampled. The interval is too narrow if rounds are alike for longer than a block, or if the future differs "
    "from this log.",
    "mistakes avoided, new mistakes": "samples that the method gets right and the model wrong, and vice versa.",
    "log loss": "mean of minus the logarithm of the true class's probability; it matters if you use the probabilities "
    f"themselves. Probabilities below {SMALLEST:g} count as that.",
    "evidence": "how strongly the samples speak against label shift, that is, against the assumption that only the "
    "class mix changes; 1 is none.",
}
_DOUBT = (
    "Doubt of a sample is one minus its largest probability; it is unusual if its probabilities are far from "
    "those of the holdout."
)


def write(path: Path, found: Backtest, log: str, times: FloatArray | None = None) -> None:
    """Write the page to a file, whole or not at all."""
    write_atomically(path, render(found, log, times).encode(errors="backslashreplace"))


def render(found: Backtest, log: str, times: FloatArray | None = None) -> str:
    """Render the page.

    Parameters
    ----------
    found : Backtest
        The result of the backtest.
    log : str
        The name of the log.
    times : (n,) array, optional
        The time of each row, in seconds since 1970 if the figures are to show dates.
    """
    (asked, others), lines = columns(found), rows(found, log)
    table = to_html(lines, asked, caption="Every method on the same rounds", mark="default")
    further = to_html(lines, others, caption="The same rounds by other measures", mark="default")
    said = "".join(f"<p>{escape(fact)}</p>" for fact in [*facts(found), *(f"Note: {note}" for note in found.notes)])
    methods = [score.method for score in found.scores]
    about = {name: DESCRIPTIONS[name] for name in methods if name in DESCRIPTIONS}
    trackers = "" if len(about) == len(methods) else f"<p>{escape(TRACKERS)}</p>"
    axis = _Axis(found, times)
    verdict, _, because = found.sentence.partition(": ")
    body = f"""<p class="kicker">baserate backtest: {escape(log)}</p>
<h1 class="headline">{page.unbroken(verdict)}</h1>
<p class="lead finding">{page.unbroken(because)}</p>
{_alarm(found, axis)}
{page.scrolling(table, "Results")}
<details><summary>Other measures</summary>{page.scrolling(further, "Other measures")}</details>
{said}
<section>
<h2>How it went</h2>
{_figures(found, axis)}
</section>"""
    body = f"""<main>
{body}
{page.glossary(_READING | reading(found), body)}
<h2>The methods</h2>
<dl>{page.definitions(about)}</dl>
{trackers}
</main>
<footer><p>Made by baserate {__version__}; intervals with seed {found.seed}.</p></footer>"""
    css = f"td {{ white-space: nowrap }} .finding {{ border-color: var(--{_COLOURS[found.verdict]}) }}"
    return page.render(f"{_TITLE} | baserate backtest", body, css=css)


class _Axis:
    """The horizontal axis of all figures: dates if there are any, else rounds.

    Parameters
    ----------
    found : Backtest
        The result of the backtest.
    times : (n,) array, optional
        The time of each row.
    """

    def __init__(self, found: Backtest, times: FloatArray | None) -> None:
        self._times: FloatArray | None = None
        self.calendar = Calendar()
        if times is not None and are_dates(times) and times[-1] > times[0]:
            self._times = times[found.log.starts[:-1]]
            self.calendar = Calendar(float(times[0]), float(times[-1]))

    def moment(self, t: int) -> Moment:
        """The moment of a round, counted from 0."""
        return Moment(t + 1, None if self._times is None else float(self._times[t]))

    def apply(self, chart: Chart) -> Chart:
        """A chart over rounds as one over dates, if there are any."""
        if self._times is None:
            return chart
        lines = {name: line._replace(x=self._dates(line.x)) for name, line in chart.lines.items()}
        shaded, alarms = ([self._span(span) for span in some] for some in (chart.spans, chart.alarms))
        return chart._replace(x_label="", lines=lines, spans=shaded, alarms=alarms, dates=True)

    def _dates(self, rounds: Sequence[float]) -> list[float]:
        assert self._times is not None
        return [float(self._times[int(number) - 1]) for number in rounds]

    def _span(self, span: tuple[float, float]) -> tuple[float, float]:
        first, last = self._dates(span)
        return first, last


def _alarm(found: Backtest, axis: _Axis) -> str:
    """The first alarm, where there was one."""
    trust = found.trust
    if trust.since is None:
        if trust.untested:
            why = with_names(trust.untested, found.names).rstrip(".")
            return f"<p>Drift beyond the class mix is not tested: {escape(why)}.</p>"
        return '<p class="calm">No sign of drift beyond the class mix.</p>'
    why = f": {with_names(trust.why, found.names)}" if trust.why else ""
    since = axis.calendar.since(axis.moment(trust.since))
    return (
        f'<div class="alarm" role="note"><p><strong>▲ ALARM {since}</strong>: drift beyond the class mix{escape(why)}. '
        f"Check the data from then on, and consider retraining.</p><p>{_DOUBT if trust.why else ''}</p></div>"
    )


def _figures(found: Backtest, axis: _Axis) -> str:
    moving = _most_moving(found)
    name = found.names[moving]
    which = "rarer class" if len(found.names) == 2 else "class that moved most"
    trust = found.trust
    alarm = "There was no alarm."
    if trust.since is not None:
        why = f": {with_names(trust.why, found.names)}" if trust.why else ""
        when = f", {axis.calendar.on(axis.moment(trust.since))}" if axis.calendar.has_dates else ""
        alarm = f"The first alarm came after round {trust.since + 1:,}{when}{why}."
    saved = {method: _avoided(found, method) for method in (DEFAULT, HINDSIGHT)}
    ends = _totals(found, {method: line.y[-1] for method, line in saved.items()})
    shaded = "Shaded: the correction was reduced." if trust.held_back.any() else "The correction was never reduced."
    drawn = [
        (
            Chart(f"{_SAVED[found.by]} so far (higher is better)", "round", saved, flush=True, limit=0.0),
            f"Line chart: {_SAVED[found.by].lower()}. The default ends at {ends[DEFAULT]}, the class mix in hindsight "
            f"at {ends[HINDSIGHT]}.",
            f"Compared with doing nothing, the dashed line. At the end {ends[DEFAULT]} with the default; "
            f"{ends[HINDSIGHT]} had the class mix been known.",
        ),
        (
            _mix_chart(found, moving),
            f"Line chart: the share of {name} among the labels, as the default tracked it, with its band, and looking "
            "back.",
            f"The {which}; {percent(found.source_prior[moving])} of the holdout. Tracked without "
            f"labels, with a {100 * LEVEL:.0f} % band; dashed: from the outputs of all rounds, later ones included. "
            f"{shaded}",
        ),
        *([] if trust.untested else [_evidence_figure(found, alarm)]),
        (
            Chart("Part of the correction in use", "round", {DEFAULT: _line(trust.weight)}, flush=True, shares=True),
            "Line chart: which part of the correction was used in each round.",
            f"What the gate let through: {100 * trust.weight.mean():.0f} % on average.",
        ),
    ]
    pictures = "\n".join(
        f"<figure>{chart_svg(axis.apply(chart), _STYLES, label=label, name=f'backtest-{i}', height=3.0)}"
        f"<figcaption>{escape(caption)}</figcaption></figure>"
        for i, (chart, label, caption) in enumerate(drawn)
    )
    lines = {line for chart, _, _ in drawn for line in chart.lines}
    entries = "".join(legend_entry(entry, style) for entry, style in _STYLES.items() if entry in lines)
    return f'<ul class="legend">{entries}</ul>\n<div class="figures">\n{pictures}\n</div>'


def _avoided(found: Backtest, method: str) -> Line:
    nothing, other = (found.measure.sums(found.played[name]) for name in (NOTHING, method))
    return _line(np.cumsum(nothing - other).astype(np.float64))


def _totals(found: Backtest, totals: dict[str, float]) -> dict[str, str]:
    """Sums over all samples, with the digits of the measure; of counts and of whole costs, none."""
    digits = found.measure.digits
    if all(float(total).is_integer() for total in totals.values()):
        digits = 0
    elif digits is None:
        digits = digits_of(max(map(abs, totals.values())))
    return {method: f"{round(total, digits) + 0.0:,.{digits}f}" for method, total in totals.items()}


def _most_moving(found: Backtest) -> int:
    """The class whose share among the labels moved most; of several, the last; of two, the rarer one."""
    if len(found.names) == 2:
        return int(np.argmin(found.source_prior))
    moved = np.nanmax(_frequencies(found), axis=0) - np.nanmin(_frequencies(found), axis=0)
    return int(np.flatnonzero(moved > moved.max() - 1e-9)[-1])


def _frequencies(found: Backtest) -> FloatArray:
    """Label frequencies in a window around each round: of as many neighbours as hindsight asks, but not all."""
    counts = found.log.counts()
    width = int(np.clip(found.neighbours, 1, max(found.log.n_rounds // 40, 1)))
    around = around_rounds(counts, width)
    total = around.sum(axis=1, keepdims=True)
    return np.where(total > 0, around / np.maximum(total, 1), np.nan)


def _evidence_figure(found: Backtest, alarm: str) -> tuple[Chart, str, str]:
    trust = found.trust
    return (
        Chart(
            "Evidence against label shift",
            "round",
            {_EVIDENCE: _line(np.clip(trust.evidence, 1e-3, 1e12))},
            spans=_spans(found),
            alarms=_alarms(found),
            flush=True,
            log_y=True,
            limit=1.0 / trust.alpha,
        ),
        "Line chart: evidence against label shift, on a logarithmic axis, with the limit of an alarm.",
        f"From the dashed line on it is an alarm. {alarm}",
    )


def _mix_chart(found: Backtest, moving: int) -> Chart:
    """The share of a class, on its own scale."""
    lines = _mix(found, moving)
    top = scale_top(
        np.concatenate([line.y for line in lines.values()]),
        np.asarray(lines[DEFAULT].high[len(found.trust.looks) // 20 :]),
    )
    title = f"Share of {found.names[moving]}"
    chart = Chart(title, "round", lines, spans=_spans(found), flush=True, shares=True, top=top)
    return chart._replace(alarms=_alarms(found))


def _mix(found: Backtest, moving: int) -> dict[str, Line]:
    trust = found.trust
    tracked = found.played[DEFAULT].prior[trust.looks, moving]
    limits = {"low": trust.low[:, moving].tolist(), "high": trust.high[:, moving].tolist()}
    return {
        _TRUTH: _line(_frequencies(found)[:, moving]),
        _SMOOTHED: _line(found.smoothed.prior[:, moving]),
        DEFAULT: Line((trust.looks + 1).tolist(), tracked.tolist(), **limits),
    }


def _line(values: FloatArray) -> Line:
    """Values of all rounds; of many, some."""
    shown: IntArray = np.unique(np.linspace(0, len(values) - 1, min(len(values), _POINTS)).astype(np.int64))
    return Line((shown + 1).tolist(), values[shown].tolist())


def _spans(found: Backtest) -> list[tuple[float, float]]:
    """The stretches of rounds in which the correction was reduced."""
    held = found.trust.held_back
    return spans(np.arange(1, len(held) + 1), held)


def _alarms(found: Backtest) -> list[tuple[float, float]]:
    """The stretches of rounds with an alarm."""
    return spans(np.arange(1, len(found.trust.alarm) + 1), found.trust.alarm)
