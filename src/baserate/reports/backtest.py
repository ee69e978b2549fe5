"""The HTML report of ``baserate backtest``: what to do, the figures behind it, and how it went."""

from html import escape
from pathlib import Path

import numpy as np

from baserate._version import __version__
from baserate.backtesting import Backtest
from baserate.backtesting.hindsight import around_rounds
from baserate.backtesting.methods import DEFAULT, DESCRIPTIONS, HINDSIGHT, NOTHING, TRACKERS
from baserate.backtesting.replay import LEVEL, SMALLEST
from baserate.backtesting.sentence import DO_NOT_USE, NO_DIFFERENCE, USE, with_names
from baserate.protocols import FloatArray, IntArray
from baserate.reports import page
from baserate.reports.backtest_rows import COLUMNS, facts, rows
from baserate.reports.figures import Chart, Line, LineStyle, chart_svg, legend_entry, spans
from baserate.reports.tables import to_html
from baserate.state import write_atomically

_TITLE = "Would it have helped?"
_POINTS = 400
_TRUTH = "share among the labels"
_EVIDENCE = "evidence"
_STYLES = {
    DEFAULT: LineStyle("line0", ()),
    HINDSIGHT: LineStyle("ink", (1.0, 1.5)),
    _TRUTH: LineStyle("truth", ()),
    _EVIDENCE: LineStyle("line1", ()),
}
_COLOURS = {USE: "good", NO_DIFFERENCE: "truth", DO_NOT_USE: "line1"}
_READING = {
    "error %": "share of labelled samples whose most probable class was wrong.",
    "change": "to doing nothing, on the same samples; below 0 is better. In brackets an interval that should hold the "
    "true difference as often as its level says. Rounds that follow each other are alike, so that whole blocks "
    "of them are resampled; if they are alike for longer than a block, or the future is unlike "
    "this log, it is too narrow.",
    "mistakes avoided, new mistakes": "samples that the method has right and the model wrong, and the other way round.",
    "log loss": "mean of minus the logarithm of the true class's probability, which is what counts where probabilities "
    f"are used themselves. Probabilities below {SMALLEST:g} count as that.",
    "evidence": "how strongly the samples speak against label shift, that is, against the assumption that only the "
    "class mix changes; 1 is none.",
    "doubt, strangeness": "of a sample: one minus its largest probability, and how far its probabilities are from "
    "those of the holdout.",
}


def write(path: Path, found: Backtest, log: str) -> None:
    """Write the page to a file, whole or not at all."""
    write_atomically(path, render(found, log).encode(errors="backslashreplace"))


def render(found: Backtest, log: str) -> str:
    """Render the page.

    Parameters
    ----------
    found : Backtest
        The result of the backtest.
    log : str
        The name of the log.
    """
    table = to_html(rows(found, log), COLUMNS, caption="Every method on the same rounds", mark="default")
    said = "".join(f"<p>{escape(fact)}</p>" for fact in [*facts(found), *(f"Note: {note}" for note in found.notes)])
    about = {name: DESCRIPTIONS[name] for name in (score.method for score in found.scores) if name in DESCRIPTIONS}
    body = f"""<main>
<h1>{_TITLE}</h1>
<p class="lead">{escape(log)}</p>
<p class="lead finding">{_unbroken(found.sentence)}</p>
{page.scrolling(table, "Results")}
{said}
<section>
<h2>How it went</h2>
{_figures(found)}
</section>
<h2>How to read this</h2>
<dl>{page.definitions(_READING)}</dl>
<h2>The methods</h2>
<dl>{page.definitions(about)}</dl>
<p>{escape(TRACKERS)}</p>
</main>
<footer><p>Made by baserate {__version__}; intervals with seed {found.seed}.</p></footer>"""
    css = f"td {{ white-space: nowrap }} .finding {{ border-color: var(--{_COLOURS[found.verdict]}) }}"
    return page.render(f"{_TITLE} | baserate backtest", body, css=css)


def _unbroken(sentence: str) -> str:
    return escape(sentence).replace(" %", "&nbsp;%").replace("-&gt;", "→")


