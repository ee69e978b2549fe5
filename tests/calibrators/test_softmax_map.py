"""The floor under probabilities of zero."""

import numpy as np
import pytest

from baserate.calibrators import TemperatureScaling
from baserate.calibrators._softmax_map import floor_of

from .honest import softmax


@pytest.mark.parametrize(
    ("rows", "floor"),
    [
        ([[0.99, 0.01], [1.0, 0.0]], 0.005),  # a forest of 100 trees
        ([[0.5, 0.5], [1.0, 0.0]], 0.15),  # at most 0.3 / k
        ([[1.0, 1e-30], [1.0, 0.0]], 1e-12),  # a softmax that underflows
        ([[0.9, 0.1], [0.8, 0.2]], 1e-6),  # no zeros: small values are meant
        ([[0.9, 0.1], [1.0, 1e-8]], 5e-9),
    ],
)
def test_floor(rows, floor):
    fitted = TemperatureScaling().fit(np.tile(rows, (30, 1)), np.tile([0, 1], 30))
    assert fitted.floor_ == pytest.approx(floor)
    expected = softmax(fitted.scales_ * np.log([[1.0, floor]]))
    np.testing.assert_allclose(fitted.transform([[1.0, 0.0]]), expected, rtol=1e-12)
    assert expected[0, 1] > 0


@pytest.mark.parametrize("k", [2, 10])
def test_the_floor_is_at_most_a_share_of_one_over_k(k):
    p = np.eye(k)[np.zeros(4, dtype=int)]
    assert floor_of(p) == pytest.approx(0.3 / k)
