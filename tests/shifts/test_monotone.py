"""Monotone against its formula."""

import numpy as np

from baserate.shifts import Monotone

from .two_ends import K, T, mix


def test_monotone():
    path = Monotone().path(T, K)
    for t in (0, 1, 500, 999):
        np.testing.assert_allclose(path[t], mix(t / T))
