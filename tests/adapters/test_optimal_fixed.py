"""OptimalFixed: exact on problems small enough to try everything, and never worse than its starts."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from baserate import evaluate
from baserate.adapters import Base, OptimalFixed, Oracle, optimal_fixed
from baserate.adapters.optimal_fixed import _best_offset, _descend, _Leaders, _smallest_log_loss, best_prior
from baserate.calibrators import TemperatureScaling
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

    offset, promised = _best_offset(scores[:, c], y, _Leaders(scores + offsets), c, float(offsets[c]))
    found = wrong(offset)
    assert found == promised
    assert found <= min(wrong(value) for value in np.linspace(-12, 12, 500))


@pytest.mark.parametrize("seed", range(5))
def test_a_skewed_source_prior_is_taken_out(seed):
    """The search is over offsets; the prior that is kept must give the same predictions through the source prior."""
    proba, y = problem(seed, n=400, skill=0.8)
    source = np.array([0.7, 0.2, 0.1])
    starts = [source, np.bincount(y) / len(y)]
    fewest = min(mistakes(proba, y, start, source) for start in starts)
    assert mistakes(proba, y, best_prior(proba, y, source, starts), source) <= fewest
    best = OptimalFixed(proba, y, calibrator=None, source_prior=source).fit(proba, y)
    assert (best.predict_proba(proba).argmax(axis=1) != y).sum() == mistakes(proba, y, best.prior_, source) <= fewest


def test_every_start_counts(monkeypatch):
    """With the search switched off, the best of the starts is what is left: whichever that is."""
    monkeypatch.setattr(optimal_fixed, "_descend", lambda scores, labels, offsets: offsets)
    winners = set()
    for seed in range(60):
        proba, y = problem(seed, n=60, skill=0.6)
        y = np.where(np.random.default_rng(seed).random(60) < 0.5 * (seed % 2), seed % 3, y)
        source = np.array([0.5, 0.3, 0.2])
        starts = [source, np.bincount(y, minlength=3) / 60, np.random.default_rng(seed).dirichlet(np.ones(3))]
        offsets = _smallest_log_loss(np.log(proba), y)
        smooth = np.exp(offsets) * source / (np.exp(offsets) * source).sum()
        counted = [mistakes(proba, y, prior, source) for prior in (*starts, smooth)]
        found = mistakes(proba, y, best_prior(proba, y, source, starts), source)
        assert found == min(counted)
        if counted.count(min(counted)) == 1:
            winners.add(int(np.argmin(counted)))
    assert winners == {0, 1, 2, 3}


def test_the_path_is_a_start(monkeypatch):
    seen = []

    def spy(proba, labels, source_prior, starts):
        seen.append(np.array(starts))
        return source_prior

    monkeypatch.setattr(optimal_fixed, "best_prior", spy)
    proba, y = problem(0)
    OptimalFixed(proba, y, [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], calibrator=None).fit(proba, y)
    np.testing.assert_allclose(seen[0], [np.bincount(y) / len(y), np.bincount(y) / len(y), [0.4, 0.3, 0.3]])


def test_the_smooth_start_is_a_minimum():
    proba, y = problem(3, n=500, skill=0.7)
    y = np.where(np.random.default_rng(3).random(500) < 0.5, 1, y)
    offsets = _smallest_log_loss(np.log(proba), y)

    def loss(v):
        tilted = proba * np.exp(v)
        return -np.log(tilted[np.arange(500), y] / tilted.sum(axis=1)).mean()

    for c in range(3):
        for step in (-0.05, 0.05):
            assert loss(offsets + step * np.eye(3)[c]) > loss(offsets)


def test_the_search_goes_on_while_it_helps():
    """Moving each class once is not enough here."""
    fewer = 0
    for seed in range(40):
        proba, y = problem(seed, n=200, k=5, skill=0.6)
        scores, start = np.log(proba), 2 * np.random.default_rng(seed).standard_normal(5)
        once, whole = start, _descend(scores, y, start)
        for c in range(5):
            offset, count = _best_offset(scores[:, c], y, _Leaders(scores + once), c, float(once[c]))
            if count < ((scores + once).argmax(axis=1) != y).sum():
                once = np.where(np.arange(5) == c, offset, once)
        wrong = [int(((scores + v).argmax(axis=1) != y).sum()) for v in (once, whole)]
        assert wrong[1] <= wrong[0]
        fewer += wrong[1] < wrong[0]
    assert fewer > 10


def test_of_several_best_offsets_the_nearest_is_taken():
    proba, y = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 1])
    scores = np.log(proba)
    for present in (-1.0, 0.0, 1.0):  # all of them are right already
        offset, count = _best_offset(scores[:, 0], y, _Leaders(scores + np.array([present, 0.0])), 0, present)
        assert count == 0
        middle = (scores[0, 1] - scores[0, 0] + scores[1, 1] - scores[1, 0]) / 2
        assert offset == pytest.approx(middle)
    scores = np.log(np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]]))
    y = np.array([0, 1, 0])  # one mistake, below the second sample's threshold and above the third's
    near = [_best_offset(scores[:, 0], y, _Leaders(scores + np.array([v, 0.0])), 0, v)[0] for v in (-1.0, 40.0)]
    assert near[0] < 0 < near[1]


def test_a_failed_fit_changes_nothing():
    class Moody(TemperatureScaling):
        def transform(self, proba):
            if len(proba) == 7:
                raise ValueError("not today")
            return super().transform(proba)

    proba, y = problem(0)
    best = OptimalFixed(proba[:7], y[:7], calibrator=Moody())
    with pytest.raises(ValueError, match="not today"):
        best.fit(proba, y)
    with pytest.raises(NotFittedError):
        best.predict_proba(proba)


def test_the_stream_is_calibrated_before_the_search(monkeypatch):
    seen = []
    monkeypatch.setattr(optimal_fixed, "best_prior", lambda proba, y, source, starts: seen.append(proba) or source)
    proba, y = problem(0, n=1000)
    sharp = proba**3 / (proba**3).sum(axis=1, keepdims=True)
    best = OptimalFixed(sharp[:50], y[:50], calibrator=TemperatureScaling()).fit(sharp, y)
    np.testing.assert_array_equal(seen[0], best.calibrate(sharp[:50]))
    assert not np.allclose(seen[0], sharp[:50], atol=0.01)


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
    assert best.calibrator_.degrees_of_freedom_ > 0
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
