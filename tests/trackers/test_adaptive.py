"""Aligator, Arrows and online gradient descent against plain transcriptions, and what their state costs."""

import math

import naive
import numpy as np
import pytest
from test_flhftl import play, sequence

from baserate.adapters import RegressAndReweight
from baserate.checks._roles import PROBA, Y
from baserate.marginals import BBSE
from baserate.state import dumps
from baserate.trackers import Aligator, Arrows, OnlineGradientDescent
from baserate.trackers import aligator as aligator_module

KINDS = ["noise", "constant", "ties", "step", "wild"]


@pytest.mark.parametrize(("k", "T"), [(2, 140), (3, 70), (10, 40)])
@pytest.mark.parametrize("kind", KINDS)
def test_aligator_agrees_with_the_transcription(k, T, kind):
    rng = np.random.default_rng(k)
    zs, birth = sequence(kind, k, T, rng), rng.dirichlet(np.ones(k))
    for rate in (None, 5.0):
        tracker = Aligator(k, learning_rate=rate, prior=birth)
        expected = naive.aligator(zs.tolist(), birth, 0.5 if rate is None else rate)
        np.testing.assert_allclose(play(tracker, zs), expected, rtol=0, atol=1e-9)


def test_aligator_forgets_when_a_power_of_two_begins():
    tracker = Aligator(2, prior=[0.3, 0.7])
    played = play(tracker, np.tile([0.9, 0.1], (70, 1)))
    anew = [t for t in range(1, 71) if np.allclose(played[t - 1], [0.3, 0.7], atol=1e-12)]
    assert anew == [1, 2, 4, 8, 16, 32, 64]


def test_aligator_survives_sightings_that_no_interval_expected():
    tracker = Aligator(2, learning_rate=100.0)
    for z in ([0.0, 0.0], [1e6, -1e6], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0]):
        tracker.update(z)
        assert np.isfinite(tracker.predict()).all()


def test_aligator_goes_on_beyond_its_longest_interval(monkeypatch):
    """With 3 levels instead of 20, the intervals are 1, 2 and 4 long for ever."""
    script_levels = 3
    monkeypatch.setattr(aligator_module, "_LEVELS", script_levels)
    kernels = {name: getattr(aligator_module, name) for name in ("_play", "_predict", "_update")}
    for name, kernel in kernels.items():
        monkeypatch.setattr(aligator_module, name, getattr(kernel, "py_func", kernel))
    tracker = Aligator(2)
    played = play(tracker, np.tile([0.9, 0.1], (41, 1)))
    np.testing.assert_allclose(played[[4, 8, 12, 40 - 1 + 0]][:3], 0.5 * np.ones((3, 2)), atol=0.41)
    assert np.isfinite(played).all()
    np.testing.assert_allclose(played[5:8], played[13:16], atol=1e-12)  # the same within each four rounds


def test_aligator_rates():
    assert Aligator(3).rate_ == 0.5
    assert Aligator(3, learning_rate="theory").rate_ == 1 / 8
    adapter = RegressAndReweight(Aligator(3, learning_rate="theory"), BBSE(clip=False)).fit(PROBA, Y)
    assert adapter.tracker_.rate_ == pytest.approx(adapter.marginals_.sigma_min_**2 / 8)


@pytest.mark.parametrize(("k", "T"), [(2, 150), (10, 60)])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("given", [{}, {"sigma": 0.1, "horizon": 150}, {"beta": 0.5}, {"sigma": 0.02, "beta": 24.0}])
def test_arrows_agrees_with_the_transcription(k, T, kind, given):
    rng = np.random.default_rng(k)
    zs, birth = sequence(kind, k, T, rng), rng.dirichlet(np.ones(k))
    expected, restarts = naive.arrows(zs.tolist(), birth, **given)
    tracker, left = Arrows(k, prior=birth, **given), []
    got = [tracker.predict()]
    for t, z in enumerate(zs, start=1):
        tracker.update(z)
        got.append(tracker.predict())
        left += [(t, c) for c in np.flatnonzero(tracker._state.in_bin[0] == 0)]
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9)
    assert left == restarts
    if kind == "step":
        assert restarts


def test_arrows_starts_a_bin_from_the_last_sighting():
    tracker = Arrows(2, sigma=0.01, horizon=100)
    for z in 8 * [[0.2, 0.8]] + [[0.9, 0.1]]:
        tracker.update(z)
    np.testing.assert_array_equal(tracker.predict(), [0.9, 0.1])
    tracker.update([0.7, 0.3])
    np.testing.assert_array_equal(tracker.predict(), [0.7, 0.3])  # the new bin has its own sightings only
    tracker.update([0.71, 0.29])
    np.testing.assert_allclose(tracker.predict(), [0.705, 0.295], atol=1e-15)


def test_arrows_estimates_the_noise():
    """From differences, so that a drift or a jump hardly counts."""
    rng = np.random.default_rng(0)
    for drift in (np.zeros(4000), np.linspace(0, 5, 4000), np.repeat([0.0, 3.0], 2000)):
        tracker = Arrows(2)
        for z in 0.3 * rng.standard_normal((4000, 2)) + drift[:, None]:
            tracker.update(z)
        np.testing.assert_allclose(np.sqrt(tracker._state.squares[0] / 2 / 3999), 0.3, rtol=0.04)


def test_arrows_rarely_takes_noise_for_a_change():
    rng = np.random.default_rng(0)
    left = np.zeros(200)
    for run in range(200):
        tracker = Arrows(2)
        for z in rng.normal(size=(300, 2)):
            tracker.update(z)
            left[run] += (tracker._state.in_bin[0] == 0).sum()
    assert left.mean() < 0.2


@pytest.mark.parametrize("given", [{}, {"variation": 3.0}, {"variation": 0.0, "horizon": 90}])
def test_gradient_descent_agrees_with_the_transcription(given):
    rng = np.random.default_rng(0)
    zs, birth = rng.standard_normal((90, 3)), rng.dirichlet(np.ones(3))
    variation, horizon = given.get("variation", 1.0), given.get("horizon")

    def step(t):
        n = horizon or 2 ** math.ceil(math.log2(t))
        return min(0.5, 0.5 * math.sqrt((1 + variation) / n))

    expected = naive.online_gradient_descent(zs.tolist(), birth, step)
    np.testing.assert_allclose(play(OnlineGradientDescent(3, prior=birth, **given), zs), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("cls", [Aligator, Arrows])
def test_the_state_has_one_size(cls):
    early, late = cls(10), cls(10)
    rng = np.random.default_rng(0)
    for t in range(3000):
        z = rng.dirichlet(np.ones(10))
        late.update(z)
        if t < 3:
            early.update(z)
    assert abs(len(dumps(early)) - len(dumps(late))) < 64
