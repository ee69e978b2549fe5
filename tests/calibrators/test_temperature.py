"""One temperature: found again where it was the fault, and never negative."""

import numpy as np
import pytest

from baserate.calibrators import TemperatureScaling

from .honest import distort, draw


@pytest.mark.parametrize("temperature", [0.25, 0.5, 2.0, 4.0])
def test_a_distorting_temperature_is_recovered(temperature):
    p, y = draw(np.random.default_rng(2), 100_000)
    assert TemperatureScaling().fit(distort(p, temperature), y).temperature_ == pytest.approx(1 / temperature, rel=0.02)


def test_a_model_that_has_it_backwards_keeps_its_order():
    """The temperature is high, and not negative."""
    y = np.arange(300) % 3
    assert TemperatureScaling().fit(0.1 + 0.7 * np.eye(3)[(y + 1) % 3], y).temperature_ > 10
