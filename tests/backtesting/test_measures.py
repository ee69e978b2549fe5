"""Measures in words."""

import numpy as np
import pytest

from baserate.backtesting.blocks import Change
from baserate.backtesting.measures import MEASURES


@pytest.mark.parametrize(
    ("by", "value", "change", "shown"),
    [
        ("error", 0.0779, Change(-0.029, -0.056, -0.009), ("7.8 %", "-2.9 points", "-5.6 to -0.9")),
        ("cost", 0.0412, Change(-0.0229, -0.0251, -0.0204), ("41.2", "-22.9", "-25 to -20")),
        ("cost", 0.1359, Change(-0.0004, -0.0033, 0.0017), ("135.9", "-0.4", "-3.3 to +1.7")),
        ("cost", 12.3456, Change(-2.1, -3.2, -1.1), ("12,346", "-2,100", "-3,200 to -1,100")),
        ("cost", 0.000123, Change(-0.0001, -0.0002, 0.0), ("0.123", "-0.100", "-0.200 to +0.000")),
        ("log-loss", 0.198, Change(-0.065, -0.1, -0.01), ("0.198", "-0.065", "-0.100 to -0.010")),
        ("brier", 0.0341, Change(-0.0055, -0.01, -0.001), ("0.0341", "-0.0055", "-0.0100 to -0.0010")),
    ],
)
def test_digits_and_units(by, value, change, shown):
    measure = MEASURES[by]
    found = measure.shown(value), measure.shown_change(change, value), measure.limits(change, value)
    assert found == shown


def test_what_a_verdict_sums_up():
    class Rounds:
        wrong, cost, log_loss, brier = (np.array([i]) for i in range(4))

    assert [int(MEASURES[by].sums(Rounds)[0]) for by in ("error", "cost", "log-loss", "brier")] == [0, 1, 2, 3]
