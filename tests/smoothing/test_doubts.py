"""What speaks against label shift in a complete log."""

import numpy as np
import pytest

from baserate import RegressAndReweight
from baserate.smoothing import Smoothed
from baserate.smoothing.doubts import FALSE_ALARM, Doubts, find_contradiction, find_doubts


def limits(n_periods, low, high):
    return np.tile([1.0 - high, low], (n_periods, 1)), np.tile([1.0 - low, high], (n_periods, 1))


def test_a_single_period_by_hand():
    low, high = limits(1, 0.5, 0.6)
    labels = np.repeat([0, 1], [16, 4])
    # P(X <= 4 | 20, 0.5) = 6196 / 2^20 = 0.0059: one window, one class, two sides.
    assert find_contradiction(labels, np.array([0, 20]), low, high) is None
    labels = np.repeat([0, 1], [17, 3])
    found = find_contradiction(labels, np.array([0, 20]), low, high)
    assert found is not None
    assert found.chance == pytest.approx(2 * 1351 / 2**20)
    assert (found.label, found.labels, found.found) == (1, 20.0, 3.0)
    assert (found.low, found.high) == pytest.approx((10.0, 12.0))


def test_the_periods_are_found_in_which_labels_contradict_and_others_are_left_out():
    rng = np.random.default_rng(0)
    low, high = limits(16, 0.1, 0.2)
    truth = np.where(np.arange(16) < 8, 0.15, 0.5)
    labels = (rng.random((16, 40)) < truth[:, np.newaxis]).astype(int).ravel()
    labels[::2] = -1
    found = find_contradiction(labels, np.arange(0, 641, 40), low, high)
    assert (found.first, found.last, found.labels) == (8, 15, 160.0)
    # The same labels, each counted as ten: what they tell stays the same.
    heavy = find_contradiction(labels, np.arange(0, 641, 40), low, high, np.full(640, 10.0))
    assert heavy == pytest.approx(found)


def test_labels_as_limits_say_are_no_contradiction():
    rng, rang = np.random.default_rng(1), 0
    low, high = limits(26, 0.05, 0.05)
    for _ in range(500):
        labels = (rng.random(26 * 20) < 0.05).astype(int)
        rang += find_contradiction(labels, np.arange(0, 521, 20), low, high) is not None
    assert rang <= 500 * FALSE_ALARM + 6
    assert find_contradiction(np.full(10, -1), np.array([0, 10]), *limits(1, 0.5, 0.6)) is None
    assert find_contradiction(np.empty(0, int), np.array([0]), *limits(0, 0.5, 0.6)) is None


def outputs(y, rng, moved):
    x = rng.normal(size=len(y)) + 2.0 * y + moved
    p = 1.0 / (1.0 + np.exp(2.0 - 2.0 * x))
    return np.column_stack([1.0 - p, p])


@pytest.mark.parametrize("moved", [0.0, 1.0])
def test_the_alarm_says_when_scores_are_not_those_of_label_shift(moved):
    rng = np.random.default_rng(2)
    held = rng.integers(2, size=1000)
    adapter = RegressAndReweight().fit(outputs(held, rng, 0.0), np.array(["no", "yes"])[held])
    y = (rng.random(6000) < 0.3).astype(int)
    rows = np.vstack([outputs(y[:3000], rng, 0.0), outputs(y[3000:], rng, moved)])
    mix = Smoothed(np.full((120, 2), 0.5), *limits(120, 0.2, 0.4))
    found = find_doubts(adapter, rows, np.arange(0, 6001, 50), np.full(6000, -1), mix)
    if moved:
        assert 60 <= found.alarm_since < 80
        assert "label shift would give" in found.alarm_why
        assert found.contradiction is None
    else:
        assert found == Doubts()
    assert adapter.prior_ == pytest.approx(adapter.source_prior_)
