"""The paths of the measured problems."""

import numpy as np
import pytest

from baserate_lab.paper.supervised import problems


def test_paths_keep_something_of_every_class():
    for name, make in problems.PATHS.items():
        path = make(256, 10)
        assert path.shape == (256, 10), name
        assert path.min() == pytest.approx(0.02, abs=0.001)  # of a ramp, the end is not reached
        np.testing.assert_allclose(path.sum(axis=1), 1)
        np.testing.assert_allclose(path[0], 0.1, atol=0.01)
