"""How soon `AssumptionCheck` sees what, as a figure: delay against the size of the violation."""

import os
from collections.abc import Mapping, Sequence

import numpy as np

from baserate.bench.figures import Chart, Line, line_styles, save_charts

Delays = Mapping[str, Mapping[str, Mapping[float, Sequence[float]]]]
"""By kind of violation, model, and size: rounds until the alarm of each run, infinite where there was none."""

_QUANTILES = {"median": 0.5, "90 % of runs": 0.9}


def quantile(rounds: Sequence[float], share: float) -> float:
    """The round by which this share of the runs, at least, has had its alarm."""
    ordered = sorted(rounds)
    return float(ordered[int(np.ceil(share * len(ordered))) - 1])


def save_delays(delays: Delays, path: str | os.PathLike[str], longest: int) -> None:
    """Draw the rounds until an alarm; a line ends where that is not within the `longest` stream tried."""
    charts = []
    for kind, models in delays.items():
        lines = {}
        for model, by_size in models.items():
            for name, share in _QUANTILES.items():
                reached = {size: quantile(rounds, share) for size, rounds in by_size.items()}
                seen = {size: delay for size, delay in reached.items() if delay <= longest}
                lines[f"{model}, {name}"] = Line(list(seen), list(seen.values()))
        sizes = sorted({size for by_size in models.values() for size in by_size})
        charts.append(Chart("Rounds until the alarm", kind, lines, ticks=sizes, log_x=True))
    names = list(dict.fromkeys(name for chart in charts for name in chart.lines))
    save_charts(charts, line_styles(names), path)
