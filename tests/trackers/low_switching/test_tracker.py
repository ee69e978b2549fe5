"""LPA against a plain transcription; false alarms while nothing changes, and how soon a change is seen."""

import math

import numpy as np
import pytest
from scipy.stats import f as fisher

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
)
from baserate.trackers.low_switching import stationary

from .. import naive


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


@pytest.mark.parametrize("kind", SEQUENCES)
def test_to_the_letter_agrees_with_the_transcription(kind):
    """prev = 0 at first, and the wrapped tracker is restarted at its own birth value, then fed the sighting."""
    zs, prior = SEQUENCES[kind](np.random.default_rng(1)), [0.2, 0.3, 0.5]
    tracker = LowSwitching(FLHFTL(3, prior=prior), threshold=0.2987, literal=True)
    expected, changes = naive.lpa(
        zs.tolist(), [0.0] * 3, lambda _: FLHFTL(3, prior=prior), lambda t, b, z: 0.2987, born_at_sightings=False
    )
    np.testing.assert_allclose(play(tracker, zs)[0], expected, rtol=0, atol=1e-9)
    assert tracker.change_points_ == changes
    assert not tracker.__class__(FLHFTL(3), threshold=0.3, literal=True).predict().any()


def test_to_the_letter_a_wrong_birth_value_is_taken_for_a_change_again_and_again():
    zs = frequencies([0.9, 0.05, 0.05], 2000, 100, np.random.default_rng(0))
    given = {"threshold": "theory", "sigma2": 1 / 2000}
    letter, ours = (LowSwitching(FLHFTL(3, prior=[0.05, 0.05, 0.9]), **given, literal=flag) for flag in (True, False))
    play(letter, zs)
    play(ours, zs)
    assert len(letter.change_points_) > 10
    assert ours.change_points_ == []


def test_to_the_letter_needs_a_threshold_that_knows_of_it():
    with pytest.raises(ValueError, match="literal is True, and threshold is 'calibrated'"):
        LowSwitching(FLHFTL(3), literal=True)


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

    _, changes = naive.lpa(zs.tolist(), birth, born(FLHFTL, k), lambda t, b, z: limit, born_at_sightings=False)
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


def test_a_tracker_that_learns_something_new_is_judged_anew():
    tracker = LowSwitching(FLHFTL(2, learning_rate="theory"))
    play(tracker, 6 * np.random.default_rng(0).standard_normal((20, 2)))
    before = tracker._straying[0]
    tracker.bind(prior=np.array([0.5, 0.5]), sigma_min=0.01)  # far slower: noise of this size no longer matters
    tracker.update([0.0, 0.0])
    assert before[3] != tracker._straying[0][3] == stationary._TABLE["FLHFTL, start"].mean[3]


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


def test_resumes_where_the_threshold_was_simulated():
    rng = np.random.default_rng(0)
    running = LowSwitching(FollowTheHistory(3))
    play(running, frequencies([0.2, 0.3, 0.5], 10, 30, rng))
    resumed = loads(dumps(running))
    zs = frequencies([0.5, 0.3, 0.2], 10, 80, rng)
    np.testing.assert_array_equal(play(running, zs)[0], play(resumed, zs)[0])
    assert running.change_points_ == resumed.change_points_ != []


@pytest.mark.parametrize("given", [{}, {"horizon": 300}, {"sigma2": 0.02}, {"sigma2": 0.02, "horizon": 10}])
@pytest.mark.parametrize("mix", [[0.6, 0.3, 0.1], [0.96, 0.02, 0.02]])
def test_the_calibrated_threshold_by_hand(given, mix):
    zs = np.random.default_rng(0).multinomial(20, mix, size=33) / 20
    tracker = LowSwitching(FLHFTL(3), delta=0.1, **given)
    table = stationary._TABLE["FLHFTL, start"]
    for n, z in enumerate(zs, start=1):
        tracker.update(z)
        assert tracker.change_points_ == []
        if n <= 8:
            assert tracker._limit() == math.inf
            continue
        phase = {9: 3, 16: 3, 17: 4, 32: 4, 33: 5}.get(n)
        if phase is None:
            continue
        steps = np.diff(zs[:n], axis=0)
        noise = (steps**2).sum(axis=0) / (2 * (n - 1)) if "sigma2" not in given else np.full(3, 0.02)
        freedom, excess, noise_freedom = max(noise.sum() ** 2 / (noise**2).sum() - 1, 1), 0.0, 1e9
        if "sigma2" not in given:
            lengths = (steps**2).sum(axis=1)
            variability = max((lengths**2).mean() / lengths.mean() ** 2 - 1, 2 / freedom)
            freedom, excess = max(2 / variability, 1), max(variability - 2, 0)
            noise_freedom = (n - 1) * 2 / 3 * 2 / variability
        share = 0.1 * 3 / (phase * (phase + 1))
        if "horizon" in given:
            share = 0.1 / {300: 6, 10: 1}[given["horizon"]]  # phases 3..8 hold 9..512 sightings
        rare = math.pi**2 / 6 / (math.log(2) * (phase + 1)) ** 2
        shape = 1 / ((table.sd[phase] / table.mean[phase]) ** 2 / freedom + excess * rare)
        expected = noise.sum() * table.mean[phase] * fisher.ppf(1 - share, 2 * shape, noise_freedom)
        assert tracker._limit() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("size", [0.5, 2.0])
