"""A file with a tracker that has moved."""

import numpy as np
import pytest

from baserate import save
from baserate.trackers import FLHFTL


@pytest.fixture
def file(tmp_path):
    tracker = FLHFTL(3)
    for z in np.random.default_rng(0).dirichlet(np.ones(3), size=20):
        tracker.update(z)
    save(tracker, tmp_path / "tracker.baserate")
    return tmp_path / "tracker.baserate"
