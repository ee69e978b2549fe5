"""Runs of cells without data: time and memory of a tracker."""

import time

import numpy as np

from baserate.protocols import Tracker
from baserate.state import dumps
from baserate.trackers import FLHFTL, Aligator, Arrows
from baserate_lab.paper.runs.cells import PaperCell, PaperResult

NOTHING = ""
TRACKERS = {"FLH-FTL": FLHFTL, "Aligator": Aligator, "Arrows": Arrows}
N_CLASSES = 10


def run_growth(cell: PaperCell) -> PaperResult:
    """Run a tracker on noisy estimates of a constant mix."""
    rng = np.random.default_rng(cell.seed)
    estimates = rng.dirichlet(np.ones(N_CLASSES), size=cell.n_rounds)
    tracker: Tracker = TRACKERS[cell.method](N_CLASSES)
    tracker.update(estimates[0])  # compile before timing
    tracker.reset()
    started = time.perf_counter()
    for estimate in estimates:
        tracker.predict()
        tracker.update(estimate)
    seconds = time.perf_counter() - started
    return PaperResult(None, None, None, seconds, len(dumps(tracker)))
