"""Figures as SVG for a page: their colours are the page's, so that they follow it into the dark.

The one module that imports matplotlib.
"""

import io
import re
import warnings
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baserate.files.errors import printable
from baserate.files.moments import Calendar, Moment
from baserate.reports.page import LIGHT

try:
    import matplotlib as mpl
    import matplotlib.dates
    import matplotlib.style
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    if error.name is None or not error.name.startswith("matplotlib"):
        raise
    raise ModuleNotFoundError(
        'matplotlib is not installed; figures need it: pip install "baserate[plot]"', name=error.name
    ) from error

Lines = Mapping[str, NDArray[Any]]

_DASHES = ((), (5.0, 2.0), (1.5, 1.5), (6.0, 1.5, 1.5, 1.5))
_DAY = 86_400.0
_MARKED = 12  # points of a line that are marked one by one
_POINTS = 500  # per line; more would only make the page heavier
STYLE = {
    "axes.edgecolor": LIGHT["rule"],
    "axes.grid": True,
    "axes.labelcolor": LIGHT["ink"],
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "font.size": 11.0,
    "grid.color": LIGHT["rule"],
    "grid.linewidth": 0.6,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "baserate",  # the same figure, the same bytes
    "text.color": LIGHT["ink"],
    "xtick.color": LIGHT["ink"],
    "ytick.color": LIGHT["ink"],
}


class LineStyle(NamedTuple):
    """The style of a line: a colour of the palette, and dashes when colours run out."""

    colour: str
    dashes: tuple[float, ...]


