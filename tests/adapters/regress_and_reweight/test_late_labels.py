"""Labels that come after their batch, and batches that are used before they are predicted."""

import copy

import numpy as np
import pytest

from baserate.adapters import RegressAndReweight
from baserate.protocols import Evidence
from baserate.simplex import project
from baserate.state import dumps, loads
from baserate.trackers import FollowTheHistory

K = 3


def draw(rng, q, n):
    y = rng.choice(K, size=n, p=q)
    odds = np.exp(2 * (rng.normal(size=(n, K)) + np.eye(K)[y]))
    return odds / odds.sum(axis=1, keepdims=True), y


HOLDOUT = draw(np.random.default_rng(0), np.full(K, 1 / K), 600)


def fitted(**params):
    return RegressAndReweight(calibrator=None, **params).fit(*HOLDOUT)


def test_a_label_in_time_and_one_at_once_afterwards_count_the_same():
    rng, in_time, late = np.random.default_rng(1), fitted(), fitted()
    for t in range(30):
        proba, y = draw(rng, [0.7, 0.2, 0.1], 8)
        in_time.step(proba, np.where(np.arange(8) < 4, y, -1))
        names = [f"{t}-{i}" for i in range(8)]
        late.step(proba, np.where(np.arange(8) < 2, y, -1), ids=names)
        assert late.update_labels(names[2:4], y[2:4]) == 2
    assert late.waiting_ == 30 * 4
    assert late.missed_labels_ == 0
    assert late.rounds_ == 30
    np.testing.assert_allclose(late.prior_, in_time.prior_, atol=0.02)
    everything = np.s_[0, :, 22]  # of the expert that forgets nothing
    assert late.tracker_._state.counts[everything].sum() == pytest.approx(240)


def test_late_labels_help():
    """And twice as much if they come twice; but the second of two labels for one sample is missed."""
    path = np.repeat([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]] * 4, 40, axis=0)
    distance = {}
    for share in (0.0, 0.3, 1.0):
        rng, adapter, queue, total = np.random.default_rng(0), fitted(), [], 0.0
        for t, q in enumerate(path):
            proba, y = draw(rng, q, 5)
            names = list(range(5 * t, 5 * t + 5))
            total += ((adapter.step(proba, ids=names).prior - q) ** 2).sum()
            queue.append((names, np.where(rng.random(5) < share, y, -1)))
            if t >= 3:
                adapter.update_labels(*queue[t - 3])
        distance[share] = total
    assert distance[1.0] < 0.93 * distance[0.3] < 0.93 * 0.97 * distance[0.0]


def test_labels_are_used_once():
    adapter = fitted()
    proba, y = draw(np.random.default_rng(2), [0.7, 0.2, 0.1], 4)
    adapter.step(proba, ids=[1, 2, 3, 4])
    assert adapter.update_labels([2, 3], [y[1], -1]) == 1
    assert adapter.waiting_ == 3
    assert adapter.missed_labels_ == 0
    before = dumps(adapter.tracker_)
    assert adapter.update_labels(np.array([2, 9]), [y[1], 0]) == 0
    assert adapter.missed_labels_ == 2
    assert dumps(adapter.tracker_) == before
    assert adapter.update_labels([], []) == 0


def test_the_oldest_is_given_up_when_too_many_wait():
    adapter = fitted(max_waiting=5)
    rng = np.random.default_rng(3)
    for t in range(3):
        adapter.update(draw(rng, [0.7, 0.2, 0.1], 3)[0], ids=[f"{t}{i}" for i in range(3)])
    assert adapter.waiting_ == 5
    assert adapter.update_labels(["00", "10", "11", "22"], [0, 0, 0, 0]) == 2
    assert adapter.missed_labels_ == 2
    adapter = fitted(max_waiting=0)
    adapter.update(draw(rng, [0.7, 0.2, 0.1], 3)[0], ids=[1, 2, 3])
    assert adapter.waiting_ == 0


def test_what_waits_is_saved_and_goes_on_bit_for_bit():
    adapter, rng = fitted(), np.random.default_rng(4)
    batches = [draw(rng, [0.7, 0.2, 0.1], 3) for _ in range(6)]
    for t, (proba, _) in enumerate(batches):
        adapter.update(proba, ids=[f"{t}{i}" for i in range(3)])
    resumed = loads(dumps(adapter))
    assert dumps(resumed) == dumps(adapter)
    for one in (adapter, resumed):
        one.update_labels(["51", "20", "22", "zz"], [0, 1, 2, 0])
        one.update(batches[0][0], ids=["60", "61", "62"])
    assert dumps(resumed) == dumps(adapter)


def test_a_new_stream_waits_for_nothing_and_a_new_model_goes_on():
    proba, y = draw(np.random.default_rng(5), [0.7, 0.2, 0.1], 3)
    adapter = fitted()
    for start in (adapter.reset, lambda: adapter.set_prior([0.2, 0.3, 0.5]), lambda: adapter.fit(*HOLDOUT)):
        adapter.update(proba, ids=[1, 2, 3])
        start()
        assert adapter.waiting_ == 0
    adapter.update(proba, ids=[1, 2, 3])
    adapter.refit(*HOLDOUT)
    assert adapter.update_labels([1, 2, 3], y) == 3


