"""Bets on which of two is more often right."""

import numpy as np
import pytest

from baserate.trust.gate.bets import STAKES, bet


def test_wrong_verdicts_are_as_rare_as_promised():
    """Equal errors: within 100 telling samples at most alpha; 400 runs at 0.2 allow 80, and by three sigma 104."""
    told = 0
    for seed in range(400):
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], 100)
        told += bet(signs, np.zeros((2, len(STAKES))), STAKES, 100 / 0.2) % 2 == 1
    assert told <= 104
    spacings = []
    for seed in range(60):
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], 50_000)
        won = np.zeros((2, len(STAKES)))
        spacings.append((bet(signs, won, STAKES, 200.0) + 1) // 2)
    assert np.mean(spacings) >= 100.0  # of either side; each alone comes after 200 on average


def test_bets_by_hand():
    won = np.zeros((2, 1))
    assert bet(np.array([1.0, -0.5]), won, np.array([0.5]), 100.0) == 0
    assert won[0, 0] == pytest.approx((1.5 + 1.0) * 0.75)
    assert won[1, 0] == pytest.approx((0.5 + 1.0) * 1.25)
    assert bet(np.ones(5), np.zeros((2, 1)), np.array([0.5]), 3.0) == 1 + 2 * 1  # 1.5, 3.75
    assert bet(-np.ones(5), np.zeros((2, 1)), np.array([0.5]), 3.0) == 2 + 2 * 1