@pytest.mark.parametrize("rate", [None, 20.0])
def test_noise_that_moves_the_weights_is_simulated_at_its_size(size, rate):
    """Large against the learning rate, noise makes FLH-FTL stray farther than the table says."""
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(30):
        tracker = LowSwitching(FLHFTL(2, learning_rate=rate))
        play(tracker, size * rng.standard_normal((100, 2)))
        alarms += bool(tracker.change_points_)
    assert alarms <= _binomial_limit(30, 0.05)


def test_classes_that_move_together_are_fewer_than_they_seem():
    """Noise along one direction of ten classes, as of unclipped sightings by a confused model."""
    rng = np.random.default_rng(0)
    direction = rng.standard_normal(10)
    direction -= direction.mean()
    alarms = 0
    for _ in range(40):
        tracker = LowSwitching(FLHFTL(10))
        play(tracker, 0.1 + 0.05 * rng.standard_normal((128, 1)) * direction)
        alarms += bool(tracker.change_points_)
    assert alarms <= _binomial_limit(40, 0.05)


def test_noise_that_is_hardly_there():
    for eps in (1e-20, 1e-60, 1e-90, 1e-150):
        tracker = LowSwitching(FLHFTL(2))
        rng = np.random.default_rng(0)
        play(tracker, np.column_stack([np.ones(30), eps * rng.random(30)]))
        assert tracker.change_points_ == []


def test_a_statistic_at_the_threshold_is_no_change():
    for threshold, changes in ((1.0, []), (0.999, [3])):
        tracker = LowSwitching(LastSighting(2), threshold=threshold)
        for z in ([1.0, 0.0], [0.0, 1.0], [0.5, 0.5]):
            tracker.update(z)
        assert tracker.change_points_ == changes
        assert not tracker.switched_  # the mean of the first two was [0.5, 0.5] already


def test_evidence_reaches_the_wrapped_tracker():
    class Listening(FollowTheHistory):
        def _observe(self, z, evidence):
            self.heard = evidence
            super()._observe(z, evidence)

    tracker, evidence = LowSwitching(Listening(2)), object()
    tracker.update([0.5, 0.5], evidence)
    assert tracker.tracker_.heard is evidence


def test_an_error_of_the_wrapped_tracker_changes_nothing():
    class Fussy(FollowTheHistory):
        def _observe(self, z, evidence):
            if z[0] > 5:
                raise RuntimeError("no")
            super()._observe(z, evidence)

    for n, given in ((0, {}), (5, {}), (5, {"threshold": 1e-9})):  # first round, plain, and at a restart
        tracker = LowSwitching(Fussy(2), **given)
        for i in range(n):
            tracker.update([0.5 + 0.1 * (i % 2), 0.5])
        before = dumps(tracker)
        with pytest.raises(RuntimeError):
            tracker.update([6.0, 0.0])
        assert dumps(tracker) == before


def test_theory_on_a_sequence_without_noise():
    tracker = LowSwitching(FLHFTL(2), threshold="theory")
    for _ in range(100):
        tracker.update([0.1, 0.9])
    assert tracker.change_points_ == []


def test_restart_and_reset_forget():
    tracker = LowSwitching(FollowTheHistory(2))
    tracker.update([0.9, 0.1])
    assert tracker.switched_
    tracker.restart([0.3, 0.7])
    for prediction in (tracker.predict(), tracker.tracker_.predict()):
        np.testing.assert_array_equal(prediction, [0.3, 0.7])
    assert not tracker.switched_
    tracker.reset()
    assert dumps(tracker) == dumps(LowSwitching(FollowTheHistory(2)))


@pytest.mark.parametrize("name", ["_prev", "_last", "_sum", "_squares", "_estimates_mean"])
def test_a_state_of_the_wrong_shape_is_refused(name):
    tracker = LowSwitching(FLHFTL(3))
    setattr(tracker, name, np.zeros(4))
    with pytest.raises(ValueError, match=r"of length 4, not of length 3|of length 3, not of length 4"):
        loads(dumps(tracker))


def test_a_state_with_a_tracker_of_other_classes_is_refused():
    tracker = LowSwitching(FLHFTL(3))
    tracker.tracker_ = FLHFTL(4)
    with pytest.raises(ValueError, match="tracker_ of length 4"):
        loads(dumps(tracker))


def test_a_tracker_that_never_moves_can_be_wrapped():
    class Still(FollowTheHistory):
        def _observe(self, z, evidence):
            pass

    rng = np.random.default_rng(0)
    tracker = LowSwitching(Still(2))
    play(tracker, frequencies([0.5, 0.5], 20, 600, rng))
    assert tracker.change_points_ == []
