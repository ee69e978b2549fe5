"""Aligator, Arrows and online gradient descent against plain transcriptions, and what their state costs."""

import math

import numpy as np
import pytest

from baserate.adapters import RegressAndReweight
from baserate.checks._roles import PROBA, Y
from baserate.marginals import BBSE
from baserate.state import dumps, loads
from baserate.trackers import Aligator, Arrows, OnlineGradientDescent
from baserate.trackers import aligator as aligator_module
from baserate.trackers import arrows as arrows_module

from . import naive
from .test_flhftl import play, sequence

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
    played = play(Aligator(2, prior=[0.3, 0.7]), np.tile([0.9, 0.1], (1100, 1)))
    anew = [t for t in range(1, 1101) if np.allclose(played[t - 1], [0.3, 0.7], atol=1e-12)]
    assert anew == [2**j for j in range(11)]


def test_aligator_survives_sightings_that_no_interval_expected():
    tracker = Aligator(2, learning_rate=100.0)
    for z in ([0.0, 0.0], [1e6, -1e6], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0]):
        tracker.update(z)
        assert np.isfinite(tracker.predict()).all()


def in_python(monkeypatch, module, names, **constants):
    """Let a module work with other constants, which compiled code would not see."""
    for name in names:
        kernel = getattr(module, name)
        monkeypatch.setattr(module, name, getattr(kernel, "py_func", kernel))
    for name, value in constants.items():
        monkeypatch.setattr(module, name, value)


def test_aligator_goes_on_beyond_its_longest_interval(monkeypatch):
    """With 3 levels instead of 20, the intervals are 1, 2 and 4 long for ever."""
    in_python(monkeypatch, aligator_module, ("_play", "_predict", "_update"), _LEVELS=3)
    played = play(Aligator(2), np.tile([0.9, 0.1], (41, 1)))
    np.testing.assert_allclose(played[[3, 7, 11, 39]], 0.5, atol=1e-12)
    np.testing.assert_allclose(played[5:8], played[13:16], atol=1e-12)  # the same within each four rounds


def test_aligator_gives_back_what_was_lost_to_the_last_digit():
    """The weight of those awake together stays what it was, however wild the sighting."""
    tracker = Aligator(2, learning_rate=0.5)
    for z in ([0.2, 0.8], [0.3, 0.7], [0.1, 0.9]):
        tracker.update(z)
    for size in (1.0, 1e6, 1e9):
        tracker.restart([0.5, 0.5])
        for t in range(1, 7):
            awake = t.bit_length()
            before = np.exp(tracker._state.log_weights[0, :awake, 0]).sum()
            tracker.update([size * (-1) ** t, 0.5])
            still = [level for level in range(awake) if (t + 1) % 2**level]  # the others have begun anew
            assert np.exp(tracker._state.log_weights[0, still, 0]).sum() <= before * (1 + 1e-9)


@pytest.mark.parametrize("cls", [Aligator, Arrows, OnlineGradientDescent])
def test_inside_an_adapter_it_is_born_at_the_source_marginal(cls):
    adapter = RegressAndReweight(cls(3), calibrator=None).fit(PROBA, Y)
    np.testing.assert_array_equal(adapter.prior_, adapter.source_prior_)


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


def test_arrows_counts_the_coefficients_whose_right_half_is_padding():
    """Hardly any threshold, four zeros and an x: the coefficients of x add up to 0.4, 0.2 and 0.2 times x."""
    for x, left in ((0.45, True), (0.43, False)):  # 0.8 x against 1 / sqrt(8)
        tracker = Arrows(2, sigma=1.0, beta=1e-12, horizon=2)
        for z in [0.0] * 4 + [x]:
            tracker.update([z, 0.0])
        assert (tracker._state.in_bin[0, 0] == 0) == left


def test_arrows_leaves_the_longest_bin(monkeypatch):
    """With 3 levels instead of 32, a bin ends after 7 rounds."""
    kernels = ("_soft", "_enter", "_mean", "_unfinished", "_predict", "_update")
    in_python(monkeypatch, arrows_module, kernels, _LEVELS=3, _LONGEST=7)
    tracker, bins = Arrows(2), []
    for _ in range(16):
        tracker.update([0.9, 0.1])
        bins.append(int(tracker._state.in_bin[0, 0]))
    assert bins == [1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6, 0, 1, 2]


@pytest.mark.parametrize("m", [2**40 - 1, 2**62 - 1, -1])
def test_a_file_cannot_lead_arrows_out_of_its_arrays(m):
    tracker = Arrows(2)
    tracker._state.in_bin[:] = m
    loaded = loads(dumps(tracker))
    for _ in range(5):
        assert np.isfinite(loaded.predict()).all()
        loaded.update([0.5, 0.4])


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


def test_gradient_descent_starts_with_a_whole_step():
    tracker = OnlineGradientDescent(2, variation=0.0)
    tracker.update([0.9, 0.1])
    np.testing.assert_allclose(tracker.predict(), [0.9, 0.1], atol=1e-15)


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
