"""The class mix in hindsight: `baserate.smooth`."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import baserate
from baserate import RegressAndReweight, smooth
from baserate.protocols import Evidence
from baserate.shifts import Monotone, Square
from baserate.smoothing import path as path_module
from baserate.trackers import FollowTheHistory


def outputs(y, rng, k=2, distance=2.0):
    """A calibrated model of classes at the corners of a simplex, for a uniform mix."""
    centres = distance / np.sqrt(2.0) * np.eye(k)
    x = centres[y] + rng.normal(size=(len(y), k))
    logits = -0.5 * ((x[:, np.newaxis] - centres) ** 2).sum(axis=2)
    proba = np.exp(logits - logits.max(axis=1, keepdims=True))
    return proba / proba.sum(axis=1, keepdims=True)


def fitted(rng, k=2, n=1000, distance=2.0, **params):
    y = np.arange(n) % k
    return RegressAndReweight(**params).fit(outputs(y, rng, k, distance), y)


def stream(q, n, rng, distance=2.0):
    """Labels and probabilities of rounds of n samples, and where the rounds start."""
    y = np.concatenate([rng.choice(len(mix), size=n, p=mix) for mix in q]) if n else np.empty(0, dtype=int)
    return outputs(y, rng, q.shape[1], distance), y, np.arange(0, len(y) + 1, n)


def causal(adapter, proba, starts):
    tracker = baserate.trackers.LikelihoodMixture(len(adapter.source_prior_), prior=adapter.source_prior_)
    return tracker.play(Evidence(adapter.calibrate(proba), adapter.source_prior_, starts=starts))


@pytest.mark.parametrize("shift", [Square(length=40), Monotone()])
@pytest.mark.parametrize(("n", "at_most"), [(1, 0.8), (10, 0.6), (100, 0.4)])
def test_the_mix_in_hindsight_is_nearer_than_the_causal_one(shift, n, at_most):
    rng = np.random.default_rng(n)
    adapter, q = fitted(rng), shift.path(400, 2, rng)
    proba, _, starts = stream(q, n, rng)
    mix = smooth(adapter, proba, starts)
    assert ((mix.prior - q) ** 2).mean() <= at_most * ((causal(adapter, proba, starts) - q) ** 2).mean()
    assert ((mix.low <= q + 1e-9) & (q <= mix.high + 1e-9)).mean() >= 0.87


@settings(max_examples=25, deadline=None)
@given(
    st.integers(2, 5),
    st.lists(st.integers(0, 12), min_size=1, max_size=20),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.3, 1.0]),
)
def test_mixes_are_class_mixes_within_their_limits(k, sizes, seed, labelled):
    rng = np.random.default_rng(seed)
    adapter = fitted(rng, k, 50 * k)
    y = rng.integers(k, size=sum(sizes))
    known = np.where(rng.random(len(y)) < labelled, y, -1)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    mix = smooth(adapter, outputs(y, rng, k), starts, known)
    for array in mix:
        assert array.shape == (len(sizes), k)
        assert np.isfinite(array).all()
    np.testing.assert_allclose(mix.prior.sum(axis=1), 1.0, atol=1e-9)
    assert (mix.low >= 0.0).all()
    assert (mix.low <= mix.prior).all()
    assert (mix.prior <= mix.high).all()
    assert (mix.high <= 1.0).all()


def test_labels_alone_decide_where_all_are_known():
    rng = np.random.default_rng(0)
    adapter, q = fitted(rng), np.tile([0.7, 0.3], (50, 1))
    _, y, starts = stream(q, 20, rng)
    misleading = outputs(np.zeros_like(y), rng)
    mix = smooth(adapter, misleading, starts, y)
    np.testing.assert_allclose(mix.prior.mean(axis=0), np.bincount(y) / len(y), atol=0.01)
    without = smooth(adapter, misleading, starts)
    assert without.prior[:, 0].min() > 0.9


def test_some_labels_narrow_the_limits():
    rng = np.random.default_rng(0)
    adapter, q = fitted(rng), np.tile([0.7, 0.3], (100, 1))
    proba, y, starts = stream(q, 5, rng)
    with_labels, without = smooth(adapter, proba, starts, y), smooth(adapter, proba, starts)
    assert (with_labels.high - with_labels.low).mean() < 0.95 * (without.high - without.low).mean()


def test_nothing_in_the_adapter_changes_and_nothing_it_tracked_is_used():
    rng = np.random.default_rng(0)
    adapter = fitted(rng)
    proba, _, starts = stream(np.tile([0.9, 0.1], (40, 1)), 10, rng)
    fresh = smooth(adapter, proba, starts)
    adapter.update(proba[:100])
    before = hashlib.sha256(baserate.dumps(adapter)).hexdigest()
    again = smooth(adapter, proba, starts)
    assert hashlib.sha256(baserate.dumps(adapter)).hexdigest() == before
    for one, other in zip(fresh, again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_blocks_of_rounds_give_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    adapter, q = fitted(rng), Square(length=17).path(100, 2, rng)
    proba, _, starts = stream(q, 5, rng)
    whole = smooth(adapter, proba, starts)
    monkeypatch.setattr(path_module, "_NUMBERS", 900)  # some ten rounds at a time
    parts = smooth(adapter, proba, starts)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_limits_of_mixes_that_come_back_are_those_of_the_rounds_that_had_them():
    rng = np.random.default_rng(0)
    adapter, q = fitted(rng, 5, 5000), Square(length=40).path(400, 5, rng)
    proba, _, starts = stream(q, 50, rng)
    mix = smooth(adapter, proba, starts)
    assert ((mix.low <= q + 1e-9) & (q <= mix.high + 1e-9)).mean() >= 0.87
    assert (mix.high - mix.low).mean() < 0.1  # 10,000 rows of each mix; the mean of both is 0.4 away


def test_a_mix_that_is_new_in_every_round_is_that_of_the_round():
    rng = np.random.default_rng(0)
    adapter = fitted(rng, n=5000)
    share = rng.choice([0.1, 0.5, 0.9], size=60)
    q = np.column_stack([share, 1.0 - share])
    proba, _, starts = stream(q, 300, rng)
    mix = smooth(adapter, proba, starts)
    assert np.abs(mix.prior - q).mean() < 0.05


def test_limits_rise_with_the_level():
    rng = np.random.default_rng(0)
    adapter = fitted(rng)
    proba, _, starts = stream(np.tile([0.6, 0.4], (20, 1)), 10, rng)
    narrow, wide = smooth(adapter, proba, starts, level=0.5), smooth(adapter, proba, starts, level=0.99)
    assert (wide.low <= narrow.low).all()
    assert (narrow.high <= wide.high).all()
    assert (wide.high - wide.low).mean() > (narrow.high - narrow.low).mean()


def test_bounds_and_other_trackers_are_respected():
    rng = np.random.default_rng(0)
    adapter = fitted(rng, tracker=FollowTheHistory(2), bounds=(0.2, 0.8))
    proba, _, starts = stream(np.tile([0.95, 0.05], (50, 1)), 10, rng)
    mix = smooth(adapter, proba, starts)
    assert mix.prior.max() <= 0.8 + 1e-9
    assert mix.high.max() > 0.8


def test_more_classes_than_matrices_are_for():
    rng = np.random.default_rng(0)
    k = 40
    adapter = fitted(rng, k, 4000)
    q = np.tile(np.where(np.arange(k) == 3, 0.5, 0.5 / (k - 1)), (50, 1))
    proba, _, starts = stream(q, 20, rng)
    mix = smooth(adapter, proba, starts)
    causal_error = ((causal(adapter, proba, starts) - q) ** 2).sum(axis=1).mean()
    assert ((mix.prior - q) ** 2).sum(axis=1).mean() < 0.5 * causal_error


def test_an_empty_log_and_rounds_without_samples():
    adapter = fitted(np.random.default_rng(0))
    assert smooth(adapter, np.empty((0, 2)), [0]).prior.shape == (0, 2)
    mix = smooth(adapter, np.empty((0, 2)), [0, 0, 0])
    assert mix.prior.shape == (2, 2)
    assert (mix.high - mix.low).min() > 0.5


def test_what_is_wrong_is_said():
    rng = np.random.default_rng(0)
    adapter = fitted(rng)
    proba = outputs(np.array([0, 1]), rng)
    with pytest.raises(TypeError, match=r"give a fitted baserate\.RegressAndReweight"):
        smooth("adapter", proba, [0, 2])
    with pytest.raises(ValueError, match="starts does not rise from 0 to 2"):
        smooth(adapter, proba, [0, 3])
    with pytest.raises(ValueError, match="level"):
        smooth(adapter, proba, [0, 2], level=1.0)
    with pytest.raises(ValueError, match="labelled holdout"):
        smooth(RegressAndReweight(source_prior=[0.5, 0.5], calibrator=None).fit(), proba, [0, 2])