def line_styles(methods: list[str]) -> dict[str, LineStyle]:
    """A style of its own for each method."""
    colours = [name for name in LIGHT if name.startswith("line")]
    return {
        method: LineStyle(colours[i % len(colours)], _DASHES[i // len(colours) % len(_DASHES)])
        for i, method in enumerate(methods)
    }


def mix_figure(truth: NDArray[Any], tracked: Lines, styles: Mapping[str, LineStyle], *, label: str, name: str) -> str:
    """The true share of a class and what each method took it for: over the whole run, and its end enlarged.

    Parameters
    ----------
    truth : (T,) array
        The true share in each round.
    tracked : mapping of str to (T,) array
        The share that each method used.
    styles : mapping of str to LineStyle
        From `line_styles`.
    label : str
        A description of the figure, for those who cannot see it.
    name : str
        Unique among the figures of a page.
    """
    n_rounds = len(truth)
    end = max(n_rounds - 4 * int(np.sqrt(n_rounds)), 0)
    with mpl.style.context(["default", STYLE]):
        figure = Figure(figsize=(5.6, 4.6), layout="constrained")
        whole, zoom = figure.subplots(2, 1, gridspec_kw={"hspace": 0.12})
        for axes, start in ((whole, 0), (zoom, end)):
            _draw(axes, start, {"": truth[start:]}, {"": LineStyle("truth", ())}, width=5.0)
            _draw(axes, start, {method: line[start:] for method, line in tracked.items()}, styles, faint=start == 0)
            axes.set_ylim(-0.03, 1.03)
            axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
        whole.set_title("Share of the moving class, all rounds")
        zoom.set_title(f"The last {n_rounds - end} rounds, enlarged")
        zoom.set_xlabel("round")
        return _svg(figure, label, name)


def saved_figure(saved: Lines, styles: Mapping[str, LineStyle], *, label: str, name: str) -> str:
    """Mistakes avoided so far by each method; parameters as in `mix_figure`."""
    with mpl.style.context(["default", STYLE]):
        figure = Figure(figsize=(5.6, 4.6), layout="constrained")
        axes = figure.subplots()
        axes.axhline(0.0, color=LIGHT["truth"], linewidth=2.0)
        _draw(axes, 0, saved, styles, width=1.8)
        axes.set_ylim(bottom=max(axes.get_ylim()[0], lower_edge(saved)))
        axes.set_title("Mistakes avoided so far (higher is better)")
        axes.set_xlabel("round")
        return _svg(figure, label, name)


def lower_edge(saved: Lines) -> float:
    """The lower edge of `saved_figure`: a method that ruins everything must not press the others into one line."""
    highest = max(float(line.max()) for line in saved.values())
    return -0.75 * highest if highest > 0 else -np.inf


class Line(NamedTuple):
    """Points from left to right, and how far each may be off: alike on both sides, or between limits."""

    x: Sequence[float]
    y: Sequence[float]
    spread: Sequence[float] = ()
    low: Sequence[float] = ()
    high: Sequence[float] = ()


class Chart(NamedTuple):
    """Lines over a common axis.

    Attributes
    ----------
    title, x_label : str
        The title, and the label of the horizontal axis.
    lines : mapping of str to Line
        Each with a band of one spread above and below, or between its limits.
    dots : mapping of str to Line
        Values to compare them with, drawn as crosses of the same colours.
    ticks : sequence of float
        The numbers on the horizontal axis, if not round ones.
    log_x : bool
        True if the horizontal axis is logarithmic.
    flush : bool
        True if lines reach both edges, so that charts below each other are in step.
    stacked : bool
        True if the lines are shares, to be put on top of each other.
    shares : bool
        True if the vertical axis is in percent, from 0 to 100.
    log_y : bool
        True if the vertical axis is logarithmic.
    limit : float, optional
        The height of a dashed line across.
    spans : sequence of (float, float)
        Parts of the horizontal axis that are shaded.
    alarms : sequence of (float, float)
        Parts of it that are shaded in the colour of an alarm, and say so.
    dates : bool
        True if the horizontal axis is in seconds since 1970, and shows dates.
    top : float, optional
        The upper end of the vertical axis in percent, for shares that are far from 100 %.
    """

    title: str
    x_label: str
    lines: Mapping[str, Line]
    dots: Mapping[str, Line] = {}
    ticks: Sequence[float] = ()
    log_x: bool = False
    flush: bool = False
    stacked: bool = False
    shares: bool = False
    log_y: bool = False
    limit: float | None = None
    spans: Sequence[tuple[float, float]] = ()
    alarms: Sequence[tuple[float, float]] = ()
    dates: bool = False
    top: float | None = None


def spans(x: NDArray[Any], held: NDArray[np.bool_]) -> list[tuple[float, float]]:
    """From when to when something held, to be shaded."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], held, [False]]).astype(int)))
    return [(float(x[a]), float(x[b - 1])) for a, b in zip(edges[::2], edges[1::2], strict=True)]


class AreaStyle(NamedTuple):
    """The style of a filled share: a colour of the palette, and paler when colours run out."""

    colour: str
    opacity: float


Styles = Mapping[str, LineStyle | AreaStyle]


def area_styles(names: Sequence[str]) -> dict[str, AreaStyle]:
    """A filling for each share; there are fifteen, then they begin again."""
    colours = [name for name in LIGHT if name.startswith("line")]
    return {
        name: AreaStyle(colours[i % len(colours)], (0.9, 0.5, 0.22)[i // len(colours) % 3])
        for i, name in enumerate(names)
    }


def chart_svg(chart: Chart, styles: Styles, *, label: str, name: str, height: float = 3.4) -> str:
    """A chart for a page, 5.6 inches wide; `label` and `name` as in `mix_figure`."""
    with mpl.style.context(["default", STYLE]):
        figure = Figure(figsize=(5.6, height), layout="constrained")
        draw_chart(figure.subplots(), chart, styles)
        return _svg(figure, label, name)


def charts_svg(charts: Sequence[Chart], styles: Styles, *, label: str, name: str, heights: Sequence[float]) -> str:
    """Charts above each other in one figure, so many inches high each; the rest as in `chart_svg`."""
    with mpl.style.context(["default", STYLE]):
        figure = Figure(figsize=(5.6, sum(heights)), layout="constrained")
        parts = figure.subplots(len(charts), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
        for axes, chart in zip(parts[:, 0], charts, strict=True):
            draw_chart(axes, chart, styles)
        return _svg(figure, label, name)


def area_entry(name: str, style: AreaStyle) -> str:
    """A filling and its name, as an item of a list."""
    filled = f"fill: var(--{style.colour}); fill-opacity: {style.opacity}"
    picture = f'<svg viewBox="0 0 40 14" aria-hidden="true"><path d="M0 0H40V14H0z" style="{filled}"/></svg>'
    return f"<li>{picture}{escape(name)}</li>"


def draw_chart(axes: Axes, chart: Chart, styles: Styles) -> None:
    """Draw a chart into axes of matplotlib, within the context of `STYLE`."""
    floor: NDArray[Any] | float = 0.0
    for name, line in chart.lines.items():
        x, y, style = np.asarray(line.x, dtype=float), np.asarray(line.y, dtype=float), styles[name]
        if isinstance(style, AreaStyle):
            axes.fill_between(x, floor, floor + y, color=LIGHT[style.colour], alpha=style.opacity, linewidth=0)
            floor = floor + y
            continue
        drawn: dict[str, Any] = {"linestyle": (0.0, style.dashes) if style.dashes else "-"}
        drawn |= {"marker": "o", "markersize": 4} if len(x) <= _MARKED else {}
        axes.plot(x, y, color=LIGHT[style.colour], linewidth=1.8, **drawn)
        if len(line.spread):
            spread = np.asarray(line.spread, dtype=float)
            axes.fill_between(x, y - spread, y + spread, color=LIGHT[style.colour], alpha=0.13, linewidth=0)
        if len(line.low):
            axes.fill_between(x, line.low, line.high, color=LIGHT[style.colour], alpha=0.2, linewidth=0)
    for name, line in chart.dots.items():
        axes.plot(line.x, line.y, linestyle="", marker="x", markersize=7, color=LIGHT[styles[name].colour])
    if chart.log_x:
        axes.set_xscale("log")
        axes.set_xticks([], minor=True)
    if chart.ticks:
        axes.set_xticks(chart.ticks, [f"{tick:,g}" for tick in chart.ticks])
    if chart.flush:
        axes.margins(x=0)
    for first, last in chart.spans:
        axes.axvspan(first, last, color=LIGHT["rule"], alpha=0.6, linewidth=0)
    if chart.limit is not None:
        axes.axhline(chart.limit, color=LIGHT["ink"], linewidth=1.0, linestyle=(0.0, (4.0, 3.0)))
    if chart.log_y:
        axes.set_yscale("log")
    if chart.stacked or chart.shares:
        axes.set_ylim(0.0, chart.top or 1.0)
        axes.yaxis.set_major_formatter(lambda share, _: f"{round(100 * share, 9):g} %")
    if chart.alarms and chart.log_y:
        axes.set_ylim(top=100.0 * axes.get_ylim()[1])  # room for the word
    _draw_alarms(axes, chart.alarms)
    if chart.dates:
        _show_dates(axes)
    axes.set_title(_verbatim(chart.title))
    axes.set_xlabel(_verbatim(chart.x_label))


def _draw_alarms(axes: Axes, alarms: Sequence[tuple[float, float]]) -> None:
    for first, last in alarms:
        axes.axvspan(first, last, color=LIGHT["alarm"], alpha=0.13, linewidth=0)
        axes.axvline(first, color=LIGHT["alarm"], linewidth=1.5)
    if alarms:
        left, right = axes.get_xlim()
        late = alarms[0][0] > left + 0.8 * (right - left)
        axes.annotate(
            "▲ alarm",  # in words, too, for those who do not see the colour
            (alarms[0][0], 0.98),
            (-4 if late else 4, 0),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="right" if late else "left",
            va="top",
            color=LIGHT["alarm"],
            weight="bold",
        )


def _show_dates(axes: Axes) -> None:
    """Label an axis in seconds since 1970 with dates."""
    left, right = axes.get_xlim()
    typeless: Any = mpl.dates
    ends = (typeless.num2date(end / _DAY) for end in (left, right))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a span of nearly three days, which has one tick too many
        found = typeless.AutoDateLocator(minticks=3, maxticks=6).tick_values(*ends)
    ticks = [tick for tick in (_DAY * np.asarray(found)).tolist() if left <= tick <= right]
    calendar = Calendar(left, right)
    axes.set_xticks(ticks, [calendar.short(Moment(0, tick)) for tick in ticks])


def scale_top(values: NDArray[Any], band: NDArray[Any] | None = None) -> float:
    """The upper end of an axis of shares that starts at 0: room for all values, and for a band unless it is very wide.

    Examples
    --------
    >>> round(scale_top(np.array([0.008, 0.1])), 3)
    0.115
    """
    highest = float(np.nanmax(values))
    if band is not None:
        highest = max(highest, min(float(np.nanmax(band)), 1.5 * highest))
    return min(1.15 * highest, 1.0) or 1.0


def legend_entry(name: str, style: LineStyle) -> str:
    """A line as it is drawn, and its name, as an item of a list."""
    width = 5 if style.colour == "truth" else 2.5
    dashes = " ".join(f"{2.5 * dash}" for dash in style.dashes) or "none"
    drawn = f"stroke: var(--{style.colour}); stroke-width: {width}; stroke-dasharray: {dashes}"
    picture = f'<svg viewBox="0 0 40 10" aria-hidden="true"><path d="M0 5H40" style="{drawn}"/></svg>'
    return f"<li>{picture}{escape(name)}</li>"


def _draw(
    axes: Axes, start: int, lines: Lines, styles: Mapping[str, LineStyle], *, width: float = 1.2, faint: bool = False
) -> None:
    """Draw lines that begin at round `start`, the restless ones at the back, and fainter if asked."""
    for method in sorted(lines, key=lambda method: _restlessness(lines[method]), reverse=True):
        colour, dashes = styles[method]
        every = slice(None, None, -(-len(lines[method]) // _POINTS))
        rounds = np.arange(start + 1, start + 1 + len(lines[method]))
        style = (0.0, dashes) if dashes else "-"
        axes.plot(
            rounds[every],
            lines[method][every],
            color=LIGHT[colour],
            linewidth=width,
            linestyle=style,
            alpha=0.45 if faint and _restlessness(lines[method]) > 0.05 else 1.0,
        )


def _restlessness(line: NDArray[Any]) -> float:
    return float(np.abs(np.diff(line, prepend=line[:1])).mean())


def _verbatim(text: str) -> str:
    """A text that matplotlib shows as it is: between two dollars, it would read a formula."""
    return printable(text).replace("$", r"\$")


def _svg(figure: Figure, label: str, name: str) -> str:
    """The figure as an element to put into a page."""
    buffer = io.StringIO()
    with warnings.catch_warnings():
        # Text stays text, and browsers have fonts for it; only its width is a guess.
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    drawing = buffer.getvalue().partition("<svg ")[2]
    box = re.search(r'viewBox="[^"]*"', drawing)
    assert box is not None
    # Not kept: size and name spaces (the page has its own), and rules that would apply to the whole page.
    svg = drawing.partition(">")[2]
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"(\.\d\d)\d+", r"\1", svg)
    # Identifiers are unique within a figure, but must be so within the page.
    svg = re.sub(r'(?<= id=")|(?<=url\(#)|(?<=href="#)', f"{name}-", svg)
    for colour, value in LIGHT.items():
        svg = svg.replace(value, f"var(--{colour})")
    return f'<svg {box[0]} role="img" aria-label="{escape(label)}">{svg}'
