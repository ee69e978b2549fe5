"""Bets: silent under label shift, whatever the path and the holdout; loud where it should be."""

import numpy as np
import pytest

import baserate
from baserate.state import dumps, loads
from baserate.trust.assumption.bets import Bets
from baserate.trust.assumption.directions import Directions

from .four_classes import PATHS, K, fitted, outputs, run


@pytest.mark.parametrize("path", PATHS)
def test_no_false_alarms_on_streams_much_longer_than_the_holdout(path):
    """20 runs of 30,000 samples against 100 of the holdout: 1 alarm expected at most on average, and 4 tolerated."""
    alarms = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        alarms += run(fitted(rng, 100), rng, 60, batch=500, path=PATHS[path]).alarm_
    assert alarms <= 4


def test_a_holdout_taken_for_the_truth_would_be_found_out():
    """The same streams without the holdout's part in the bets: the test above would not be passed."""
    alarms = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        check = fitted(rng, 100)
        check._holdouts = check._holdouts * 1000.0  # as if it had a thousand times as many samples
        check._prepare()
        alarms += run(check, rng, 60, batch=500).alarm_
    assert alarms >= 8


def test_a_late_change_is_found_by_the_windows():
    rng = np.random.default_rng(0)
    check = run(fitted(rng), rng, 100, batch=300)
    assert not check.alarm_
    assert run(check, rng, 300, noise=1.6).alarm_
    assert 100 < check.since_ <= 400


def test_a_change_within_the_span_of_the_classes_goes_unseen():
    """Half of class 0 turns into class 1 as far as outputs go: a change of the class mix to anyone who sees outputs."""
    rng = np.random.default_rng(0)
    check = fitted(rng)
    for _ in range(300):
        y = rng.integers(K, size=10)
        seen_as = np.where((y == 0) & (rng.random(10) < 0.5), 1, y)
        check.update(outputs(rng, seen_as))
    assert not check.alarm_


def test_the_order_within_a_round_does_not_matter():
    one, two = (fitted(np.random.default_rng(0)) for _ in range(2))
    rng = np.random.default_rng(3)
    for _ in range(60):
        rows = outputs(rng, rng.integers(K, size=10), noise=1.5)
        one.update(rows)
        two.update(rows[::-1])
    assert one.evidence_ > 1.0
    assert two.evidence_ == pytest.approx(one.evidence_)
    np.testing.assert_array_equal(one._counts, two._counts)


def test_saved_and_loaded_it_goes_on(tmp_path):
    rng = np.random.default_rng(0)
    check = run(fitted(rng), rng, 30, noise=1.4)
    baserate.save(check, tmp_path / "check")
    loaded = baserate.load(tmp_path / "check")
    rounds = [outputs(rng, rng.integers(K, size=10), noise=1.4) for _ in range(60)]
    for rows in rounds:
        check.update(rows)
        loaded.update(rows)
    assert check.alarm_
    assert (loaded.since_, loaded.evidence_, loaded.explain()) == (check.since_, check.evidence_, check.explain())
    assert dumps(loaded) == dumps(check)


def test_a_damaged_file_is_refused():
    check = fitted(np.random.default_rng(0))
    check._counts = check._counts[:, :, :-1]
    with pytest.raises(ValueError, match="_counts"):
        baserate.state.loads(dumps(check))
    check = fitted(np.random.default_rng(0))
    check._references.starts[1] = 10**6
    with pytest.raises(ValueError, match="references"):
        baserate.state.loads(dumps(check))
    check = fitted(np.random.default_rng(0))
    check._directions.slopes = np.zeros((K, K + 1))
    with pytest.raises(ValueError, match="slopes"):
        baserate.state.loads(dumps(check))
    check = fitted(np.random.default_rng(0))
    check._directions._labels[3] = K
    with pytest.raises(ValueError, match="labels"):
        baserate.state.loads(dumps(check))


def test_empty_and_uneven_rounds():
    rng = np.random.default_rng(0)
    check = fitted(rng)
    check.update(np.empty((0, K)))
    assert (check.rounds_, check.evidence_, check.alarm_, check.since_) == (1, 1.0, False, None)
    assert check.explain() == []
    check.update(outputs(rng, rng.integers(K, size=40_000), noise=1.6))
    assert check.since_ == 2


