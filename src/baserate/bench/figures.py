"""Figures as SVG for a page: their colours are the page's, so that they follow it into the dark.

The one module that imports matplotlib.
"""

import io
import os
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

try:
    import matplotlib as mpl
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

LIGHT = {"ink": "#1d232b", "rule": "#d9dde2", "truth": "#a3a9b1"}
DARK = {"ink": "#e4e7eb", "rule": "#3a414b", "truth": "#7d8590"}
# Okabe and Ito's colours, which the colour-blind can tell apart, made darker for paper and lighter for the dark.
LIGHT |= {"line0": "#0072b2", "line1": "#c65100", "line2": "#00875f", "line3": "#a8447f", "line4": "#8a6d00"}
DARK |= {"line0": "#56b4e9", "line1": "#ff8f4d", "line2": "#2fc79d", "line3": "#e79bc8", "line4": "#e3c02c"}
_DASHES = ((), (5.0, 2.0), (1.5, 1.5), (6.0, 1.5, 1.5, 1.5))
_POINTS = 500  # per line; more would only make the page heavier
_STYLE = {
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
    """How a method is drawn, everywhere: a colour of the palette, and dashes when colours run out."""

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
        What is shown, for those who cannot see it.
    name : str
        Unique among the figures of a page.
    """
    n_rounds = len(truth)
    end = max(n_rounds - 4 * int(np.sqrt(n_rounds)), 0)
    with mpl.style.context(["default", _STYLE]):
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
    with mpl.style.context(["default", _STYLE]):
        figure = Figure(figsize=(5.6, 4.6), layout="constrained")
        axes = figure.subplots()
        axes.axhline(0.0, color=LIGHT["truth"], linewidth=2.0)
        _draw(axes, 0, saved, styles, width=1.8)
        axes.set_ylim(bottom=max(axes.get_ylim()[0], lower_edge(saved)))
        axes.set_title("Mistakes avoided so far (higher is better)")
        axes.set_xlabel("round")
        return _svg(figure, label, name)


def lower_edge(saved: Lines) -> float:
    """Where `saved_figure` ends below: a method that ruins everything must not press the others into one line."""
    highest = max(float(line.max()) for line in saved.values())
    return -0.75 * highest if highest > 0 else -np.inf


class Panel(NamedTuple):
    """Lines over the same points on logarithmic axes, and theory to compare them with."""

    title: str
    x: NDArray[Any]
    lines: Lines
    theory: Lines


def save_panels(panels: Sequence[Panel], path: str | os.PathLike[str]) -> None:
    """Draw panels side by side, with one legend for all, into a file whose ending says in which format."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    styles = line_styles(names)
    drawn: dict[str, Any] = {}
    with mpl.style.context(["default", _STYLE]):
        n_rows = -(-len(panels) // 3)
        figure = Figure(figsize=(13.0, 4.0 * n_rows + 1.0), layout="constrained")
        grid = figure.subplots(n_rows, min(len(panels), 3), squeeze=False)
        for axes, panel in zip(grid.flat, panels, strict=False):
            for name, values in panel.theory.items():
                (drawn[name],) = axes.loglog(panel.x, values, color=LIGHT["truth"], linewidth=5.0)
            for name, values in panel.lines.items():
                colour, dashes = styles[name]
                style = (0.0, dashes) if dashes else "-"
                (drawn[name],) = axes.loglog(panel.x, values, color=LIGHT[colour], linestyle=style, marker=".")
            axes.set_title(panel.title)
            axes.set_xlabel("rounds T")
            axes.set_xticks(panel.x[::2], [f"{x:,}" for x in panel.x[::2]])
            axes.set_xticks([], minor=True)
        for axes in list(grid.flat)[len(panels) :]:
            axes.set_visible(False)
        figure.legend(list(drawn.values()), list(drawn), loc="outside lower center", ncols=5, frameon=False)
        figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None, facecolor="white")


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


def _svg(figure: Figure, label: str, name: str) -> str:
    """The figure as an element to put into a page."""
    buffer = io.StringIO()
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
