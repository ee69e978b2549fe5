"""The split of the source: stratified, in order, at random."""

from itertools import pairwise

import numpy as np

from baserate_lab.models._split import split


def test_the_split_is_stratified_and_in_order():
    y = np.repeat([0, 1, 2, 3], [100, 50, 5, 1])
    rows, held = split(y, 0)
    assert sorted([*rows, *held]) == list(range(156))
    assert (np.diff(rows) > 0).all()
    assert (np.diff(held) > 0).all()
    np.testing.assert_array_equal(np.bincount(y[held], minlength=4), [20, 10, 1, 0])
    assert split(y, 0)[1].tolist() == held.tolist() != split(y, 1)[1].tolist()


def test_the_split_is_drawn_at_random():
    helds = [split(np.zeros(1000, dtype=int), seed)[1] for seed in range(3)]
    for held in helds:
        assert 0.1 < (np.diff(held) == 1).mean() < 0.3  # a fifth of all rows follows a held one
    for one, other in pairwise(helds):
        assert 20 < len(np.intersect1d(one, other)) < 60  # 40 in the mean
