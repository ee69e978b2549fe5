"""A run of the trackers' benchmark in which all is well."""

from baserate_lab.bench.trackers import cells
from baserate_lab.bench.trackers.cells import (
    BASE,
    CALIBRATED,
    CAUSAL,
    HISTORY,
    ORACLE,
    START,
    TABLES,
    TOLD,
    TRANSDUCTIVE,
    WINDOW,
    TrackingResult,
)

# A run in which all is well.
MADE_UP = {
    BASE: TrackingResult(1.0, 0.10),
    CALIBRATED: TrackingResult(1.0, 0.09),
    START: TrackingResult(0.40, 0.08),
    WINDOW: TrackingResult(0.30, 0.075),
    HISTORY: TrackingResult(0.50, 0.09),
    CAUSAL: TrackingResult(0.10, 0.07),
    TRANSDUCTIVE: TrackingResult(0.05, 0.069),
    TOLD: TrackingResult(0.05, 0.069),
    ORACLE: TrackingResult(0.0, 0.068),
}


def everything(n_seeds=2):
    kept = {cell: MADE_UP[cell.method] for cell in cells.cells(TABLES, n_seeds)}
    single = {cell: MADE_UP[CAUSAL] for cell in kept if cell.n == 1 and cell.method == TRANSDUCTIVE}
    return kept | single
