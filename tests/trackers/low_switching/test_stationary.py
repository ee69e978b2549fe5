"""The table of how far trackers stray is what a simulation gives, and goes on beyond its end."""

import numpy as np
import pytest

from baserate.trackers import FLHFTL, Aligator
from baserate.trackers.low_switching import stationary


@pytest.mark.parametrize("key", ["FLHFTL, start", "FLHFTL, window", "Aligator"])
def test_the_table_is_what_the_simulation_gives(key):
    make = {
        "FLHFTL, start": lambda: FLHFTL(5),
        "FLHFTL, window": lambda: FLHFTL(5, experts="window"),
        "Aligator": lambda: Aligator(5),
    }[key]
    again = stationary.simulate(make(), n_phases=8, n_runs=100, seed=1)
    table = stationary._TABLE[key]
    np.testing.assert_allclose(again.mean[1:], table.mean[1:8], rtol=0.12)
    np.testing.assert_allclose(again.sd[1:], table.sd[1:8], rtol=0.2)


def test_beyond_the_table_growth_goes_on():
    logs, lines = np.arange(5.0), 2.0 ** np.arange(5)
    assert stationary.extended(logs, 9) == pytest.approx(9.0)
    assert stationary.extended(lines, 9) == pytest.approx(2.0**9)
    assert stationary.extended(lines, 2) == 4.0


def test_growth_beyond_the_table_is_between_steady_and_doubling():
    assert stationary.extended(np.array([0.0, 1.0, 1.5]), 4) == 2.5
    assert stationary.extended(np.array([0.0, 1.0, 5.0]), 4) == 5 + 8 + 16
    assert stationary.extended(np.array([1.0, 2.0, 2.0, 2.0]), 6) == 2.0
    assert stationary.extended(np.array([1.0, 2.0, 1.5]), 6) == 1.5
