"""AssumptionCheck: one verdict of bets and hull; weak models, rare classes, rounded and repeated outputs."""

import numpy as np
import pytest

from baserate.state import dumps, loads
from baserate.trust import AssumptionCheck

from .four_classes import K, outputs

WEAK, RARE = (1.2, 0.3), (1.8, 0.01)  # distance of two classes, share of the second


def scores(rng, y, kind, noise=0.0):
    """Calibrated outputs of two normal classes."""
    distance, share = kind
    x = distance * (y - 0.5) + np.hypot(1.0, noise) * rng.standard_normal(len(y))
    positive = 1.0 / (1.0 + np.exp(-(distance * x + np.log(share / (1.0 - share)))))
    return np.column_stack([1.0 - positive, positive])


def holdout(rng, kind, n=1000):
    y = (rng.random(n) < kind[1]).astype(int)
    y[:3] = 1
    return scores(rng, y, kind), y


def shown(check, rows):
    for start in range(0, len(rows) - 255, 256):
        check.take_in(np.ascontiguousarray(rows[start : start + 256]), 26)
    return check


def stream(rng, kind, share, n=5000, noise=0.0):
    return scores(rng, (rng.random(n) < share).astype(int), kind, noise)


def halved(rows):
    return rows.astype(np.float16).astype(np.float64)


CHANGES = {
    "as it is": lambda rows: rows,
    "two decimals": lambda rows: np.round(rows, 2),
    "three decimals": lambda rows: np.round(rows, 3),
    "four decimals": lambda rows: np.round(rows, 4),
    "float16": halved,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", [WEAK, RARE], ids=["weak", "rare"])
def test_label_shift_gives_no_alarm(kind, change):
    alarms = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        check = AssumptionCheck().fit(*holdout(rng, kind))
        alarms += shown(check, CHANGES[change](stream(rng, kind, 0.08 if kind is RARE else 0.8))).alarm_
    assert alarms <= 3


@pytest.mark.parametrize("kind", [WEAK, RARE], ids=["weak", "rare"])
def test_the_holdout_played_back_gives_no_alarm(kind):
    alarms = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        proba, y = holdout(rng, kind)
        alarms += shown(AssumptionCheck().fit(proba, y), np.tile(proba, (4, 1))).alarm_
    assert alarms == 0


def test_many_classes_played_back_give_no_alarm_either():
    alarms = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y = np.arange(1000) % K
        proba = outputs(rng, y)
        check = shown(AssumptionCheck().fit(proba, y), np.tile(proba, (4, 1)))
        assert check.bets_
        alarms += check.alarm_
    assert alarms == 0


def test_noise_is_found_for_a_weak_model_and_for_one_that_confuses_all():
    for kind in (WEAK, (0.8, 0.05)):
        alarms = 0
        for seed in range(10):
            rng = np.random.default_rng(seed)
            check = AssumptionCheck().fit(*holdout(rng, kind))
            alarms += shown(check, stream(rng, kind, kind[1], noise=1.0)).alarm_
        assert alarms >= 9


def test_classes_that_nobody_can_tell_apart_are_tested_all_the_same():
    rng = np.random.default_rng(0)
    y = np.arange(400) % K
    check = AssumptionCheck().fit(outputs(rng, np.where(y == 3, 2, y)), y)
    assert check.testable_
    assert not check.bets_
    assert shown(check, outputs(rng, rng.integers(3, size=3000), noise=2.0)).alarm_


@pytest.mark.parametrize(
    ("y", "reason"), [(np.arange(49) % 2, "has 49 samples"), (np.zeros(60, dtype=int), "no sample of class 'bad'")]
)
def test_what_cannot_be_tested(y, reason):
    rows = np.random.default_rng(0).dirichlet([1.0, 1.0], len(y))
    check = AssumptionCheck().fit(rows, y, ["good", "bad"])
    check.update(rows)
    assert not check.testable_
    assert reason in check.reason_
    assert (check.evidence_, check.alarm_, check.explain(), check.rounds_) == (1.0, False, [], 1)
    assert dumps(loads(dumps(check))) == dumps(check)


@pytest.mark.parametrize("change", ["as it is", "two decimals"])
def test_saved_and_loaded_it_goes_on(change):
    rng = np.random.default_rng(0)
    check = AssumptionCheck().fit(*holdout(rng, WEAK))
    rows = CHANGES[change](stream(rng, WEAK, 0.3, 4000, noise=1.0))
    shown(check, rows[:900])
    twin = loads(dumps(check))
    for one in (check, twin):
        shown(one, rows[900:])
    assert check.evidence_ > 1.0
    assert dumps(twin) == dumps(check)
    check.reset()
    assert dumps(check) == dumps(AssumptionCheck().fit(*holdout(np.random.default_rng(0), WEAK)))


def test_the_state_does_not_grow():
    rng = np.random.default_rng(0)
    check = AssumptionCheck().fit(*holdout(rng, WEAK))
    sizes = [len(dumps(shown(check, stream(rng, WEAK, 0.5, 20_000)))) for _ in range(2)]
    assert sizes[1] <= 1.02 * sizes[0]


def test_a_rounded_holdout_goes_with_an_exact_stream():
    alarms = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        proba, y = holdout(rng, WEAK)
        alarms += shown(AssumptionCheck().fit(np.round(proba, 2), y), stream(rng, WEAK, 0.8)).alarm_
    assert alarms <= 2


def test_what_is_found_is_said():
    rng = np.random.default_rng(0)
    check = AssumptionCheck().fit(*holdout(rng, RARE))
    shown(check, stream(rng, RARE, 0.01, noise=1.5))
    assert check.alarm_
    found = check.explain()[0]
    assert str(found).startswith("too ")
    assert "label shift would give" in str(found)
    assert found.evidence == pytest.approx(check.evidence_)
    assert found.too_many == (found.share > found.expected)


@pytest.mark.parametrize("noise", [1.2, 2.0])
def test_no_finding_has_more_evidence_than_the_check(noise):
    rng = np.random.default_rng(0)
    y = np.arange(800) % K
    check = AssumptionCheck().fit(outputs(rng, y), y)
    assert check.bets_
    for _ in range(10):
        check.update(outputs(rng, rng.integers(K, size=256), noise=noise))
        assert all(finding.evidence <= check.evidence_ * (1.0 + 1e-9) for finding in check.explain())
    assert check.explain()


def test_rows_compare_with_the_holdout_as_far_as_both_are_rounded_alike():
    rng = np.random.default_rng(3)
    proba, y = np.full((400, 1), 0.1) + 0.8 * rng.random((400, 1)), rng.integers(2, size=400)
    exact = np.column_stack([proba, 1.0 - proba])
    coarse = exact.round(2)
    of_exact, of_coarse = AssumptionCheck().fit(exact, y), AssumptionCheck().fit(coarse, y)
    assert of_exact.comparable(coarse) is None  # nothing has been seen: the stream may be rounded
    of_exact.take_in(coarse)
    assert of_exact.comparable(coarse) is None
    of_exact.take_in(exact)
    np.testing.assert_array_equal(of_exact.comparable(exact), exact)
    of_coarse.take_in(exact)
    np.testing.assert_allclose(of_coarse.comparable(exact), coarse, atol=1e-12)
