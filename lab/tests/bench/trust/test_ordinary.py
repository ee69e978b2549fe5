"""The benchmark of ordinary situations plays what it says."""

import numpy as np
import pytest

from baserate_lab.bench.trust.ordinary import HABITS, ROWS, TWO, row, two_classes, watch


def test_the_holdout_is_played_back_and_copied():
    rng = np.random.default_rng(0)
    play = two_classes("AUC 0.9, 1 % positives", "as it is", 1000, rng)
    again = HABITS["holdout played back"](play, rng)
    np.testing.assert_array_equal(again.stream[:1000], play.proba)
    copied = HABITS["rarest class copied 6 times"](play, rng)
    assert copied.y.sum() == 6 * play.y.sum()
    assert (HABITS["2 decimals"](play, rng).stream * 100 % 1 < 1e-6).mean() > 0.3


def test_noise_costs_five_points_and_is_found():
    rng = np.random.default_rng(1)
    play = two_classes("AUC 0.9", "noise", 1000, rng)
    assert play.stream.shape == (ROWS, 2)
    assert np.isfinite(watch(play).since)


@pytest.mark.parametrize("name", TWO)
def test_a_row_of_the_table(name):
    cells = row(name, "as it is", 300, range(2))
    assert cells[:3] == [name, "as it is", "300"]
    assert cells[3] in ("0 of 2", "1 of 2")
