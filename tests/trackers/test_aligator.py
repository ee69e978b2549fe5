"""Aligator against a plain transcription, and at the edges of its intervals."""

import numpy as np
import pytest

from baserate.adapters import RegressAndReweight
from baserate.checks._roles import PROBA, Y
from baserate.marginals import BBSE
from baserate.trackers import Aligator
from baserate.trackers import aligator as aligator_module

from . import naive
from .sequences import KINDS, play, sequence
from .without_compiler import in_python


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


def test_aligator_goes_on_beyond_its_longest_interval(monkeypatch):
    """With 3 levels instead of 20, the intervals are 1, 2 and 4 long for ever."""
    in_python(monkeypatch, aligator_module, ("_combine", "_predict", "_update"), _LEVELS=3)
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


def test_aligator_rates():
    assert Aligator(3).rate_ == 0.5
    assert Aligator(3, learning_rate="theory").rate_ == 1 / 8
    adapter = RegressAndReweight(Aligator(3, learning_rate="theory"), BBSE(clip=False)).fit(PROBA, Y)
    assert adapter.tracker_.rate_ == pytest.approx(adapter.marginals_.sigma_min_**2 / 8)
