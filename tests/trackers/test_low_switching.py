"""LPA against a plain transcription; false alarms while nothing changes, and how soon a change is seen."""

import math

import naive
import numpy as np
import pytest

from baserate.adapters import RegressAndReweight
from baserate.checks._roles import PROBA, Y
from baserate.state import dumps, loads
from baserate.trackers import (
    FLHFTL,
    Aligator,
    Arrows,
    FollowTheHistory,
    LastSighting,
    LowSwitching,
    _stationary,
)


def frequencies(q, n, rounds, rng):
    return rng.multinomial(n, q, size=rounds) / n


def play(tracker, zs):
    """Predictions of rounds 1..T+1, and the rounds that changed them."""
    played, switches = [tracker.predict()], []
    for t, z in enumerate(zs, start=1):
        tracker.update(z)
        played.append(tracker.predict())
        if tracker.switched_:
            switches.append(t)
    return np.array(played), switches


def born(cls, k, **params):
    """How to make a wrapped tracker with a given birth value."""

    def make(birth):
        tracker = cls(k, **params)
        tracker.restart(birth)
        return tracker

    return make


SEQUENCES = {
    "steps": lambda rng: np.concatenate(
        [frequencies(q, 30, 40, rng) for q in ([0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.3, 0.4, 0.3])]
    ),
    "still": lambda rng: frequencies([0.2, 0.3, 0.5], 10, 130, rng),
    "wild": lambda rng: rng.standard_normal((90, 3)),
}


@pytest.mark.parametrize("kind", SEQUENCES)
@pytest.mark.parametrize(
    ("cls", "params"), [(FLHFTL, {}), (FLHFTL, {"experts": "window"}), (Aligator, {}), (LastSighting, {})]
)
def test_agrees_with_the_transcription(kind, cls, params):
    zs = SEQUENCES[kind](np.random.default_rng(0))
    birth, k = [0.2, 0.3, 0.5], 3

    def theory(t, b, z):
        horizon = 2 ** math.ceil(math.log2(t))
        return 5 * k * 0.001 * math.log(2 * horizon / 0.1)

    limits = {
        "theory": ({"threshold": "theory", "sigma2": 0.001, "delta": 0.1}, theory),
        0.2987: ({}, lambda t, b, z: 0.2987),
    }
    for threshold, (given, limit) in limits.items():
        tracker = LowSwitching(cls(k, prior=birth, **params), **{"threshold": threshold, **given})
        expected, changes = naive.lpa(zs.tolist(), birth, born(cls, k, **params), limit)
        played, switches = play(tracker, zs)
        np.testing.assert_allclose(played, expected, rtol=0, atol=1e-9)
        assert tracker.change_points_ == changes
        assert switches == (1 + np.flatnonzero(np.abs(np.diff(expected, axis=0)).max(axis=1) > 1e-12)).tolist()
    if kind == "steps":
        assert changes


def test_the_thresholds_of_theory():
    """5 k sigma^2 log(2 T / delta), the constants of the algorithm."""
    tracker = LowSwitching(FLHFTL(10), threshold="theory", sigma2=1 / 50, horizon=200)
    tracker.update(np.full(10, 0.1))
    tracker.update(np.full(10, 0.1))
    assert tracker._limit() == pytest.approx(5 * 10 / 50 * math.log(2 * 200 / 0.05))
    assert tracker._limit() == pytest.approx(9.0, abs=0.02)


def test_theory_estimates_the_noise_where_it_is_not_given():
    zs = frequencies([0.5, 0.3, 0.2], 20, 50, np.random.default_rng(0))
    tracker = LowSwitching(FollowTheHistory(3), threshold="theory", horizon=50, delta=0.1)
    play(tracker, zs)
    variance = (np.diff(zs, axis=0) ** 2).mean(axis=0) / 2
    assert tracker.change_points_ == []
    assert tracker._limit() == pytest.approx(5 * 3 * variance.max() * math.log(2 * 50 / 0.1))


def test_the_mean_is_renewed_at_powers_of_two():
    zs = frequencies([0.5, 0.3, 0.2], 20, 40, np.random.default_rng(0))
    played, switches = play(LowSwitching(FLHFTL(3, prior=[0.1, 0.1, 0.8])), zs)
    assert switches == [1, 2, 4, 8, 16, 32]
    np.testing.assert_array_equal(played[0], [0.1, 0.1, 0.8])
    np.testing.assert_allclose(played[39], zs[:32].mean(axis=0), atol=1e-15)
    np.testing.assert_allclose(played[7], zs[:4].mean(axis=0), atol=1e-15)


