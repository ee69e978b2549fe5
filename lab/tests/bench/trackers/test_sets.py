"""The sets of the trackers' benchmark, and holdouts of them."""

import numpy as np

from baserate_lab.bench.trackers import cells, sets


def test_every_set_has_enough_samples_for_the_largest_rounds():
    assert np.bincount(sets.load("digits").y).min() >= max(cells.SIZES)


def test_a_small_holdout_is_drawn_by_the_seed():
    one, two = (sets.holdout("digits", 200, "", seed) for seed in (0, 1))
    assert len(one.y) == len(two.y) == 200
    assert not np.array_equal(one.y, two.y)
    assert sets.holdout("digits", 0, "", 0) is sets.holdout("digits", 0, "", 1)
