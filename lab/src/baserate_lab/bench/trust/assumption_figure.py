"""Figure of the delay of `AssumptionCheck` against the size of the violation."""

import os
from collections.abc import Mapping, Sequence

import numpy as np

from baserate.reports.figures import Chart, Line, LineStyle, line_styles
from baserate_lab.bench.figures import save_charts

Delays = Mapping[str, Mapping[str, Mapping[float, Sequence[float]]]]
"""Rounds until the alarm of each run (infinite without an alarm), by kind of violation, data and size."""

_DASHES = (4.0, 2.0)


def quantile(rounds: Sequence[float], share: float) -> float:
    """The round by which at least this share of the runs had an alarm."""
    ordered = sorted(rounds)
    return float(ordered[int(np.ceil(share * len(ordered))) - 1])


def save_delays(delays: Delays, path: str | os.PathLike[str], longest: int, soon: int) -> None:
    """Draw the rounds until an alarm, and mark `soon`; lines end where no alarm comes within `longest` rounds."""
    charts = []
    colours = line_styles(list(dict.fromkeys(name for by_name in delays.values() for name in by_name)))
    styles = dict(colours) | {f"{name} 90 %": LineStyle(style.colour, _DASHES) for name, style in colours.items()}
    for kind, by_name in delays.items():
        lines = {}
        for name, by_size in by_name.items():
            for share, line in ((0.5, name), (0.9, f"{name} 90 %")):
                reached = {size: quantile(rounds, share) for size, rounds in by_size.items()}
                seen = {size: delay for size, delay in reached.items() if delay <= longest}
                lines[line] = Line(list(seen), list(seen.values()))
        sizes = sorted({size for by_size in by_name.values() for size in by_size})
        title = "Rounds until the alarm: median, 90 %"
        charts.append(Chart(title, kind, lines, ticks=sizes, log_x=True, limit=soon))
    save_charts(charts, styles, path)
