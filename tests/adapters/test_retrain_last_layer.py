"""RetrainLastLayer: gradient descent on the re-weighted holdout, by hand and to its minimum."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from baserate.adapters import RegressAndReweight, RetrainLastLayer
from baserate.marginals import BBSE, MLLS
from baserate.trackers import FLHFTL, FollowTheHistory, LastSighting

from . import naive_layers as naive
from .small_layer import CENTRES, ONES, WB, B, D, K, W, X, Y, batches


def test_retraining_is_gradient_descent_on_the_reweighted_holdout():
    adapter = RetrainLastLayer(W, None, FollowTheHistory(K), epochs=7, step_size=0.3, momentum=0.5).fit(X, Y)
    watch = RegressAndReweight(FollowTheHistory(K), calibrator=None)
    watch.fit(np.array([naive.softmax(W @ x) for x in X]), Y)
    for batch in batches(4):
        np.testing.assert_allclose(adapter.prior_, watch.prior_, atol=1e-12)
        adapter.update(batch)
        watch.update(np.array([naive.softmax(W @ x) for x in batch]))
        head, velocity = np.zeros((K, D)), np.zeros((K, D))
        for _ in range(7):
            velocity = 0.5 * velocity - 0.3 * naive.risk_gradient(head, watch.prior_, X, Y)
            head = head + velocity
        np.testing.assert_allclose(adapter.head_[0], head, atol=1e-10)


def test_retraining_finds_the_minimum_with_enough_steps():
    """By default the steps are accelerated and safe: they lead to the optimum of the re-weighted risk."""
    rng = np.random.default_rng(1)
    y = rng.integers(K, size=200)
    noisy = CENTRES[y] + 2.5 * rng.standard_normal((200, D))
    adapter = RetrainLastLayer(W, np.zeros(K), FLHFTL(K), epochs=2000).fit(noisy, y)
    adapter.update(noisy[:20])
    best = LogisticRegression(C=1e9, max_iter=10_000, tol=1e-10)
    best.fit(noisy, y, sample_weight=200 * (adapter.prior_ / np.bincount(y))[y])
    np.testing.assert_allclose(adapter.predict_proba(noisy), best.predict_proba(noisy), atol=2e-3)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_retraining_is_safe_whatever_the_scale_of_the_features(scale):
    """Without intercepts, features of another scale give layers of another scale, and the same predictions."""
    adapter, scaled = (RetrainLastLayer(W / s, epochs=50).fit(s * X, Y) for s in (1.0, scale))
    adapter.update(X[:20])
    scaled.update(scale * X[:20])
    np.testing.assert_allclose(scaled.predict_proba(scale * X), adapter.predict_proba(X), atol=1e-9)
    q = adapter.prior_
    assert naive.risk(adapter.head_[0], q, X, Y) < 0.5 * np.log(K)


def test_until_the_first_round_is_over_the_trained_layer_predicts():
    adapter = RetrainLastLayer(W, B).fit(X, Y)
    expected = np.array([naive.softmax(WB @ x) for x in ONES])
    np.testing.assert_allclose(adapter.predict_proba(X), expected, atol=1e-12)
    np.testing.assert_allclose(adapter.prior_, np.bincount(Y) / len(Y))
    assert isinstance(adapter.tracker_, FLHFTL)


def test_the_tracker_passed_in_is_not_moved():
    tracker = LastSighting(K)
    adapter = RetrainLastLayer(W, tracker=tracker, epochs=1).fit(X, Y)
    adapter.update(X[:5])
    assert not np.array_equal(adapter.tracker_.predict(), tracker.predict())
    np.testing.assert_array_equal(tracker.predict(), np.full(K, 1 / K))


def test_a_refused_refit_changes_nothing():
    adapter = RetrainLastLayer(W, B).fit(X, Y)
    adapter.update(X[:5])
    before = adapter.predict_proba(X)
    for bad in ((X[:, :2], Y), (X, Y[:-1]), (np.full_like(X, np.nan), Y), (X[Y != 0], Y[Y != 0])):
        with pytest.raises(ValueError, match=r"X|y"):
            adapter.fit(*bad)
        np.testing.assert_array_equal(adapter.predict_proba(X), before)


def test_default_retraining_is_nesterovs_descent():
    """A step of one over the curvature of the re-weighted loss, from a point that looks ahead."""
    adapter = RetrainLastLayer(W, None, FollowTheHistory(K), epochs=7).fit(X, Y)
    adapter.update(batches(1)[0])
    q = adapter.prior_
    bound = sum(q[c] * np.linalg.norm(X[c == Y], 2) ** 2 / len(X[c == Y]) / 2 for c in range(K))
    head = before = np.zeros((K, D))
    for t in range(1, 8):
        ahead = head + (t - 2) / (t + 1) * (head - before)
        head, before = ahead - naive.risk_gradient(ahead, q, X, Y) / bound, head
    np.testing.assert_allclose(adapter.head_[0], head, atol=1e-10)


def test_retraining_with_more_features_than_samples():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(K), 5)
    wide = np.column_stack([CENTRES[y], rng.standard_normal((15, 60))])
    start = np.column_stack([W, np.zeros((K, 60))])
    adapter = RetrainLastLayer(start, epochs=5).fit(wide, y)
    expected = [np.linalg.norm(wide[c == y], 2) ** 2 / 10 for c in range(K)]
    np.testing.assert_allclose(adapter._curvatures, expected)


@pytest.mark.parametrize("scale", [1e-4, 1.0])
def test_retraining_with_a_class_without_features(scale):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(K), 20)
    x = (CENTRES[y] + rng.standard_normal((60, D))) * (y > 0)[:, np.newaxis]
    adapter = RetrainLastLayer(W / scale).fit(scale * x, y)
    adapter.update(scale * x[20:30])
    assert adapter.predict_proba(scale * x[20:40])[:, 1].mean() > 0.6


def test_retraining_uses_the_estimator_it_is_given():
    plain, other = (RetrainLastLayer(W, marginals=m, epochs=1).fit(X, Y) for m in (None, MLLS()))
    assert isinstance(plain.marginals_, BBSE)
    assert isinstance(other.marginals_, MLLS)
    for adapter in (plain, other):
        adapter.update(batches(1)[0])
    assert not np.allclose(plain.prior_, other.prior_)
