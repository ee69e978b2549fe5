"""Figures of experiments, written to files. Only this module of the laboratory imports matplotlib."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import matplotlib as mpl
import matplotlib.style
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from baserate.reports.figures import STYLE, AreaStyle, Chart, Lines, LineStyle, Styles, draw_chart, line_styles
from baserate.reports.page import LIGHT


@contextmanager
def figure_file(path: str | os.PathLike[str], size: tuple[float, float]) -> Iterator[Figure]:
    """A figure in the house style to draw into. It is then written to `path`, whose suffix sets the format."""
    with mpl.style.context(["default", STYLE]):
        figure = Figure(figsize=size, layout="constrained")
        yield figure
        figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None, facecolor="white")


class Panel(NamedTuple):
    """Measured lines on logarithmic axes, with the lines of the theory to compare them with."""

    title: str
    x: NDArray[Any]
    lines: Lines
    theory: Lines


def save_panels(panels: Sequence[Panel], path: str | os.PathLike[str]) -> None:
    """Draw panels side by side with one legend, into a file whose suffix sets the format."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    styles = line_styles(names)
    drawn: dict[str, Any] = {}
    n_rows = -(-len(panels) // 3)
    with figure_file(path, (13.0, 4.0 * n_rows + 1.0)) as figure:
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


def save_charts(charts: Sequence[Chart], styles: Styles, path: str | os.PathLike[str], *, wide: bool = False) -> None:
    """Draw charts with one legend into a file whose suffix sets the format.

    Parameters
    ----------
    charts : sequence of Chart
        Up to three side by side, or one below another if `wide`.
    styles : mapping
        From `line_styles` and `area_styles`: the style of every line in every chart.
    path : path
        Such as ``name.png`` or ``name.svg``.
    wide : bool
        True: each chart takes the whole width.
    """
    n_columns = 1 if wide else 2 if len(charts) == 4 else min(len(charts), 3)
    n_rows = -(-len(charts) // n_columns)
    names = list(dict.fromkeys(name for chart in charts for name in [*chart.lines, *chart.dots]))
    size = (11.0, 2.6 * n_rows + 1.0) if wide else (4.4 * n_columns + 0.6, 3.5 * n_rows + 0.9)
    with figure_file(path, size) as figure:
        grid = list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
        for axes, chart in zip(grid, charts, strict=False):
            draw_chart(axes, chart, styles)
        for axes in grid[len(charts) :]:
            axes.set_visible(False)
        handles = [_handle(styles[name]) for name in names]
        figure.legend(handles, names, loc="outside lower center", ncols=6 if wide else 2 + 2 * n_columns, frameon=False)


def _handle(style: LineStyle | AreaStyle) -> Artist:
    if isinstance(style, AreaStyle):
        return Patch(facecolor=LIGHT[style.colour], alpha=style.opacity)
    return Line2D([], [], color=LIGHT[style.colour], linestyle=(0.0, style.dashes) if style.dashes else "-")
