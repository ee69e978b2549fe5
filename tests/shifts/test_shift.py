"""What shifts between two mixes share: their ends may be chosen."""

import numpy as np
import pytest

from baserate.shifts import Adversary, Bernoulli, Constant, Monotone, RandomWalk, Sinusoidal, Square
from baserate.state import dumps, loads

from .two_ends import K


def test_the_ends_may_be_chosen():
    first, second = [0.7, 0.1, 0.1, 0.1], [0.0, 0.0, 0.5, 0.5]
    for shift in (Monotone, Square, Sinusoidal, Bernoulli):
        path = shift(first=first, second=second).path(100, K, 0)
        np.testing.assert_allclose(path[0], first)
        alpha = (path[:, 0] - 0.7) / -0.7
        np.testing.assert_allclose(path, np.outer(1 - alpha, first) + np.outer(alpha, second), atol=1e-12)
        assert alpha.max() > 0.9


@pytest.mark.parametrize("mix", [[0.2, 0.8], (1, 0), np.array([1, 0]), np.array([0.2, 0.8], dtype=np.float32), None])
def test_mixes_of_any_kind_are_saved(mix):
    for shift in (Constant(mix), Monotone(first=mix, second=[0.5, 0.5]), RandomWalk(start=mix), Square(first=mix)):
        twin = loads(dumps(shift))
        np.testing.assert_array_equal(twin.path(20, 2, 0), shift.path(20, 2, 0))


@pytest.mark.parametrize(
    "shift",
    [
        Constant("text"),
        Constant([0.5, 0.6]),
        Constant([[0.5, 0.5]]),
        RandomWalk(start=[-1.0, 2.0]),
        RandomWalk(scale=-1.0),
        Monotone(first=[0.5, 0.5], second=[0.2, 0.3, 0.5]),
        Bernoulli(flip=1.5),
        Square(length=0),
        Sinusoidal(length=1.5),
        Adversary(variation=-1.0),
        Adversary(variation=np.nan),
    ],
    ids=repr,
)
def test_what_is_no_shift_is_refused(shift):
    with pytest.raises(ValueError, match=f"holds {type(shift).__name__}|fit together: {type(shift).__name__} has"):
        loads(dumps(shift))
