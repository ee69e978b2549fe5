"""Time and memory of trackers over many rounds."""

import numpy as np
import pytest

from baserate.state import dumps
from baserate.trackers import FLHFTL, Aligator, Arrows
from baserate_lab.paper.runs import growth
from baserate_lab.paper.runs.cells import PaperCell


def run(method, n_rounds, seed=0):
    return growth.run_growth(PaperCell("", "", "", 0, method, seed, n_rounds=n_rounds))


@pytest.mark.parametrize(("method", "kind"), [("FLH-FTL", FLHFTL), ("Aligator", Aligator), ("Arrows", Arrows)])
def test_the_size_is_that_of_the_tracker_after_all_rounds(method, kind):
    tracker = kind(10)
    for sighting in np.random.default_rng(3).dirichlet(np.ones(10), size=100):
        tracker.predict()
        tracker.update(sighting)
    found = run(method, 100, seed=3)
    assert found.bytes == len(dumps(tracker))
    assert found[:3] == (None, None, None)
    assert not any(found[5:])


def test_time_is_that_of_the_rounds(monkeypatch):
    ticks = iter([10.0, 12.5])
    monkeypatch.setattr(growth.time, "perf_counter", lambda: next(ticks))
    assert run("Arrows", 5).seconds == 2.5


def test_memory_grows_as_the_tracker_does():
    sizes = {method: [run(method, n).bytes for n in (100, 400)] for method in growth.TRACKERS}
    assert sizes["FLH-FTL"][1] > 3 * sizes["FLH-FTL"][0]
    assert sizes["Arrows"][1] < 1.2 * sizes["Arrows"][0]
