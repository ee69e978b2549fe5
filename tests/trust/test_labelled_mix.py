"""LabelledMix: a case worked by hand, coverage whatever the model says, and labels that come late."""

import numpy as np
import pytest

from baserate import dumps, loads
from baserate.trust import LabelledMix, labelled_mix
from baserate.trust.labelled_mix import MEMORIES
from baserate.trust.prediction_powered import FEWEST


def stream(rng, n, share, *, informative=True):
    """A model that says far too much of class 1, or says the same of all."""
    y = (rng.random(n) < share).astype(int)
    said = np.clip(0.3 + 0.5 * y * informative + rng.normal(0.0, 0.1, n), 0.0, 1.0)
    return np.column_stack([1.0 - said, said]), y


def played(said, labels, tracked, *, rounds=50, late=False):
    mix = LabelledMix(2)
    for t in range(0, len(said), rounds):
        part = slice(t, t + rounds)
        mix.take_in(said[part], tracked[t // rounds], None if late else labels[part])
    if late:
        told = np.flatnonzero(labels >= 0)[::-1]
        mix.take_late(told, said[told], labels[told])
    return mix


def test_by_hand_in_one_round():
    mix = LabelledMix(2)
    labels = np.array([1] * 10 + [0] * 30 + [-1] * 10)
    mix.take_in(np.full((50, 2), 0.5), np.array([0.5, 0.5]), labels)
    decays = np.exp(-np.arange(49, -1, -1) / MEMORIES[-1])
    share = decays[:10].sum() / decays[:40].sum()
    low, high = mix.limits(np.array([0.5, 0.5]), np.zeros(2), np.zeros(2), level=0.01)[1]
    assert low <= share <= high < low + 0.01
    assert mix.labels_ == pytest.approx(40.0, rel=1e-3)


@pytest.mark.parametrize("informative", [True, False])
def test_limits_cover_whatever_the_model_says(informative):
    covered, widths = 0, []
    tracked = np.tile([0.3, 0.7], (40, 1))  # wrong
    for seed in range(300):
        rng = np.random.default_rng(seed)
        said, y = stream(rng, 2000, 0.1, informative=informative)
        mix = played(said, np.where(rng.random(2000) < 0.1, y, -1), tracked)
        low, high = mix.limits(tracked[0], np.zeros(2), np.zeros(2), level=0.9)[1]
        covered += low <= 0.1 <= high
        widths.append(high - low)
    assert 0.85 <= covered / 300 <= 0.97
    assert np.mean(widths) < (0.055 if informative else 0.08)


def test_a_mix_that_has_moved_takes_its_labels_along():
    """The tracker is 0.2 too high all along; the mix goes from 0.1 to 0.6."""
    covered = 0
    shares = np.linspace(0.1, 0.6, 80)
    tracked = np.column_stack([0.8 - shares, 0.2 + shares])
    for seed in range(100):
        rng = np.random.default_rng(seed)
        y = (rng.random(4000) < np.repeat(shares, 50)).astype(int)
        said = np.column_stack([1.0 - 0.5 * y, 0.5 * y])
        mix = played(said, np.where(rng.random(4000) < 0.1, y, -1), tracked)
        low, high = mix.limits(tracked[-1], np.zeros(2), np.zeros(2), level=0.9)[1]
        covered += low <= 0.6 <= high
        assert high < 0.79  # not the tracker's 0.8
    assert covered >= 82


def test_what_is_wrong_may_change():
    """The tracker is right at first and 0.3 too high at the end; long memories are left out."""
    rng = np.random.default_rng(0)
    _, y = stream(rng, 60_000, 0.3)
    said = np.full((60_000, 2), 0.5)
    tracked = np.where(np.arange(1200)[:, np.newaxis] < 1000, [[0.7, 0.3]], [[0.4, 0.6]])
    mix = played(said, np.where(rng.random(60_000) < 0.2, y, -1), tracked)
    low, high = mix.limits(tracked[-1], np.zeros(2), np.zeros(2), level=0.99)[1]
    assert low <= 0.3 <= high < 0.5  # by the memory of 16,384 rows alone it would be 0.43 and more


def test_late_labels_count_as_if_they_had_come_at_once():
    rng = np.random.default_rng(0)
    said, y = stream(rng, 1000, 0.3)
    labels, tracked = np.where(rng.random(1000) < 0.1, y, -1), np.tile([0.5, 0.5], (20, 1))
    at_once, late = (played(said, labels, tracked, late=late) for late in (False, True))
    np.testing.assert_allclose(late._labelled, at_once._labelled, rtol=1e-9)
    assert late.labels_ > FEWEST


def test_a_sample_that_was_chosen_rarely_counts_for_more():
    mix = LabelledMix(2)
    labels, weights = np.array([1] * 30 + [0] * 30), np.array([1.0] * 30 + [9.0] * 30)
    mix.take_in(np.full((60, 2), 0.5), np.array([0.5, 0.5]), labels, weights)
    low, high = mix.limits(np.array([0.5, 0.5]), np.zeros(2), np.zeros(2), level=0.05)[1]
    assert low <= 0.1 <= high < 0.2


def test_noise_of_the_tracker_widens():
    rng = np.random.default_rng(0)
    said, y = stream(rng, 1000, 0.3)
    mix = played(said, y, np.tile([0.5, 0.5], (20, 1)))
    calm, noisy = (
        np.diff(mix.limits(np.array([0.5, 0.5]), np.zeros(2), np.full(2, moving), 0.9))[1] for moving in (0.0, 0.01)
    )
    assert noisy > 2.0 * calm


def test_without_labels_nothing_is_known():
    mix = LabelledMix(3)
    mix.take_in(np.full((10, 3), 1 / 3), np.full(3, 1 / 3))
    np.testing.assert_array_equal(mix.limits(np.full(3, 1 / 3), np.zeros(3), np.zeros(3), 0.9), [[0.0, 1.0]] * 3)


def test_saves_and_resumes():
    rng = np.random.default_rng(0)
    said, y = stream(rng, 500, 0.3)
    mix = played(said, y, np.tile([0.5, 0.5], (10, 1)))
    again = loads(dumps(mix))
    for each in (mix, again):
        each.take_in(said[:7], np.array([0.4, 0.6]), y[:7])
    ours, theirs = (each.limits(np.array([0.5, 0.5]), np.zeros(2), np.zeros(2), 0.9) for each in (mix, again))
    np.testing.assert_array_equal(ours, theirs)


def test_large_rounds_are_not_kept():
    mix, said = LabelledMix(2), np.full((5000, 2), 0.5)
    before = labelled_mix._kept_decays.cache_info().misses
    mix.take_in(said, said[0])
    assert labelled_mix._kept_decays.cache_info().misses == before
    mix.take_in(said[:4001], said[0])
    assert labelled_mix._kept_decays.cache_info().misses == before + 1