def _figures(found: Backtest) -> str:
    moving = _most_moving(found)
    name = found.names[moving]
    trust = found.trust
    alarm = "There was no alarm."
    if trust.since is not None:
        why = f": {with_names(trust.why, found.names)}" if trust.why else ""
        alarm = f"The first alarm came after round {trust.since + 1:,}{why}."
    saved = {method: _avoided(found, method) for method in (DEFAULT, HINDSIGHT)}
    ends = {method: f"{int(line.y[-1]):,}" for method, line in saved.items()}
    shaded = "Shaded: the correction was reduced." if trust.held_back.any() else "The correction was never reduced."
    drawn = [
        (
            Chart("Mistakes avoided so far (higher is better)", "round", saved, flush=True, limit=0.0),
            f"Line chart: mistakes avoided. The default ends at {ends[DEFAULT]}, the class mix in hindsight at "
            f"{ends[HINDSIGHT]}.",
            f"Compared with doing nothing, the dashed line. At the end {ends[DEFAULT]} with the default; "
            f"{ends[HINDSIGHT]} had the class mix been known.",
        ),
        (
            Chart(f"Share of {name}", "round", _mix(found, moving), spans=_spans(found), flush=True, shares=True),
            f"Line chart: the share of {name} among the labels, and as the default tracked it, with its band.",
            f"The class that moved most; {100 * found.source_prior[moving]:.0f} % of the holdout. Tracked without "
            f"labels, with a {100 * LEVEL:.0f} % band. {shaded}",
        ),
        (
            Chart(
                "Evidence against label shift",
                "round",
                {_EVIDENCE: _line(np.clip(trust.evidence, 1e-3, 1e12))},
                spans=_spans(found),
                flush=True,
                log_y=True,
                limit=1.0 / trust.alpha,
            ),
            "Line chart: evidence against label shift, on a logarithmic axis, with the limit of an alarm.",
            f"From the dashed line on it is an alarm. {alarm}",
        ),
        (
            Chart("Part of the correction in use", "round", {DEFAULT: _line(trust.weight)}, flush=True, shares=True),
            "Line chart: which part of the correction was used in each round.",
            f"What the gate let through: {100 * trust.weight.mean():.0f} % on average.",
        ),
    ]
    pictures = "\n".join(
        f"<figure>{chart_svg(chart, _STYLES, label=label, name=f'backtest-{i}', height=3.0)}"
        f"<figcaption>{escape(caption)}</figcaption></figure>"
        for i, (chart, label, caption) in enumerate(drawn)
    )
    entries = "".join(legend_entry(entry, style) for entry, style in _STYLES.items())
    return f'<ul class="legend">{entries}</ul>\n<div class="figures">\n{pictures}\n</div>'


def _avoided(found: Backtest, method: str) -> Line:
    return _line(np.cumsum(found.played[NOTHING].wrong - found.played[method].wrong).astype(np.float64))


def _most_moving(found: Backtest) -> int:
    """The class whose share among the labels moved most; of several, the last."""
    moved = np.nanmax(_frequencies(found), axis=0) - np.nanmin(_frequencies(found), axis=0)
    return int(np.flatnonzero(moved > moved.max() - 1e-9)[-1])


def _frequencies(found: Backtest) -> FloatArray:
    """Label frequencies in a window around each round: of as many neighbours as hindsight asks, but not all."""
    counts = found.log.counts()
    width = int(np.clip(found.neighbours, 1, max(found.log.n_rounds // 40, 1)))
    around = around_rounds(counts, width)
    total = around.sum(axis=1, keepdims=True)
    return np.where(total > 0, around / np.maximum(total, 1), np.nan)


def _mix(found: Backtest, moving: int) -> dict[str, Line]:
    trust = found.trust
    tracked = found.played[DEFAULT].prior[trust.looks, moving]
    limits = {"low": trust.low[:, moving].tolist(), "high": trust.high[:, moving].tolist()}
    return {
        _TRUTH: _line(_frequencies(found)[:, moving]),
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
