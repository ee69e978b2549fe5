import numpy as np
import pytest

from baserate.files.output import by_class


@pytest.mark.parametrize(("n", "k"), [(1, 2), (5000, 3), (9000, 40)])
def test_the_most_probable_class_is_the_first_of_equals(n, k):
    proba = np.random.default_rng(n).integers(0, 5, (n, k)).astype(float)
    turned, labels = by_class(proba)
    np.testing.assert_array_equal(turned, proba.T)
    assert turned.flags.c_contiguous
    np.testing.assert_array_equal(labels, proba.argmax(axis=1))
