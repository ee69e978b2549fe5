"""Constant stands still."""

import numpy as np

from baserate.shifts import Constant

from .two_ends import UNIFORM, K


def test_constant():
    np.testing.assert_array_equal(Constant().path(3, K), np.tile(UNIFORM, (3, 1)))
