"""A cell without data: what a tracker costs."""

import time

import numpy as np

from baserate.protocols import Tracker
from baserate.state import dumps
from baserate.trackers import FLHFTL, Aligator, Arrows
from baserate_lab.paper.runs.cells import Cell, Result

NOTHING = ""
TRACKERS = {"FLH-FTL": FLHFTL, "Aligator": Aligator, "Arrows": Arrows}
N_CLASSES = 10


def run(cell: Cell) -> Result:
    """Follow noisy sightings of a mix that stands still."""
    rng = np.random.default_rng(cell.seed)
    sightings = rng.dirichlet(np.ones(N_CLASSES), size=cell.n_rounds)
    tracker: Tracker = TRACKERS[cell.method](N_CLASSES)
    tracker.update(sightings[0])  # compiles what is not yet
    tracker.reset()
    started = time.perf_counter()
    for sighting in sightings:
        tracker.predict()
        tracker.update(sighting)
    seconds = time.perf_counter() - started
    return Result(None, None, None, seconds, len(dumps(tracker)))
