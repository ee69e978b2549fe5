"""The HTML report of ``baserate adapt``: the class mix over the rounds of a file, and how far to trust it."""

import contextlib
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from baserate._version import __version__
from baserate.files.adapting.state import StreamState
from baserate.files.adapting.summary import sentences, summarise
from baserate.files.formats import CSV, open_reader
from baserate.files.source import Source
from baserate.frames import polars
from baserate.protocols import FloatArray
from baserate.reports import figures, page
from baserate.reports.tables import html_frame
from baserate.state import write_atomically

_POINTS = 400
_MOST = 12  # classes that get a picture
_TITLE = "The class mix, round by round"
_READING = {
    "now": "the class mix that the next round will be predicted with.",
    "band": "contains the true share of the class as often as its level says, if only the class mix changes.",
    "evidence": "evidence against label shift, that is, against the assumption that only the class mix changes. 1 is "
    "none; from the dashed line on, which chance alone reaches less than one time in twenty, there is an alarm.",
    "correction reduced": "rounds in which the correction was not used in full, because it could have done harm.",
    "weight of the correction": "the part of it that is used now; less than 100 % where it is reduced.",
    "serial correlation": "how alike samples are that follow each other, beyond their class. Independent samples have "
    "0; the more there is, the less each sample says about the class mix.",
}


def write(path: Path, state: StreamState, rounds_file: Path, level: float) -> None:
    """Write the page to a file, whole or not at all."""
    rounds = polars().read_csv(rounds_file, infer_schema_length=None)
    with contextlib.closing(open_reader(Source(str(rounds_file), CSV))) as reader:
        rounds.columns = reader.columns  # polars leaves quotes within names doubled
    # Half of a character may be in the name of a file.
    write_atomically(path, render(state, rounds, level).encode(errors="backslashreplace"))


def render(state: StreamState, rounds: Any, level: float) -> str:
    """Render the page.

    Parameters
    ----------
    state : StreamState
        The state at the end.
    rounds : polars.DataFrame
        The table of rounds.
    level : float
        The level of the bands.
    """
    found = summarise(state, level)
    names = found["classes"]
    keyed = "key" in rounds.columns
    rounds = _mean_over_keys(rounds, names) if keyed else rounds
    priors = rounds.select(f"prior_{name}" for name in names).to_numpy()
    source = np.array(list(found["source_prior"].values()))
    # Those first that have been furthest from where they started.
    order = np.argsort(-np.abs(priors - source).max(axis=0), kind="stable")[:_MOST].tolist()
    pictures = [_class_figure(rounds, names[c], source[c], i) for i, c in enumerate(order)]
    if state.bank is None:
        pictures.append(_evidence_figure(rounds, 1.0 / (state.fitted.alpha or 1.0)))
    said = "".join(f"<p>{escape(text)}</p>" for text in sentences(found))
    mean = " Shares are means over the keys, by their rows." if keyed else ""
    more = f" The {_MOST} that moved furthest of {len(names):,} classes are shown." if len(names) > _MOST else ""
    name = "" if state.file is None else state.file.name
    body = f"""<main>
<h1>{_TITLE}</h1>
<p class="lead">{escape(name)}</p>
<div class="finding">{said}</div>
{page.scrolling(_table(found), "Class mix")}
<section>
<h2>Over the rounds</h2>
<p>The line is the share of a class that each round was predicted with, the shaded area its band; the dashes are its
share in the holdout.{mean}{more}</p>
<div class="figures">{"".join(f"<figure>{picture}</figure>" for picture in pictures)}</div>
</section>
<h2>How to read this</h2>
<dl>{page.definitions(_READING)}</dl>
</main>
<footer><p>Made by baserate {__version__}.</p></footer>"""
    return page.render(f"{_TITLE} | baserate adapt", body)


def _mean_over_keys(rounds: Any, names: list[str]) -> Any:
    pl = polars()
    weight = pl.col("rows")
    means = [((pl.col(f"prior_{name}") * weight).sum() / weight.sum()).alias(f"prior_{name}") for name in names]
    return rounds.group_by("round", maintain_order=True).agg(means)


def _table(found: dict[str, Any]) -> str:
    with_band = "prior" in found
    head = ["class", "in the holdout", *(["now", f"{100 * found['level']:g}&nbsp;% band"] if with_band else [])]
    lines = []
    for name, share in found["source_prior"].items():
        cells = [f"{100 * share:.1f}&nbsp;%"]
        if with_band:
            band = f"{100 * found['low'][name]:.1f} to {100 * found['high'][name]:.1f}&nbsp;%"
            cells += [f"{100 * found['prior'][name]:.1f}&nbsp;%", band]
        lines.append(f'<tr><th scope="row">{escape(name)}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>')
    return html_frame(head, lines, caption="Class mix")


_STYLES = {
    "share": figures.LineStyle("line0", ()),
    "holdout": figures.LineStyle("truth", (5.0, 2.0)),
    "evidence": figures.LineStyle("line1", ()),
}


def _class_figure(rounds: Any, name: str, source: float, place: int) -> str:
    x = rounds["round"].to_numpy()
    every = slice(None, None, -(-len(x) // _POINTS))
    prior = rounds[f"prior_{name}"].to_numpy()
    share = _line(x[every], prior[every])
    if f"low_{name}" in rounds.columns:
        # Rounds without a band have that of the last round that has one.
        low, high = (_filled(rounds[f"{what}_{name}"])[every].tolist() for what in ("low", "high"))
        share = share._replace(low=low, high=high)
    lines = {"share": share, "holdout": _line(x[[0, -1]], np.full(2, source))}
    label = (
        f"Line chart: the share of {name} over {len(x):,} rounds, {source:.1%} in the holdout, {prior[0]:.1%} in the "
        f"first round, {prior[-1]:.1%} in the last."
    )
    chart = figures.Chart(f"Share of {name}", "round", lines, flush=True, shares=True)
    return figures.chart_svg(chart, _STYLES, label=label, name=f"class-{place}")


def _evidence_figure(rounds: Any, limit: float) -> str:
    x = rounds["round"].to_numpy()
    starts = np.arange(0, len(x), -(-len(x) // _POINTS))
    evidence = np.maximum.reduceat(rounds["evidence"].to_numpy().astype(np.float64), starts)
    held = rounds["fallback"].to_numpy().astype(bool)
    spans = figures.spans(x[starts], np.logical_or.reduceat(held, starts))
    label = f"Line chart: the evidence, on a logarithmic axis. The correction was reduced in {held.mean():.0%} of the "
    lines = {"evidence": _line(x[starts], evidence)}
    chart = figures.Chart(
        "Evidence against label shift (shaded: correction reduced)",
        "round",
        lines,
        spans=spans,
        flush=True,
        log_y=True,
        limit=limit,
    )
    return figures.chart_svg(chart, _STYLES, label=f"{label}rounds.", name="evidence")


def _filled(values: Any) -> FloatArray:
    return np.asarray(values.fill_null(strategy="forward").to_numpy(), dtype=np.float64)


def _line(x: FloatArray, y: FloatArray) -> figures.Line:
    return figures.Line(x.tolist(), y.tolist())