def test_the_alarm_stays_until_reset():
    rng = np.random.default_rng(0)
    check = run(fitted(rng), rng, 100, noise=2.0)
    since = check.since_
    run(check, rng, 50)
    assert check.alarm_
    assert check.since_ == since
    check.reset()
    assert (check.alarm_, check.since_, check.evidence_, check.rounds_) == (False, None, 1.0, 0)
    assert dumps(check) == dumps(fitted(np.random.default_rng(0)))


def test_a_holdout_too_small_is_said_and_not_refused():
    rng = np.random.default_rng(0)
    check = run(fitted(rng, 70), rng, 50, noise=3.0)
    assert not check.testable_
    assert "17 samples of class 2" in check.reason_
    assert (check.evidence_, check.alarm_, check.rounds_) == (1.0, False, 50)


def test_classes_that_nobody_can_tell_apart():
    rng = np.random.default_rng(0)
    y = np.arange(400) % K
    check = Bets().fit(outputs(rng, np.where(y == 3, 2, y)), y)
    assert not check.testable_
    assert "confuses classes" in check.reason_


@pytest.mark.parametrize("alpha", [0.0, 1.0, "much"])
def test_bad_alpha(alpha):
    with pytest.raises((ValueError, TypeError), match="alpha"):
        fitted(np.random.default_rng(0), alpha=alpha)


def test_bad_rounds_change_nothing():
    check = fitted(np.random.default_rng(0))
    before = dumps(check)
    for bad in ([[0.5, 0.5]], [[0.5, 0.5, 0.5, 0.5]], [[np.nan, 0.5, 0.25, 0.25]]):
        with pytest.raises(ValueError, match="proba"):
            check.update(bad)
    assert dumps(check) == before
    with pytest.raises(ValueError, match="not fitted"):
        Bets().update([[0.5, 0.5]])


def test_smaller_alpha_alarms_later():
    when = []
    for alpha in (0.2, 1e-6):
        rng = np.random.default_rng(4)
        when.append(run(fitted(rng, alpha=alpha), rng, 300, noise=1.4).since_)
    assert when[0] < when[1]


def test_nothing_is_left_of_a_holdout_before():
    """Neither in memory nor in a file: it may have had other classes."""
    rng = np.random.default_rng(0)
    check = fitted(rng)
    run(check, rng, 20)
    check.fit(np.full((30, 2), 0.5), np.arange(30) % 2)
    assert not check.testable_
    twin = loads(dumps(check))
    twin.update(np.full((300, 2), 0.5))
    assert twin.explain() == []
    fresh = Bets().fit(np.full((30, 2), 0.5), np.arange(30) % 2)
    assert dumps(check) == dumps(fresh)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("n_classes_", K + 1),
        ("testable_", False),
        ("reason_", "why not"),
        ("_pending", 5),
        ("_sizes", np.zeros(4, dtype=np.int64)),
        ("_looks", np.full(4, 2**53)),
        ("_looks", np.zeros(4, dtype=np.int64)),
        ("_turns", np.full(4, -1)),
        ("_edges", np.zeros((2, 9))),
        ("_counts", np.zeros((2, 4, 9 * K))),
        ("_holdouts", np.ones((2, K, 9 * K))),
        ("_holdouts", np.zeros((2, K, 9 * K))),
        ("_references", (np.zeros((K, 5)), np.arange(K + 1))),
        ("_references", (np.zeros((K, 5)), np.array([0, 5, 2, 2, 5]))),
        ("_findings", np.array([[K, 0, -1, 0, 0.1, 0.1, 0.1, 1.0]])),
        ("_findings", np.array([[0, 0, 8, 0, 0.1, 0.1, 0.1, 1.0]])),
        ("_findings", np.array([[0, np.nan, -1, 0, 0.1, 0.1, 0.1, 1.0]])),
        ("since_", 3),
        ("_directions", Directions()),
        ("_log_evidence", float("nan")),
    ],
)
def test_a_damaged_state_is_refused(name, wrong):
    rng = np.random.default_rng(0)
    check = fitted(rng)
    run(check, rng, 20)
    loads(dumps(check))
    setattr(check, name, wrong)
    with pytest.raises(ValueError, match=r"holds Bets|does not fit together: Bets"):
        loads(dumps(check))


def test_directions_of_other_classes_are_refused():
    rng = np.random.default_rng(0)
    check = fitted(rng)
    check._directions = Directions().fit(np.tile([[0.9, 0.1], [0.1, 0.9]], (30, 1)), np.arange(60) % 2)
    with pytest.raises(ValueError, match=f"_directions of length 2, not of length {K}"):
        loads(dumps(check))
