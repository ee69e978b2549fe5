"""Figure of the MSE over the rows since the change."""

import os
from typing import Any

import numpy as np

from baserate.reports.page import LIGHT as COLOURS
from baserate_lab.bench.efficiency.after_change import DRAWN_MARKS, START
from baserate_lab.bench.efficiency.after_change_tables import curves
from baserate_lab.bench.efficiency.cells import DEFAULT, LIGHT, ML, Results
from baserate_lab.bench.efficiency.score_models import CASES

_STYLES = {LIGHT: COLOURS["line1"], DEFAULT: COLOURS["line0"], ML: COLOURS["truth"]}


def draw_curves(kept: Results, path: str | os.PathLike[str], *, n: int = 100) -> None:
    """Draw one panel per case, into a file whose suffix sets the format."""
    from baserate_lab.bench.figures import figure_file

    drawn: dict[str, Any] = {}
    with figure_file(path, (13.0, 7.2)) as figure:
        for i, (axes, case) in enumerate(zip(figure.subplots(2, 3).flat, CASES, strict=True)):
            for method, line in curves(kept, (case, START, n)).items():
                values, errors = np.array([at.value for at in line]), np.nan_to_num([at.error for at in line])
                drawn[method] = axes.errorbar(
                    DRAWN_MARKS, values, yerr=errors, color=_STYLES[method], linewidth=3.0 if method == ML else 1.8
                )
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xticks([100, 1_000, 10_000], ["100", "1,000", "10,000"])
            axes.set_xticks([], minor=True)
            axes.set_title(case)
            if i >= 3:
                axes.set_xlabel("rows since the change")
            if i % 3 == 0:
                axes.set_ylabel("MSE")
        figure.suptitle(f"MSE of the tracked mix, rounds of {n} rows, change at the start", fontsize="medium")
        if drawn:
            figure.legend(list(drawn.values()), list(drawn), loc="outside lower center", ncols=3, frameon=False)
