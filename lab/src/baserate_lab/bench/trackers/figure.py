"""Figure of the MSE as a share of that of the better FLH-FTL."""

import os
from typing import Any

import numpy as np

from baserate.reports.page import LIGHT
from baserate_lab.bench.trackers import cells
from baserate_lab.bench.trackers.bars import LARGE, VARIANTS
from baserate_lab.bench.trackers.cells import CAUSAL, TRANSDUCTIVE
from baserate_lab.bench.trackers.findings import Measured, TrackingResults, block
from baserate_lab.bench.trackers.sets import SETS

ALL = "all sets"
PANELS: dict[str, tuple[int, ...]] = {
    "1 sample a round": (1,),
    "10 samples a round": (10,),
    "100 samples a round": (100,),
    "10 and 100 together": LARGE,
}
BARS = {CAUSAL: {(1,): 0.82, LARGE: 0.38}, TRANSDUCTIVE: {LARGE: 0.22}}
"""Limits on the geometric mean over all sets, by method and samples per round."""

_STYLES = {CAUSAL: ("causal", LIGHT["line0"]), TRANSDUCTIVE: ("transductive", LIGHT["line1"])}


def shares(kept: TrackingResults) -> dict[tuple[str, tuple[int, ...], str], Measured]:
    """MSE as a share of that of the better FLH-FTL, by set (or all sets), samples per round and method."""
    mses = block(kept, cells.main(), "mse")
    found = {}
    for data in (*SETS, ALL):
        for sizes in PANELS.values():
            some = mses.where(lambda p, data=data, of=sizes: p.n in of and data in (p.data, ALL))  # type: ignore[misc]
            if some.problems:
                for method in _STYLES:
                    found[data, sizes, method] = some.geometric(method, VARIANTS)
    return found


def draw_shares(kept: TrackingResults, path: str | os.PathLike[str]) -> None:
    """Draw one row per set and one panel per batch size, into a file whose suffix sets the format."""
    from baserate_lab.bench.figures import figure_file

    found = shares(kept)
    rows = [data for data in (*SETS, ALL) if any(at[0] == data for at in found)]
    drawn: dict[str, Any] = {}
    with figure_file(path, (13.0, 4.6)) as figure:
        for axes, (title, sizes) in zip(figure.subplots(1, len(PANELS), sharey=True), PANELS.items(), strict=True):
            drawn["level with the better FLH-FTL"] = axes.axvline(1.0, color=LIGHT["truth"], linewidth=3.0)
            for i, (method, (name, colour)) in enumerate(_STYLES.items()):
                at = [
                    (row, found[data, sizes, method]) for row, data in enumerate(rows) if (data, sizes, method) in found
                ]
                drawn[name] = axes.errorbar(
                    [share.value for _, share in at],
                    [-row - 0.24 * i + 0.12 for row, _ in at],
                    xerr=[2 * np.nan_to_num(share.error) for _, share in at],  # NaN with a single seed
                    fmt="o",
                    color=colour,
                    markersize=6,
                    linewidth=1.8,
                )
                if sizes in BARS[method]:
                    drawn[f"bar for all sets, {name}"] = axes.axvline(
                        BARS[method][sizes], color=colour, linewidth=1.4, linestyle=(0.0, (4.0, 2.0))
                    )
            axes.set_xlim(0.0, 1.1)
            axes.set_yticks([-row for row in range(len(rows))], rows)
            axes.set_title(title)
        figure.suptitle("MSE as a share of that of the better FLH-FTL, ± two standard errors", fontsize="medium")
        figure.legend(list(drawn.values()), list(drawn), loc="outside lower center", ncols=len(drawn), frameon=False)
