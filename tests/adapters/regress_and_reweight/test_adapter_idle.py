"""Rounds in which nothing came: what was seen fades, and the band widens."""

import copy

import numpy as np
import pytest

from baserate import Bank
from baserate.adapters import RegressAndReweight
from baserate.state import dumps
from baserate.trackers import FollowTheHistory, LikelihoodMixture
from baserate.trackers.likelihood_mixture.experts import KEPT, MEMORIES

K = 3
RNG = np.random.default_rng(0)
Y = RNG.permutation(np.arange(600) % K)
P = 0.6 * np.eye(K)[Y] + 0.4 * RNG.dirichlet(np.ones(K), size=600)
MIX = [0.7, 0.2, 0.1]


def moved(rounds=200, **parameters):
    adapter = RegressAndReweight(calibrator=None, gate=False, **parameters).fit(P, Y)
    rng = np.random.default_rng(1)
    for _ in range(rounds):
        y = rng.choice(K, p=MIX, size=10)
        adapter.update(0.6 * np.eye(K)[y] + 0.4 * rng.dirichlet(np.ones(K), size=10))
    return adapter


def test_a_gap_widens_the_band_more_the_longer_it_is():
    widths = []
    gaps = (0, 1, 30, 100, 1000, 10**6)
    for gap in gaps:
        adapter = moved()
        adapter.idle(gap)
        widths.append(np.diff(adapter.prior_interval()).mean())
        assert adapter.rounds_ == 200 + gap
    assert abs(widths[1] / widths[0] - 1) < 0.05
    # Memories forget before runs end, and their uncertainty about how fast the mix moves goes with their weight.
    assert min(widths) > 0.9 * widths[0]
    assert min(widths[-2:]) > 2 * widths[0]


def test_after_a_gap_a_new_mix_is_believed_sooner():
    rng = np.random.default_rng(2)
    y = rng.choice(K, p=[0.1, 0.1, 0.8], size=10)
    batch = 0.6 * np.eye(K)[y] + 0.4 * rng.dirichlet(np.ones(K), size=10)
    after = []
    for gap in (0, 500):
        adapter = moved()
        adapter.idle(gap)
        adapter.update(batch)
        after.append(adapter.prior_[2])
    assert after[1] > after[0]


def test_counts_fade_by_their_memories_and_weights_stay_weights():
    tracker = moved().tracker_
    before = copy.deepcopy(tracker._state)
    tracker.idle(7)
    faded = before.counts[0, :, :MEMORIES] * KEPT**7
    np.testing.assert_allclose(tracker._state.counts[0, :, :MEMORIES], faded, rtol=1e-12)
    np.testing.assert_array_equal(tracker._state.counts[0, :, MEMORIES:], before.counts[0, :, MEMORIES:])
    np.testing.assert_allclose(tracker._state.weights.sum(axis=2), 1.0, atol=1e-12)
    assert tracker._state.rounds[0, 0] == before.rounds[0, 0] + 7
    by_one = LikelihoodMixture(K)
    by_one.__dict__ = copy.deepcopy(moved().tracker_.__dict__)
    for _ in range(7):
        by_one.idle(1)
    np.testing.assert_allclose(by_one.predict(), tracker.predict(), rtol=1e-12)


def test_what_has_seen_nothing_has_nothing_to_forget():
    tracker = LikelihoodMixture(K, prior=MIX)
    before = dumps(tracker)
    tracker.idle(100)
    assert dumps(tracker) == before


def test_a_label_for_a_sample_from_before_the_gap_counts_as_much_as_is_left_of_it():
    def told(gap, late):
        adapter = moved()
        adapter.update(P[:5], None if late else Y[:5], ids=list("abcde") if late else None)
        adapter.idle(gap)
        if late:
            adapter.update_labels(list("abcde"), Y[:5])
        return adapter.tracker_._state.counts[0]

    np.testing.assert_allclose(
        told(9, late=True)[:, :MEMORIES].sum(), told(9, late=False)[:, :MEMORIES].sum(), rtol=1e-9
    )


