"""Runs: what they may not become whatever comes, late labels, idle rounds, keys of a bank, and without the compiler."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baserate import Bank
from baserate.adapters import RegressAndReweight
from baserate.protocols import Evidence
from baserate.state import dumps, loads
from baserate.trackers import LikelihoodMixture

from .streams import draw, rounds_of

SEEDS = st.integers(0, 2**32 - 1)


def is_sound(tracker):
    """Check that everything is a number, and everything that should be is a class mix or weights."""
    state = tracker._state
    for name, array in state._asdict().items():
        assert np.isfinite(array).all(), name
        assert (array >= (-2 if name == "seasons" else 0)).all(), name  # of directions there is less or more
    assert state.overlaps.max(initial=0.0) <= 1.0 + 1e-9
    for mixes in (
        state.run_mixes[0].T,
        state.run_weights,
        state.arms,
        state.season_arms,
        state.season_arms_seen,
        state.weights[0],
        state.trust,
    ):
        np.testing.assert_allclose(mixes.sum(axis=1), 1.0, rtol=0, atol=1e-9)
    assert tracker.predict().min() >= 0.0
    assert tracker.predict().sum() == pytest.approx(1.0, abs=1e-9)
    assert dumps(loads(dumps(tracker))) == dumps(tracker)


def sure(k, n, label, rest=1e-15):
    proba = np.full((n, k), rest / (k - 1))
    proba[:, label] = 1.0 - rest
    return proba


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, k=st.sampled_from([2, 3, 10, 32, 33]))
def test_runs_stay_runs_whatever_comes(seed, k):
    """Vague and certain rows of any source, labels that contradict them, estimates, idle rounds and late labels."""
    rng = np.random.default_rng(seed)
    prior, source = rng.dirichlet(np.ones(k)), np.maximum(rng.dirichlet(np.full(k, 0.3)), 1e-6)
    source /= source.sum()
    tracker, notes = LikelihoodMixture(k, prior=prior), []
    tracker.tolerate(np.full(k, rng.choice([0.0, 0.02])))
    for _ in range(12):
        n, what = int(rng.choice([0, 1, 7, 40, 300])), rng.integers(5)
        proba = rng.dirichlet(np.full(k, rng.choice([0.01, 1.0, 100.0])), size=n)
        if what == 0:
            tracker.update(rng.dirichlet(np.full(k, 0.1)))
        elif what == 1:
            tracker.idle(int(rng.choice([1, 30])))
        elif what == 2 and notes:
            note, late = notes.pop(int(rng.integers(len(notes))))
            tracker.correct(note, late, np.full(len(late), rng.integers(k)))
        else:
            evidence = Evidence(proba, source, rng.integers(-1, k, size=n) if what == 3 else None)
            if n and what == 4:
                notes.append((tracker.note(evidence), proba))
            tracker.update(prior, evidence)
    is_sound(tracker)


@pytest.mark.parametrize("k", [2, 10, 40])
def test_extremes_leave_nothing_broken(k):
    even, tiny = np.full(k, 1 / k), np.r_[np.full(k - 1, 1e-6), 1 - 1e-6 * (k - 1)]
    sizes = (1, 10, 300, 3000, 1, 2)
    vague = [Evidence(np.tile(even, (n, 1)), even) for n in sizes]
    streams = {
        "certain": [Evidence(sure(k, n, 0), even) for n in sizes],
        "in turns": [Evidence(sure(k, n, t % 2, 0.0), even) for t, n in enumerate((*sizes, 300, 3000))],
        "nearly impossible classes": [Evidence(sure(k, n, 0), tiny) for n in sizes],
        "no class but one": [Evidence(sure(k, n, k - 1), tiny) for n in sizes],
        "all equal": vague * 5,
        "all labels": [Evidence(e.proba, even, np.zeros(e.n, dtype=np.int64)) for e in vague * 5],
        "all labels wrong": [Evidence(sure(k, e.n, 0, 0.0), even, np.ones(e.n, dtype=np.int64)) for e in vague * 5],
        "estimates of one class": [np.eye(k)[t // 50 % 2] for t in range(200)],
    }
    for rounds in streams.values():
        for prior in (even, tiny, np.eye(k)[0]):
            tracker = LikelihoodMixture(k, prior=prior)
            for batch in rounds:
                tracker.update(even, batch) if isinstance(batch, Evidence) else tracker.update(batch)
            is_sound(tracker)


def test_a_hundred_thousand_samples_in_a_round_and_as_many_rounds():
    rng, source = np.random.default_rng(0), np.array([0.5, 0.3, 0.2])
    proba, y = draw(rng, [0.2, 0.2, 0.6], 100_000)
    at_once, one_by_one = LikelihoodMixture(3), LikelihoodMixture(3)
    at_once.update(source, Evidence(proba, source, y))
    is_sound(at_once)
    np.testing.assert_allclose(at_once.predict(), np.bincount(y) / 100_000, rtol=0, atol=1e-3)
    played = one_by_one.play(Evidence(proba, np.full(3, 1 / 3), starts=np.arange(100_001)))
    is_sound(one_by_one)
    np.testing.assert_allclose(played.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(one_by_one.predict(), [0.2, 0.2, 0.6], rtol=0, atol=0.01)


def test_a_birth_value_without_weight_after_a_large_batch_can_be_saved_and_comes_back():
    tracker, source = LikelihoodMixture(2), np.array([0.5, 0.5])
    rng = np.random.default_rng(0)
    for n in (10, 3000):
        tracker.update(source, Evidence(sure(2, n, 0), source))
    assert tracker._state.run_weights[0, -1] == 0.0
    tracker = loads(dumps(tracker))
    for _ in range(300):
        tracker.update(source, Evidence(draw(rng, source, 10)[0], source))
    assert tracker._state.run_weights[0, -1] > 0.1


def run_mean(tracker):
    """The mean of the runs by their weights, and the birth value."""
    return tracker._state.run_mixes[0] @ tracker._state.run_weights[0]


@pytest.mark.parametrize("k", [3, 10, 40])
@pytest.mark.parametrize("sharp", [0.3, 4.0])
def test_a_label_that_comes_at_once_moves_runs_nearly_as_one_that_came_with_its_batch(k, sharp):
    rng, source = np.random.default_rng(5), np.full(k, 1 / k)
    in_time, late, never = (LikelihoodMixture(k) for _ in range(3))
    apart = {"late": [], "never": []}
    for t in range(120):
        q = np.roll(np.r_[0.6, np.full(k - 1, 0.4 / (k - 1))], t // 60)
        proba, y = draw(rng, q, 10, sharp=sharp)
        in_time.update(source, Evidence(proba, source, y))
        note = late.note(Evidence(proba, source))
        for tracker in (late, never):
            tracker.update(source, Evidence(proba, source))
        late.correct(note, proba, y)
        if t > 5:
            apart["late"].append(np.abs(run_mean(late) - run_mean(in_time)).max())
            apart["never"].append(np.abs(run_mean(never) - run_mean(in_time)).max())
    assert np.mean(apart["late"]) < (0.25 if k <= 32 else 0.7) * np.mean(apart["never"])
    is_sound(late)


@pytest.mark.parametrize("k", [3, 40])
def test_no_late_label_at_all_changes_nothing(k):
    tracker, source = LikelihoodMixture(k), np.full(k, 1 / k)
    evidence = Evidence(draw(np.random.default_rng(0), source, 20)[0], source)
    note = tracker.note(evidence)
    tracker.update(source, evidence)
    before = dumps(tracker)
    tracker.correct(note, np.empty((0, k)), np.empty(0, dtype=np.int64))
    assert dumps(tracker) == before


def test_late_labels_leave_later_runs_as_they_are():
    rng, source, notes = np.random.default_rng(0), np.full(3, 1 / 3), []
    tracker = LikelihoodMixture(3)
    for _ in range(12):
        proba, _ = draw(rng, [0.6, 0.3, 0.1], 12)
        notes.append((tracker.note(Evidence(proba, source)), proba))
        tracker.update(source, Evidence(proba, source))
    note, proba = notes[5]
    before = loads(dumps(tracker))._state
    tracker.correct(note, proba, np.full(12, 2))
    began = before.began[0]
    later, holding = began > note.t, (began > 0) & (began <= note.t)
    assert later.any()
    assert holding.any()
    for name in ("run_mixes", "overlaps", "sizes", "run_weights"):
        now, then = getattr(tracker._state, name)[0], getattr(before, name)[0]
        np.testing.assert_allclose(now[..., later], then[..., later], rtol=1e-12, atol=0)
    moved = tracker._state.run_mixes[0][2, holding] - before.run_mixes[0][2, holding]
    assert (moved > 1e-3).all()
    np.testing.assert_array_equal(tracker._state.began, before.began)


@pytest.mark.parametrize("share", [0.1, 1.0])
@pytest.mark.parametrize("lag", [0, 5, 20])
def test_late_labels_never_break_a_run(lag, share):
    """Ten classes, rounds of several parts: products of class probabilities could become no mean of any."""
    for seed in range(4):
        rng, source = np.random.default_rng(seed), np.full(10, 0.1)
        tracker, notes = LikelihoodMixture(10), []
        for t in range(60):
            proba, y = draw(rng, np.roll(np.r_[0.55, np.full(9, 0.05)], t // 25), int(rng.choice([1, 7, 40, 300])))
            notes.append((tracker.note(Evidence(proba, source)), proba, y))
            tracker.update(source, Evidence(proba, source))
            if t >= lag:
                note, late, labels = notes[t - lag]
                told = rng.random(len(labels)) < share
                tracker.correct(note, late[told], labels[told])
            assert np.isfinite(tracker.predict()).all()
        is_sound(tracker)


def test_idle_rounds_let_runs_end_and_one_that_has_not_begun_takes_their_weight():
    rng, source = np.random.default_rng(0), np.full(3, 1 / 3)
    tracker = LikelihoodMixture(3)
    for _ in range(50):
        tracker.update(source, Evidence(draw(rng, [0.8, 0.1, 0.1], 10)[0], source))
    state = tracker._state
    old = int(state.run_weights[0, :-1].argmax())
    first = weight = state.run_weights[0, old]
    mixes, age = state.run_mixes[0, :, old].copy(), 50 - state.began[0, old]
    for gap in (1, 100, 10_000):
        tracker.idle(gap)
        is_sound(tracker)
        assert state.run_weights[0, old] < weight
        weight = state.run_weights[0, old]
        np.testing.assert_array_equal(state.run_mixes[0, :, old], mixes)
        youngest = int(state.began[0, :-1].argmax())
        assert state.began[0, youngest] == state.rounds[0, 0]
        assert state.sizes[0, youngest] == 0.0
    assert weight == pytest.approx(first * ((age + 1) / (age + 10_102)) ** 0.05, rel=0.02)


@pytest.mark.parametrize(("k", "light"), [(3, False), (3, True), (40, False)])
def test_keys_of_a_bank_are_single_trackers_bit_for_bit_and_so_is_a_resumed_bank(k, light):
    rng = np.random.default_rng(0)
    holdout = draw(rng, np.full(k, 1 / k), 20 * k)
    adapter = RegressAndReweight(LikelihoodMixture(k, light=light), gate=False, calibrator=None).fit(*holdout)
    bank, alone = Bank(adapter), {}
    for t in range(30):
        n = int(rng.choice([1, 9, 200]))
        proba, _ = draw(rng, np.roll(np.r_[0.6, np.full(k - 1, 0.4 / (k - 1))], t // 15), n)
        keys = rng.integers(3, size=n)
        step = bank.step(keys, proba)
        for key in np.unique(keys):
            mine = keys == key
            one = alone.setdefault(key, loads(dumps(adapter))).step(proba[mine])
            assert one.proba.tobytes() == step.proba[mine].tobytes()
            assert one.prior.tobytes() == step.prior[step.keys.index(int(key))].tobytes()
        if t == 14:
            bank = loads(dumps(bank))


def everything(k, light):
    """Predictions while batches, labels, estimates, late labels and idle rounds come."""
    tracker, played, waiting = LikelihoodMixture(k, light=light), [], []
    tracker.tolerate(np.full(k, 0.1 / k))
    rng = np.random.default_rng(k)
    for t, evidence in enumerate(rounds_of(k, k, 25, sizes=(0, 1, 7, 40, 130))):
        waiting.append((tracker.note(evidence), evidence.proba))
        tracker.update(np.ones(k), evidence)
        if t % 4 == 3:
            note, proba = waiting[t - 2]
            tracker.correct(note, proba, rng.integers(k, size=len(proba)))
            tracker.update(rng.dirichlet(np.ones(k)))
            tracker.idle(2)
        played.append(tracker.predict())
    return np.array(played)


def test_the_same_numbers_without_the_compiler(tmp_path):
    script = textwrap.dedent("""
        import sys, numpy as np
        from tests.trackers.likelihood_mixture.test_runs import everything
        for k, light in ((4, False), (4, True), (33, False)):
            np.save(f"{sys.argv[1]}/{k}-{light}.npy", everything(k, light))
    """)
    root = Path(__file__).parents[3]
    paths = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": paths}
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, env=environment)
    for k, light in ((4, False), (4, True), (33, False)):
        plain = np.load(tmp_path / f"{k}-{light}.npy")
        np.testing.assert_allclose(everything(k, light), plain, rtol=0, atol=1e-12)
        assert np.abs(np.diff(plain, axis=0)).max() > 0.05


def test_one_large_batch_is_learned_even_if_a_step_of_its_parts_goes_astray():
    """The step of this stream's last part leaves the mix at a squared distance of 0.04."""
    rng = np.random.default_rng(416)
    source, mix = rng.dirichlet(np.full(10, 5.0)), rng.dirichlet(np.ones(10))
    proba = draw(rng, mix, 10_000, sharp=4.0)[0] * source
    tracker = LikelihoodMixture(10, prior=source)
    tracker.update(source, Evidence(proba / proba.sum(axis=1, keepdims=True), source))
    assert ((tracker.predict() - mix) ** 2).sum() < 0.001
