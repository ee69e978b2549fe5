"""Samples in a random order that is always the same."""

import numpy as np

from baserate_lab.datasets._mixing import mixed


def test_mixing_keeps_pairs_together_and_is_always_the_same():
    X, y = np.arange(100.0)[:, None], np.repeat(np.arange(10, dtype=np.uint8), 10)
    once, again = mixed(X, y), mixed(X, y)
    np.testing.assert_array_equal(once[0][:, 0] // 10, once[1])
    assert once[1].dtype == np.int64
    np.testing.assert_array_equal(once[0], again[0])
    assert sorted(once[0][:, 0]) == list(range(100))
    assert len(set(once[1][:10])) > 3
