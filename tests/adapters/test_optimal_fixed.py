"""OptimalFixed: exact on problems small enough to try everything, and never worse than its starts."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baserate import evaluate
from baserate.adapters import Base, OptimalFixed, Oracle
from baserate.adapters.optimal_fixed import _best_offset, best_prior
from baserate.shifts import Bernoulli, Monotone, Sinusoidal, Square, sample_stream


def problem(seed, n=300, k=3, skill=1.5):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    logits = rng.standard_normal((n, k)) + skill * np.eye(k)[y]
    proba = np.exp(logits)
    return proba / proba.sum(axis=1, keepdims=True), y


def mistakes(proba, y, prior, source):
    return int(((proba * prior / source).argmax(axis=1) != y).sum())


@pytest.mark.parametrize("shift", [Monotone(), Square(), Sinusoidal(), Bernoulli()])
@pytest.mark.parametrize("seed", range(5))
def test_never_worse_in_hindsight_than_the_mean_of_the_mixes(shift, seed):
    pool, y = problem(seed, n=2000)
    stream = list(sample_stream(pool, y, shift, n_rounds=200, rng=seed))
    mean = np.mean([batch.q for batch in stream], axis=0)
    best = OptimalFixed.from_stream(stream, calibrator=None).fit(pool, y)
    fixed = evaluate(Oracle(np.tile(mean, (200, 1)), calibrator=None).fit(pool, y), stream)
    found = evaluate(best, stream)
    assert found.error_rate <= fixed.error_rate
    assert found.error_rate <= evaluate(Base().fit(pool, y), stream).error_rate
    assert np.ptp(found.prior, axis=0).max() == 0  # the same in every round


@pytest.mark.parametrize("seed", range(10))
def test_two_classes_are_solved_exactly(seed):
    """With two classes there is one threshold, and all of them can be tried."""
    proba, y = problem(seed, n=60, k=2, skill=0.7)
    y = np.where(np.random.default_rng(seed).random(60) < 0.5, 0, y)
    odds = np.sort(np.log(proba[:, 0] / proba[:, 1]))
    cuts = np.concatenate([[odds[0] - 1], (odds[1:] + odds[:-1]) / 2, [odds[-1] + 1]])
    fewest = min(int(((np.log(proba[:, 0] / proba[:, 1]) < cut) != (y == 1)).sum()) for cut in cuts)
    source = np.array([0.5, 0.5])
    assert mistakes(proba, y, best_prior(proba, y, source, [source]), source) == fewest


@pytest.mark.parametrize("seed", range(3))
def test_three_classes_against_a_fine_grid(seed):
    proba, y = problem(seed, n=80, skill=0.8)
    y = np.where(np.random.default_rng(seed).random(80) < 0.4, 2, y)
    source = np.full(3, 1 / 3)
    ticks = np.linspace(-4, 4, 81)
    fewest = min(
        mistakes(proba, y, np.exp([a, b, 0.0]) / np.exp([a, b, 0.0]).sum(), source)
        for a, b in itertools.product(ticks, ticks)
    )
    # Moving one class at a time can stop short of the grid's best by a few samples, and often beats it.
    assert mistakes(proba, y, best_prior(proba, y, source, [source]), source) <= fewest + 2


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5))
def test_the_line_search_finds_the_fewest_mistakes(seed, k):
    proba, y = problem(seed, n=40, k=k, skill=0.5)
    rng = np.random.default_rng(seed)
    scores, offsets, c = np.log(proba), rng.standard_normal(k), int(rng.integers(k))

    def wrong(value):
        moved = offsets.copy()
        moved[c] = value
        return int(((scores + moved).argmax(axis=1) != y).sum())

    found = wrong(_best_offset(scores, y, offsets, c))
    assert found <= min(wrong(value) for value in np.linspace(-12, 12, 500))


def test_ruled_out_classes_and_sure_models():
    """Zeros in the probabilities and in the mean mix are no obstacle."""
    proba = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.6, 0.4, 0.0], [0.5, 0.0, 0.5]])
    y = np.array([0, 1, 1, 2])
    best = OptimalFixed(proba, y, [[0.5, 0.5, 0.0]], calibrator=None, source_prior=np.full(3, 1 / 3)).fit(proba, y)
    assert (best.predict_proba(proba).argmax(axis=1) == y).all()
    assert best.prior_.sum() == pytest.approx(1.0)


def test_it_is_calibrated_like_the_others():
    proba, y = problem(0, n=1000)
    sharp = proba**3 / (proba**3).sum(axis=1, keepdims=True)
    best = OptimalFixed(sharp, y).fit(sharp, y)
    assert best.calibrator_.chosen_ != "identity"
    assert (best.predict_proba(sharp).argmax(axis=1) != y).mean() <= (sharp.argmax(axis=1) != y).mean()


@pytest.mark.parametrize(
    ("adapter", "word"),
    [
        (OptimalFixed([[0.5, 0.5]], [0]), "stream_proba has 2 columns"),
        (OptimalFixed([[0.2, 0.3, 0.5]], [3]), "stream_y"),
        (OptimalFixed(np.empty((0, 3)), []), "stream_proba is empty"),
        (OptimalFixed([[0.2, 0.3, 0.5]], [0], [[0.5, 0.5]]), "path"),
    ],
)
def test_bad_hindsight(adapter, word):
    with pytest.raises(ValueError, match=word):
        adapter.fit(*problem(0))


def test_a_stream_without_rounds():
    with pytest.raises(ValueError, match="stream has no rounds"):
        OptimalFixed.from_stream([])
