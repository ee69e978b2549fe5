"""Square against its formula."""

import numpy as np

from baserate.shifts import Square

from .two_ends import K, T, mix


def test_square_switches_every_31_rounds_and_starts_uniform():
    path = Square().path(T, K)
    for t in range(T):
        np.testing.assert_array_equal(path[t], mix(float(t // 31 % 2)))
