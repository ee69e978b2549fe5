"""ATLAS against a plain transcription: its step sizes and its weights."""

import numpy as np
import pytest

from baserate.adapters import ATLAS, UOGD
from baserate.marginals import MLLS

from . import naive_layers as naive
from .small_layer import RADIUS, UNCLIPPED, B, K, W, X, Y, batches


def test_atlas_is_its_transcription():
    steps = [0.1, 0.3, 0.9]
    adapter = ATLAS(W, None, UNCLIPPED, step_sizes=steps, meta_rate=0.7).fit(X, Y)
    stream = batches(15)
    expected, weights = naive.atlas(W, X, Y, stream, steps, RADIUS, 0.7)
    for batch, head in zip(stream, expected, strict=False):
        proba = np.array([naive.softmax(head @ x) for x in batch])
        np.testing.assert_allclose(adapter.step(batch).proba, proba, atol=1e-10)
    np.testing.assert_allclose(adapter.weights_, weights, atol=1e-10)
    assert adapter.weights_.max() > 0.4


def test_atlas_with_one_step_size_is_uogd_bit_for_bit():
    one = ATLAS(W, B, step_sizes=[0.37]).fit(X, Y)
    uogd = UOGD(W, B, step_size=0.37).fit(X, Y)
    for batch in batches(300):
        assert one.step(batch).proba.tobytes() == uogd.step(batch).proba.tobytes()
    assert one.head_[0].tobytes() == uogd.head_[0].tobytes()


def test_the_step_sizes_of_atlas():
    """1 + ceil(log2(1 + 2 T) / 2) of them, doubling from D sigma / (2 G sqrt(k T)); meta rate 2 sqrt(log(m) / T)."""
    bound = np.sqrt(2) * max(np.linalg.norm(X[c == Y], axis=1).mean() for c in range(K))
    C = np.array([np.mean([naive.softmax(W @ x) for x in X[c == Y]], axis=0) for c in range(K)]).T
    sigma = np.linalg.svd(C)[1].min()
    steps = 2 * RADIUS * sigma / (2 * bound * np.sqrt(K * 1000)) * 2.0 ** np.arange(7)
    rule = ATLAS(W, horizon=1000).fit(X, Y)
    told = ATLAS(W, step_sizes=steps, meta_rate=2 * np.sqrt(np.log(7) / 1000)).fit(X, Y)
    assert len(rule.weights_) == 7
    for batch in batches(10):
        np.testing.assert_allclose(rule.step(batch).proba, told.step(batch).proba, rtol=1e-9)


def test_without_a_horizon_atlas_gets_a_slower_copy_when_the_guess_is_reached():
    adapter = ATLAS(W).fit(X, Y)
    stream = batches(129)
    for batch in stream[:128]:
        adapter.update(batch)
    assert len(adapter.weights_) == 6
    shares, mean = adapter.weights_, adapter.head_[0]
    adapter.update(stream[128])
    assert len(adapter.weights_) == 7
    assert adapter.weights_[0] == pytest.approx(1 / 7, rel=0.05)
    np.testing.assert_allclose(adapter.weights_[1:] / (6 / 7), shares, rtol=0.05)
    # The newcomer started from the mean, and took one step, the smallest.
    q = adapter.marginals_.estimate(np.array([naive.softmax(W @ x) for x in stream[128]]))
    step = adapter._step_sizes()
    np.testing.assert_allclose(step[1] / step[0], 2.0)
    moved = naive.into_ball(mean - step[0] * naive.risk_gradient(mean, q, X, Y), RADIUS)
    np.testing.assert_allclose(adapter._heads[0], moved, atol=1e-12)


def test_atlas_with_an_estimator_that_has_no_confusion_matrix():
    without, told = ATLAS(W, marginals=MLLS(), horizon=64).fit(X, Y), ATLAS(W, horizon=64).fit(X, Y)
    np.testing.assert_allclose(without._step_sizes() * told.marginals_.sigma_min_, told._step_sizes())


def test_atlas_never_loses_its_weights():
    """Risks so large that all weights would vanish, or be infinite, after a few rounds."""
    adapter = ATLAS(W, step_sizes=[0.1, 50.0], meta_rate=1e6).fit(X, Y)
    for batch in batches(20):
        adapter.update(batch)
    assert adapter.weights_.sum() == pytest.approx(1.0)
    assert np.isfinite(adapter._log_weights).all() or adapter.weights_.max() == 1.0
