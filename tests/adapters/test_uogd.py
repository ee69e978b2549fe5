"""UOGD against a plain transcription: its steps, its ball, what it is told of labels."""

import numpy as np
import pytest

from baserate.adapters import UOGD

from . import naive_layers as naive
from .small_layer import ONES, RADIUS, UNCLIPPED, WB, B, D, K, W, X, Y, batches


def with_ones(batch):
    return np.column_stack([batch, np.ones(len(batch))])


@pytest.mark.parametrize("intercept", [None, B])
def test_uogd_is_its_transcription(intercept):
    start, holdout = (W, X) if intercept is None else (WB, ONES)
    radius = float(np.linalg.norm(start)) * 1.02
    adapter = UOGD(W, intercept, UNCLIPPED, step_size=0.4, radius=radius).fit(X, Y)
    stream = batches(15)
    expected = naive.uogd(
        start, holdout, Y, stream if intercept is None else [with_ones(b) for b in stream], 0.4, radius
    )
    lengths = [np.linalg.norm(head) for head in expected]
    assert max(lengths) == pytest.approx(radius)  # the ball is left, and entered again
    assert min(lengths[1:]) < radius - 1e-6
    for batch, head in zip(stream, expected, strict=False):
        rows = batch if intercept is None else with_ones(batch)
        proba = np.array([naive.softmax(head @ x) for x in rows])
        np.testing.assert_allclose(adapter.step(batch).proba, proba, atol=1e-10)
    coef, offsets = adapter.head_
    np.testing.assert_allclose(coef, expected[-1][:, :D], atol=1e-10)
    np.testing.assert_allclose(offsets, np.zeros(K) if intercept is None else expected[-1][:, D], atol=1e-10)


def test_the_step_size_of_uogd():
    """D / (G sqrt(T)), with D twice the length of the layer and G sqrt(2) times the largest mean length of a class."""
    bound = np.sqrt(2) * max(np.linalg.norm(ONES[c == Y], axis=1).mean() for c in range(K))
    length = np.linalg.norm(WB)
    for horizon, radius in ((100, None), (900, 3 * length)):
        step = 2 * (radius or length) / (bound * np.sqrt(horizon))
        rule = UOGD(W, B, horizon=horizon, radius=radius).fit(X, Y)
        told = UOGD(W, B, step_size=step, radius=radius).fit(X, Y)
        for batch in batches(10):
            np.testing.assert_allclose(rule.step(batch).proba, told.step(batch).proba, rtol=1e-9)


def test_without_a_horizon_uogd_halves_its_step_when_the_guess_is_reached():
    guessed, early = UOGD(W).fit(X, Y), UOGD(W, horizon=128).fit(X, Y)
    stream = batches(129)
    for batch in stream[:128]:
        assert guessed.step(batch).proba.tobytes() == early.step(batch).proba.tobytes()
    before = guessed.head_[0]
    guessed.update(stream[128])
    early.update(stream[128])
    q = guessed.marginals_.estimate(np.array([naive.softmax(W @ x) for x in stream[128]]))
    gradient = naive.risk_gradient(before, q, X, Y)
    bound = np.sqrt(2) * max(np.linalg.norm(X[c == Y], axis=1).mean() for c in range(K))
    moved = naive.into_ball(before - 2 * RADIUS / (bound * np.sqrt(512)) * gradient, RADIUS)
    np.testing.assert_allclose(guessed.head_[0], moved, atol=1e-12)
    assert not np.allclose(early.head_[0], moved, atol=1e-6)


def test_labels_may_be_known_of_some_samples_only():
    """One batch of which half is labelled: counted and estimated, by their numbers."""
    batch = batches(1)[0]
    adapter = UOGD(W, step_size=0.4, radius=100.0).fit(X, Y)
    adapter.update(batch, [2, -1, 2, -1, np.nan, 0])
    unknown = np.array([naive.softmax(W @ x) for x in batch[[1, 3, 4]]])
    q = (np.array([1.0, 0.0, 2.0]) + 3 * adapter.marginals_.estimate(unknown)) / 6
    np.testing.assert_allclose(adapter.head_[0], W - 0.4 * naive.risk_gradient(W, q, X, Y), atol=1e-12)


def test_a_radius_that_was_rounded_is_fine():
    UOGD(W, radius=np.nextafter(np.linalg.norm(W), 0.0)).fit(X, Y)
