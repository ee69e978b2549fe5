"""The tour of trust: label shift first, then noise."""

import numpy as np
import pytest

from baserate.demo.trust_tour import tour
from baserate.reports.demo_trust import section

from .small_runs import small_tour


@pytest.fixture(scope="module")
def found():
    return small_tour()


def test_the_alarm_comes_after_the_break_and_closes_the_gate(found):
    assert found.breaks == 360
    assert found.breaks < found.alarm < 500
    before, after = found.rounds < found.alarm, found.rounds > found.alarm + 10
    assert (found.evidence[before] < 20).all()
    assert not found.held_back[before].any()
    assert found.held_back[after].all()
    assert (found.weight[after] <= 0.5).all()
    assert found.why.split(" is too ")[0]


def test_the_band_holds_the_truth_and_the_accuracy_is_right_as_long_as_it_is_label_shift(found):
    calm = (found.rounds > 50) & (found.rounds <= found.breaks)
    share, low, high = found.share[calm].T
    truth = found.truth[calm]
    assert ((low <= truth) & (truth <= high)).mean() > 0.85
    assert np.abs(share - truth).mean() < 0.08
    assert np.abs(found.accuracy[calm, 0] - found.right[calm]).mean() < 0.03
    assert found.right[-1] < found.accuracy[-1, 0] - 0.05  # which is why there is an alarm,
    assert found.accuracy[-1, 1] <= found.right[-1]  # and why the limits say less after it


def test_one_round_is_enough():
    short = tour(1, 3)
    assert list(short.rounds) == [1]
    assert "How far to trust it" in section(short)