MIXES = {
    "even 2": [0.5, 0.5],
    "rare 2": [0.97, 0.03],
    "even 10": [0.1] * 10,
    "one large": [0.55] + [0.05] * 9,
    "falling": (0.6 ** np.arange(10) / (0.6 ** np.arange(10)).sum()).tolist(),
    "nearly one": [0.991] + [0.001] * 9,
}


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("n", [1, 10, 50, 200])
def test_what_stands_still_is_left_alone(mix, n):
    """At most log2 T + 1 switches in a fraction 1 - delta of the runs, whether the prior is good, bad or terrible."""
    q = np.array(MIXES[mix])
    k, T, runs = len(q), 128, 40
    rng = np.random.default_rng(n)
    priors = [q, np.full(k, 1 / k), np.eye(k)[-1]]
    too_many = 0
    for run in range(runs):
        tracker = LowSwitching(FLHFTL(k, prior=priors[run % 3]))
        too_many += len(play(tracker, frequencies(q, n, T, rng))[1]) > math.log2(T) + 1
    assert too_many <= _binomial_limit(runs, 0.05)


def _binomial_limit(runs, probability):
    """What a count stays below with probability 0.999 if the chance is as promised."""
    return int(np.quantile(np.random.default_rng(0).binomial(runs, probability, size=100_000), 0.999))


@pytest.mark.parametrize("make", [Aligator, Arrows, FollowTheHistory, LastSighting], ids=lambda c: c.__name__)
@pytest.mark.parametrize("horizon", [None, 150])
def test_any_tracker_can_be_wrapped(make, horizon):
    """How far a tracker strays by itself is simulated, so that even one that never settles gives no false alarms."""
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(40):
        tracker = LowSwitching(make(3), horizon=horizon)
        play(tracker, frequencies([0.2, 0.3, 0.5], 20, 150, rng))
        alarms += bool(tracker.change_points_)
    assert alarms <= _binomial_limit(40, 0.05)


