"""What every data set has: all of its classes on both sides, and always the same samples."""

import numpy as np
import pytest

from baserate.datasets import digits, synthetic


@pytest.mark.parametrize("load", [digits.load, synthetic.load], ids=["digits", "synthetic"])
def test_a_data_set_has_every_class_and_is_always_the_same(load):
    data, again = load(), load()
    for y in (data.source_y, data.target_y):
        assert set(np.unique(y)) == set(range(len(data.class_names)))
    assert all(np.array_equal(a, b) for a, b in zip(data[:4], again[:4], strict=True))
    assert (data.in_time_order, data.stand_in_for) == (False, None)
