import numpy as np
import pytest

from baserate.files.output import by_class


@pytest.mark.parametrize(("n", "k"), [(1, 2), (5000, 3), (4096, 40)])
def test_probabilities_are_turned(n, k):
    proba = np.random.default_rng(n).random((n, k))
    turned = by_class(proba)
    np.testing.assert_array_equal(turned, proba.T)
    assert turned.flags.c_contiguous