EVEN = np.full(10, 0.1)
CHANGES = {
    "one class grows": (EVEN, EVEN + 0.25 * (np.eye(10)[0] - (1 - np.eye(10)[0]) / 9)),
    "two classes swap": (np.array([0.35, 0.1] + [0.55 / 8] * 8), np.array([0.1, 0.35] + [0.55 / 8] * 8)),
    "five grow": (EVEN, EVEN + 0.05 * np.repeat([1, -1], 5)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen_within_thirty_rounds(change):
    before, after = CHANGES[change]
    assert np.abs(after - before).sum() == pytest.approx(0.5)
    rng = np.random.default_rng(0)
    delays = []
    for _ in range(60):
        tracker = LowSwitching(FLHFTL(10))
        play(tracker, np.concatenate([frequencies(before, 50, 100, rng), frequencies(after, 50, 30, rng)]))
        delays += [min((t - 100 for t in tracker.change_points_ if t > 100), default=99)]
    assert np.mean(np.array(delays) <= 30) >= 0.9


def test_the_theory_does_not_see_it_in_time():
    before, after = CHANGES["one class grows"]
    rng = np.random.default_rng(0)
    tracker = LowSwitching(FLHFTL(10), threshold="theory", sigma2=1 / 50, horizon=200)
    play(tracker, np.concatenate([frequencies(before, 50, 100, rng), frequencies(after, 50, 100, rng)]))
    assert tracker.change_points_ == []


def test_a_wrong_birth_value_would_restart_for_ever():
    """The last sighting is the better birth value: the tracker's own would be taken for a change, again and again."""
    birth, k = [1.0, 0.0, 0.0], 3
    zs = frequencies([0.2, 0.3, 0.5], 200, 200, np.random.default_rng(0))
    limit = 5 * k / 200 / 20 * math.log(2 * 200 / 0.05)

    def make(value):
        return born(FLHFTL, k)(value)

    _, changes = naive.lpa(zs.tolist(), birth, make, lambda t, b, z: limit, born_at_sightings=False)
    assert len(changes) > 10
    tracker = LowSwitching(FLHFTL(k, prior=birth), threshold=limit)
    play(tracker, zs)
    assert tracker.change_points_ == []


def test_after_a_change_the_tracker_is_born_at_the_sighting_and_then_fed_it():
    tracker = LowSwitching(FollowTheHistory(2), threshold=0.5)
    zs = [[1.0, 0.0]] * 4 + [[0.0, 1.0]] * 40
    for z in zs:
        tracker.update(z)
        if tracker.change_points_:
            break
    np.testing.assert_array_equal(tracker.predict(), [0.0, 1.0])
    assert tracker.tracker_._state.seen[0] == 1
    tracker.update([0.5, 0.5])  # the first of the new stretch: b = t + 1
    np.testing.assert_array_equal(tracker.predict(), [0.5, 0.5])


def test_a_sequence_without_noise():
    tracker = LowSwitching(FLHFTL(2))
    _, switches = play(tracker, np.tile([0.1, 0.9], (100, 1)))
    assert switches == [1]
    play(tracker, np.tile([0.9, 0.1], (100, 1)))
    assert tracker.change_points_


def test_the_wrapped_tracker_is_cloned_and_told_what_the_adapter_knows():
    inner = FLHFTL(3, learning_rate="theory")
    adapter = RegressAndReweight(LowSwitching(inner), calibrator=None).fit(PROBA, Y)
    running = adapter.tracker_.tracker_
    assert running is not inner
    assert running.rate_ == pytest.approx(adapter.marginals_.sigma_min_**2 / 24)
    np.testing.assert_array_equal(adapter.prior_, adapter.source_prior_)
    before = dumps(inner)
    for _ in range(5):
        adapter.step(PROBA[:5])
    assert dumps(inner) == before


def test_a_tracker_without_restart_is_reset():
    class Plain:
        def __init__(self):
            self.reset()

        def reset(self):
            self.seen = []

        def predict(self):
            return np.mean(self.seen, axis=0) if self.seen else np.array([0.5, 0.5])

        def update(self, z, evidence=None):
            self.seen.append(z)

    tracker = LowSwitching(Plain())
    rng = np.random.default_rng(0)
    play(tracker, np.concatenate([frequencies([0.9, 0.1], 50, 60, rng), frequencies([0.2, 0.8], 50, 60, rng)]))
    assert tracker.change_points_[0] > 60
    assert len(tracker.tracker_.seen) == 120 - tracker.change_points_[-1] + 1


def test_parameters_can_be_set_deeply():
    tracker = LowSwitching(FLHFTL(3)).set_params(tracker__n_classes=4, delta=0.1)
    assert tracker.predict().shape == (4,)
    with pytest.raises(ValueError, match="delta"):
        tracker.set_params(delta=2.0)
    assert tracker.delta == 0.1


@pytest.mark.parametrize("key", ["FLHFTL, start", "FLHFTL, window", "Aligator"])
def test_the_table_is_what_the_simulation_gives(key):
    make = {
        "FLHFTL, start": lambda: FLHFTL(5),
        "FLHFTL, window": lambda: FLHFTL(5, experts="window"),
        "Aligator": lambda: Aligator(5),
    }[key]
    again = _stationary.simulate(make(), n_phases=8, n_runs=100, seed=1)
    table = _stationary.straying(make())
    np.testing.assert_allclose(again.mean[1:], table.mean[1:8], rtol=0.12)
    np.testing.assert_allclose(again.sd[1:], table.sd[1:8], rtol=0.2)


def test_beyond_the_table_growth_goes_on():
    logs, lines = np.arange(5.0), 2.0 ** np.arange(5)
    assert _stationary.extended(logs, 9) == pytest.approx(9.0)
    assert _stationary.extended(lines, 9) == pytest.approx(2.0**9)
    assert _stationary.extended(lines, 2) == 4.0


def test_resumes_where_the_threshold_was_simulated():
    rng = np.random.default_rng(0)
    running = LowSwitching(FollowTheHistory(3))
    play(running, frequencies([0.2, 0.3, 0.5], 10, 30, rng))
    resumed = loads(dumps(running))
    zs = frequencies([0.5, 0.3, 0.2], 10, 80, rng)
    np.testing.assert_array_equal(play(running, zs)[0], play(resumed, zs)[0])
    assert running.change_points_ == resumed.change_points_ != []
