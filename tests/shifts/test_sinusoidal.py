"""Sinusoidal against its formula."""

import numpy as np

from baserate.shifts import Sinusoidal

from .two_ends import K, T, mix


def test_sinusoidal_has_half_waves_of_31_rounds():
    path = Sinusoidal().path(T, K)
    for t in range(T):
        np.testing.assert_allclose(path[t], mix(np.sin(np.pi * (t % 31) / 31)), atol=1e-15)
