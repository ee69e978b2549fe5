"""Arrows against a plain transcription: its bins, its thresholds, the noise it estimates."""

import numpy as np
import pytest

from baserate.state import dumps, loads
from baserate.trackers import Arrows
from baserate.trackers import arrows as arrows_module

from . import naive
from .sequences import KINDS, sequence
from .without_compiler import in_python


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
    with pytest.raises(ValueError, match=r"in_bin with a number (above|below)"):
        loads(dumps(tracker))


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