@pytest.mark.parametrize(
    ("ids", "kind", "words"),
    [
        (["a", "b"], ValueError, "2 entries; expected 3"),
        (["a", "b", "a"], ValueError, "'a' twice"),
        (["x", "b", "c"], ValueError, "'x', which waits"),
        ([1, 2, 3], TypeError, "int, str"),
        ([1.5, 2.5, 3.5], TypeError, "float"),
    ],
)
def test_bad_ids_are_refused_and_change_nothing(ids, kind, words):
    adapter = fitted()
    proba, _ = draw(np.random.default_rng(6), [0.7, 0.2, 0.1], 3)
    adapter.update(proba, ids=["x", "y", "z"])
    before = dumps(adapter)
    for method in (adapter.step, adapter.update):
        with pytest.raises(kind, match=words):
            method(proba, ids=ids)
    assert dumps(adapter) == before


def test_trackers_that_cannot_take_back_say_so():
    adapter = fitted(tracker=FollowTheHistory(K))
    proba, y = draw(np.random.default_rng(7), [0.7, 0.2, 0.1], 3)
    with pytest.raises(TypeError, match="LikelihoodMixture"):
        adapter.step(proba, ids=[1, 2, 3])
    with pytest.raises(TypeError, match="LikelihoodMixture"):
        adapter.update_labels([1, 2, 3], y)
    assert adapter.rounds_ == 0


def test_transductive_gives_each_sample_the_mix_of_the_others():
    adapter, rng = fitted(transductive=True, floor=0.05), np.random.default_rng(8)
    for _ in range(10):
        adapter.step(draw(rng, [0.9, 0.05, 0.05], 10)[0])
    proba, y = draw(rng, [0.05, 0.05, 0.9], 10)
    before = adapter.prior_
    mixes = adapter.tracker_.predict_left_out(Evidence(proba, adapter.source_prior_))
    mixes = project(mixes, np.full(K, 0.05), np.ones(K))
    expected = proba * mixes / adapter.source_prior_
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(adapter.predict_proba(proba), expected, atol=1e-12)
    causal = copy.deepcopy(adapter).set_params(transductive=False)
    told, step = copy.deepcopy(adapter).step(proba, y), adapter.step(proba)
    np.testing.assert_allclose(step.proba, expected, atol=1e-12)
    np.testing.assert_allclose(step.prior, mixes.mean(axis=0), atol=1e-12)
    np.testing.assert_array_equal(told.proba, step.proba)  # labels are not looked at before
    causal.update(proba)
    np.testing.assert_array_equal(adapter.prior_, causal.prior_)  # what is learned is the same in both modes
    assert step.prior[2] > 1.1 * before[2]


def test_transductive_is_causal_for_a_single_sample():
    adapter, rng = fitted(transductive=True), np.random.default_rng(9)
    causal = fitted()
    for _ in range(20):
        proba, _ = draw(rng, [0.9, 0.05, 0.05], 1)
        np.testing.assert_array_equal(adapter.step(proba).proba, causal.step(proba).proba)
    assert adapter.step(np.empty((0, K))).proba.shape == (0, K)


def _tilted(rng, n):
    """A stream whose model is biased by a factor of twenty, which labels alone can tell."""
    y = (rng.random(n) < 0.5).astype(int)
    odds = np.exp(1.5 * rng.normal(2.0 * y - 1.0, 1.0))
    return np.column_stack([np.ones(n), odds]) / (1 + odds)[:, np.newaxis], y


@pytest.mark.parametrize("rounds_late", [0, 20])
def test_late_labels_repair_the_calibration_as_those_in_time_do(rounds_late):
    rng = np.random.default_rng(0)
    adapter = RegressAndReweight().fit(*_tilted(rng, 1000))
    wrong, waiting = np.zeros(2), []
    for t in range(300):
        proba, y = _tilted(rng, 10)
        odds = 0.05 * proba[:, 1] / proba[:, 0]
        proba = np.column_stack([np.ones(10), odds]) / (1 + odds)[:, np.newaxis]
        waiting.append((t, y[0]))
        step = adapter.step(proba, ids=[f"{t}-{i}" for i in range(10)])
        if t >= 100:
            wrong += (step.labels != y).mean() / 200, (proba.argmax(axis=1) != y).mean() / 200
        if t >= rounds_late:
            told, label = waiting.pop(0)
            assert adapter.update_labels([f"{told}-0"], [label]) == 1
    assert wrong[1] > 0.3
    assert wrong[0] < wrong[1] - 0.1


def test_labels_of_samples_from_before_a_refit_are_taken():
    rng = np.random.default_rng(0)

    def at(share, n):
        y = (rng.random(n) < share).astype(int)
        odds = share / (1 - share) * np.exp(1.5 * rng.normal(2.0 * y - 1.0, 1.0))
        return np.column_stack([np.ones(n), odds]) / (1 + odds)[:, np.newaxis], y

    adapter = RegressAndReweight(calibrator=None).fit(*at(0.5, 2000))
    waits = {}
    for t in range(50):
        batch, y = at(0.5, 10)
        waits |= {f"{t}-{i}": label for i, label in enumerate(y)}
        adapter.step(batch, ids=[f"{t}-{i}" for i in range(10)])
    adapter.refit(*at(0.02, 2000))
    adapter.update_labels(list(waits), list(waits.values()))
    assert adapter._correction.portfolio_.labels_ == 500
    assert adapter.waiting_ == 0
