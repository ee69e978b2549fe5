"""Limits of a change: blocks of rounds, drawn in a circle, and few mistakes."""

import numpy as np
import pytest

from baserate.backtesting.blocks import Blocks, Change, draw_blocks, with_few_costs, with_few_mistakes
from baserate.backtesting.played import CostMoves


@pytest.mark.parametrize(("n_rounds", "persistence", "least"), [(20, 0.0, 0.88), (200, 0.0, 0.86), (200, 0.6, 0.84)])
def test_limits_hold_the_truth_about_as_often_as_they_say(n_rounds, persistence, least):
    """Rounds that are alike (their correlation falls off within a block) and of different sizes."""
    rng = np.random.default_rng(7)
    truth, held = -0.05, []
    for _ in range(500):
        noise = rng.normal(size=n_rounds + 50)
        for t in range(1, len(noise)):
            noise[t] += persistence * noise[t - 1]
        n = rng.integers(5, 30, n_rounds)
        change = draw_blocks(n_rounds, 0.9, rng, 300).change(n * (truth + noise[50:]), n)
        held.append(change.low <= truth <= change.high)
    assert least < np.mean(held) < 0.96


def test_blocks_are_whole_and_in_a_circle():
    blocks = Blocks(2, np.array([[0, 2], [3, 3]]), 0.9)
    values = np.array([1.0, 2.0, 4.0, 8.0])
    found = blocks.change(values, np.ones(4, dtype=np.int64))
    assert found.value == 15 / 4
    # The resamples are 1 + 2 + 4 + 8 and, twice, 8 + 1: means 15 / 4 and 18 / 4.
    assert found.low == pytest.approx(15 / 4, abs=0.3)
    assert found.high > 18 / 4


def test_few_mistakes_are_no_proof():
    narrow = Change(-0.004, -0.008, -0.001)
    assert with_few_mistakes(narrow, 4, 0, 1000, 0.95).high > 0
    assert with_few_mistakes(narrow, 6, 0, 1000, 0.95).high < 0  # half to the power of six is less than 2.5 %
    assert with_few_mistakes(Change(0.004, 0.001, 0.008), 0, 4, 1000, 0.95).low < 0
    assert with_few_mistakes(narrow, 0, 0, 1000, 0.95) == narrow
    wide = Change(-0.04, -0.5, 0.5)
    assert with_few_mistakes(wide, 50, 10, 1000, 0.95) == wide


def test_few_costly_mistakes_are_no_proof():
    """Four positives found that were missed before, 20 each; chance could have found as many."""

    def moves(found, alarms):
        return CostMoves(20.0 * found, alarms, 400.0 * found, alarms, 20.0)

    narrow = Change(-0.08, -0.1, -0.06)
    assert with_few_costs(narrow, moves(4, 60.0), 1000, 0.95).high > -0.02
    assert with_few_costs(Change(-0.02, -0.03, -0.01), moves(4, 60.0), 1000, 0.95).high > 0
    assert with_few_costs(Change(-1.4, -1.5, -1.3), moves(100, 600.0), 1000, 0.95).high < 0
    assert with_few_costs(narrow, CostMoves(0.0, 0.0, 0.0, 0.0, 20.0), 1000, 0.95) == narrow
    wide = Change(-0.08, -9.0, 9.0)
    assert with_few_costs(wide, moves(4, 0.0), 1000, 0.95) == wide


def test_limits_of_costs_hold_the_truth_about_as_often_as_they_say():
    """Independent samples of two kinds: rare ones that save 20, and more of them that lose 1."""
    rng = np.random.default_rng(3)
    held = []
    for found, alarms in zip(rng.poisson(5.0, 2000), rng.poisson(40.0, 2000), strict=True):
        value = (alarms - 20.0 * found) / 1000
        moves = CostMoves(20.0 * found, float(alarms), 400.0 * found, float(alarms), 20.0)
        limits = with_few_costs(Change(value, value, value), moves, 1000, 0.9)
        held.append(limits.low <= (40.0 - 100.0) / 1000 <= limits.high)
    assert 0.89 < np.mean(held) < 0.97
