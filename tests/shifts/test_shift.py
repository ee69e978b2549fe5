"""What shifts between two mixes share: their ends may be chosen."""

import numpy as np

from baserate.shifts import Bernoulli, Monotone, Sinusoidal, Square

from .two_ends import K


def test_the_ends_may_be_chosen():
    first, second = [0.7, 0.1, 0.1, 0.1], [0.0, 0.0, 0.5, 0.5]
    for shift in (Monotone, Square, Sinusoidal, Bernoulli):
        path = shift(first=first, second=second).path(100, K, 0)
        np.testing.assert_allclose(path[0], first)
        alpha = (path[:, 0] - 0.7) / -0.7
        np.testing.assert_allclose(path, np.outer(1 - alpha, first) + np.outer(alpha, second), atol=1e-12)
        assert alpha.max() > 0.9