def test_keys_of_a_bank_idle_by_themselves():
    adapter = RegressAndReweight(calibrator=None, gate=False).fit(P, Y)
    bank, alone = Bank(adapter), copy.deepcopy(adapter)
    for i in range(20):
        bank.step(["a"] * 10 + ["b"] * 10, np.vstack([P[10 * i : 10 * i + 10]] * 2))
        alone.step(P[10 * i : 10 * i + 10])
    bank.idle(["a", "never seen", "a"], 40)
    np.testing.assert_array_equal(bank.prior(["b"])[0], alone.prior_)
    alone.idle(40)
    np.testing.assert_array_equal(bank.prior(["a"])[0], alone.prior_)
    # Each its own time.
    bank.idle(["never seen", "b", "a"], [7, 40 + 3, 3])
    alone.idle(3)
    np.testing.assert_array_equal(bank.prior(["a"])[0], alone.prior_)
    np.testing.assert_allclose(bank.prior(["b"])[0], alone.prior_, rtol=1e-9)
    bank.idle([], [])
    before = dumps(bank)
    for wrong in ([1], [1, 2, 3], [1, -1], "ab"):
        with pytest.raises((ValueError, TypeError), match="rounds is"):
            bank.idle(["a", "b"], wrong)
    assert dumps(bank) == before


def test_a_tracker_that_cannot_says_so():
    adapter = moved(tracker=FollowTheHistory(K))
    with pytest.raises(TypeError, match="FollowTheHistory counts rounds with samples alone"):
        adapter.idle(3)
    with pytest.raises(TypeError, match="FollowTheHistory counts rounds with samples alone"):
        Bank(adapter).idle(["a"], 3)
    with pytest.raises(ValueError, match="rounds"):
        moved(1).idle(-1)


def outputs(k, n=300, seed=3):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    return 0.6 * np.eye(k)[y] + 0.4 * rng.dirichlet(np.ones(k), size=n), y


def test_a_class_that_was_added_starts_with_its_share_of_the_holdout():
    adapter = moved()
    before = adapter.prior_
    adapter.refit(*outputs(4), previous=[2, None, 0, 1])
    np.testing.assert_allclose(adapter.prior_, 0.75 * np.array([before[2], 1 / 3, before[0], before[1]]), rtol=1e-9)
    adapter.step(outputs(4)[0][:10])
    assert adapter.prior_interval().shape == (4, 2)


def test_a_class_that_was_retired_leaves_its_share_to_the_others():
    adapter = moved()
    before = adapter.prior_
    adapter.refit(*outputs(2), previous=[2, 0])
    np.testing.assert_allclose(adapter.prior_, before[[2, 0]] / before[[2, 0]].sum(), rtol=1e-9)
    assert len(adapter.source_prior_) == 2


def test_what_is_refused_changes_nothing():
    adapter = moved()
    adapter.update(P[:3], ids=["a", "b", "c"])
    before = dumps(adapter)
    for proba, y, previous in (
        (*outputs(4), [0, 1, 2]),
        (*outputs(4), [0, 1, 2, 3]),
        (*outputs(4), [0, 0, 1, None]),
        (outputs(4)[0], outputs(4)[1][:-1], [0, 1, 2, None]),
        (*outputs(4), None),
    ):
        with pytest.raises(ValueError, match=r"previous|\by\b"):
            adapter.refit(proba, y, previous)
        assert dumps(adapter) == before
    with pytest.raises(ValueError, match="proba has shape"):
        adapter.refit(0.5, [0], [0])
    adapter.refit(*outputs(4), [0, 1, 2, None])
    assert adapter.waiting_ == 0
    fixed = moved(tracker=FollowTheHistory(K))
    with pytest.raises(ValueError, match="n_classes=4"):
        fixed.refit(*outputs(4), [0, 1, 2, None])
