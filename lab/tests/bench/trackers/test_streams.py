"""The streams of the trackers' benchmark: shared by methods, and not by seeds."""

import numpy as np

from baserate_lab.bench.trackers import cells, running, sets, streams
from baserate_lab.bench.trackers.cells import TrackingCell

from .short_streams import ROUNDS, forget


def test_methods_share_streams_and_seeds_do_not():
    one, two = (streams.stream("digits", "Square drawn", 10, seed, "", ROUNDS) for seed in (0, 1))
    assert np.abs(one.path - two.path).max() > 0.05
    forget()
    again = streams.stream("digits", "Square drawn", 10, 0, "", ROUNDS)
    distorted = streams.stream("digits", "Square drawn", 10, 0, "too sure", ROUNDS)
    for a, b, c in zip(one.batches, again.batches, distorted.batches, strict=True):
        assert np.array_equal(a.rows, b.rows)
        assert np.array_equal(a.rows, c.rows)
        assert np.array_equal(a.proba, b.proba)
        assert (c.proba.max(axis=1) >= a.proba.max(axis=1)).all()  # surer
        assert np.array_equal(c.proba.argmax(axis=1), a.proba.argmax(axis=1))
    told = running.run_tracking(TrackingCell(cells.ORACLE, 0, "digits", "Square drawn", 10, rounds=ROUNDS))
    assert told.mse == 0.0


def test_no_shift_is_the_mix_of_the_holdout():
    pool = sets.load("digits")
    still = streams.stream("digits", streams.STILL, 10, 0, "", ROUNDS)
    np.testing.assert_allclose(still.path, np.tile(np.bincount(pool.holdout_y) / len(pool.holdout_y), (ROUNDS, 1)))
