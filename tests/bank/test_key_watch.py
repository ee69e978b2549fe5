"""The trust signals of keys: those of streams of their own."""

import copy

import numpy as np
import pytest

from baserate import Bank
from baserate.adapters import RegressAndReweight
from baserate.state import dumps, loads
from baserate.trackers import FollowTheHistory
from baserate.trust.assumption.hull import HullTest
from baserate.trust.dependence import SerialDependence

K = 3
EVEN = np.full(K, 1.0 / K)


def outputs(n, rng, mix=EVEN, power=1.0):
    """A calibrated model's outputs for normal classes, and labels; another power makes it over- or under-confident."""
    y = rng.choice(K, size=n, p=mix)
    logits = 1.5 * (rng.normal(size=(n, K)) + 1.5 * np.eye(K)[y])
    rows = np.exp(power * logits)
    return rows / rows.sum(axis=1, keepdims=True), y


@pytest.fixture(scope="module")
def adapter():
    return RegressAndReweight().fit(*outputs(1000, np.random.default_rng(0)))


def play(bank, rounds, n=20, seed=1):
    """Six keys: two calm, two under label shift, one whose model has become under-confident, one that repeats rows."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        rows = [outputs(n, rng)[0] for _ in range(2)]
        rows += [outputs(n, rng, mix)[0] for mix in ([0.8, 0.1, 0.1], [0.1, 0.1, 0.8])]
        rows += [outputs(n, rng, power=0.3)[0], np.repeat(outputs(n // 5, rng)[0], 5, axis=0)]
        step = bank.step(np.repeat(np.arange(6), n), np.vstack(rows))
    return step


def test_keys_that_are_no_label_shift_are_found_and_held_back(adapter):
    bank = Bank(adapter)
    step = play(bank, 60)
    signs = bank.signs()
    np.testing.assert_array_equal(signs.rows, np.full(6, 1200))
    np.testing.assert_array_equal(signs.alarm[:5], [False, False, False, False, True])
    np.testing.assert_array_equal(signs.dependent, [False] * 5 + [True])
    np.testing.assert_array_equal(signs.fallback, [False] * 4 + [True] * 2)
    np.testing.assert_array_equal(signs.correction_weight[4:], [0.5, 0.0])
    np.testing.assert_array_equal(step.flags["alarm"], signs.alarm)
    assert set(bank.changed_keys()) - {5} == {4}
    doubts = bank.accuracy_in_doubt(range(6))
    assert doubts[:4] == [""] * 4
    assert "does not look like label shift" in doubts[4]
    assert "alike" in doubts[5]
    accuracy = bank.estimated_accuracy(range(6))
    assert all(found.high - found.low < 0.1 for found in accuracy[:4])
    assert tuple(accuracy[4][1:]) == (0.0, 1.0)


def test_a_key_is_tested_as_a_stream_of_its_own(adapter):
    bank = Bank(adapter)
    rng, holdout = np.random.default_rng(13), np.random.default_rng(0)
    hull = HullTest().fit(*outputs(1000, holdout))
    for t in range(80):
        mine, others = outputs(17, rng, power=1.0 if t < 40 else 0.85)[0], outputs(9, rng)[0]
        bank.update(["other"] * 9 + ["mine"] * 17, np.vstack([others, mine]))
        hull.add(mine)
    signs = bank.signs(["mine", "new"])
    assert 1.0 < signs.evidence[0] < 20.0
    assert signs.evidence[0] == np.exp(hull.log_evidence)
    assert signs.rows.tolist() == [80 * 17, 0]
    assert signs.evidence[1] == 1.0


@pytest.mark.parametrize("copies", [1, 5])
def test_a_key_that_repeats_rows_is_judged_as_a_stream_of_its_own(adapter, copies):
    bank, alone = Bank(adapter), SerialDependence()
    rows = np.repeat(outputs(2560 // copies, np.random.default_rng(3))[0], copies, axis=0)
    for begin in range(0, 2560, 256):
        alone.update(rows[begin : begin + 256])
        for part in np.split(rows[begin : begin + 256], 8):
            bank.update(["a"] * 32, part)
    assert bank.signs(["a"]).dependent.tolist() == [alone.dependent_] == [copies > 1]
    likeness = bank._watch.trust.state.likeness[0]
    np.testing.assert_allclose(likeness[0] / likeness[1], alone.correlation_)


def test_a_rounded_stream_is_no_alarm(adapter):
    bank, rng = Bank(adapter), np.random.default_rng(5)
    for _ in range(100):
        rounded = outputs(20, rng)[0].round(2)
        rounded[:, -1] = 1.0 - rounded[:, :-1].sum(axis=1)
        bank.update(["rounded"] * 20 + ["exact"] * 20, np.vstack([np.abs(rounded), outputs(20, rng)[0]]))
    assert not bank.signs().alarm.any()
    np.testing.assert_array_equal(bank._watch.trust.state.on_grid.any(axis=1), [True, False])


def test_other_keys_and_how_keys_are_put_together_change_nothing(adapter):
    together, apart = Bank(adapter), [Bank(adapter) for _ in range(2)]
    rng = np.random.default_rng(7)
    for _ in range(30):
        rows = [outputs(15, rng, power=0.5)[0] for _ in range(2)]
        step = together.step([0] * 15 + [1] * 15, np.vstack(rows))
        for key in range(2):
            alone = apart[key].step([key] * 15, rows[key])
            assert alone.proba.tobytes() == step.proba[15 * key : 15 * key + 15].tobytes()
    for key in range(2):
        for one, other in zip(together.signs([key]), apart[key].signs(), strict=True):
            np.testing.assert_array_equal(one, other)


def test_predicting_and_updating_is_a_step(adapter):
    step_by_step, in_two = Bank(adapter), Bank(adapter)
    play(step_by_step, 20)
    rng = np.random.default_rng(1)
    for _ in range(20):
        rows = [outputs(20, rng)[0] for _ in range(2)]
        rows += [outputs(20, rng, mix)[0] for mix in ([0.8, 0.1, 0.1], [0.1, 0.1, 0.8])]
        rows += [outputs(20, rng, power=0.3)[0], np.repeat(outputs(4, rng)[0], 5, axis=0)]
        in_two.update(np.repeat(np.arange(6), 20), np.vstack(rows))
    assert dumps(in_two) == dumps(step_by_step)


def test_signs_are_saved_copied_and_dropped_with_their_keys(adapter):
    bank = Bank(adapter)
    play(bank, 30)
    for twin in (loads(dumps(bank)), copy.deepcopy(bank)):
        play(twin, 10, seed=2)
        again = loads(dumps(bank))
        play(again, 10, seed=2)
        assert dumps(twin) == dumps(again)
    before = bank.signs([4, 1])
    bank.drop([0, 2, 3, 5])
    for one, other in zip(before, bank.signs([4, 1]), strict=True):
        np.testing.assert_array_equal(one, other)
    bank.step([7, 8], outputs(2, np.random.default_rng(0))[0])
    assert bank.signs([7, 8]).rows.tolist() == [1, 1]


def test_a_state_without_signs_is_read_and_they_begin(adapter):
    bank = Bank(adapter)
    play(bank, 30)
    old = {name: value for name, value in bank.get_state().items() if name != "_trust"}
    read = Bank(adapter).set_state(old)
    np.testing.assert_array_equal(read.prior(range(6)), bank.prior(range(6)))
    assert not read.signs().rows.any()
    play(read, 30)
    assert read.signs().alarm[4]


def test_a_refitted_model_begins_the_signs_anew(adapter):
    bank = Bank(adapter)
    play(bank, 30)
    assert bank.signs().alarm.any()
    bank.adapter.refit(*outputs(500, np.random.default_rng(9)))
    assert not bank.signs().alarm.any()
    play(bank, 2)
    assert bank.signs().rows.tolist() == [40] * 6


def test_without_alpha_there_are_no_signs():
    bank = Bank(RegressAndReweight(gate=False, alpha=None).fit(*outputs(300, np.random.default_rng(0))))
    step = play(bank, 3)
    assert not step.flags["fallback"].any()
    assert bank.signs().correction_weight.tolist() == [1.0] * 6
    assert bank.changed_keys() == []
    assert "_trust" not in bank.get_state()
    with pytest.raises(ValueError, match="alpha=None"):
        bank.estimated_accuracy([0])


def test_a_key_has_the_band_of_a_stream_of_its_own(adapter):
    bank, alone = Bank(adapter), copy.deepcopy(adapter)
    rng = np.random.default_rng(17)
    for _ in range(30):
        mine, others = outputs(20, rng, [0.6, 0.3, 0.1])[0], outputs(9, rng)[0]
        bank.update(["other"] * 9 + ["mine"] * 20, np.vstack([others, mine]))
        alone.update(mine)
    limits = bank.prior_interval(["mine", "other"], level=0.8)
    np.testing.assert_allclose(limits[0], alone.prior_interval(0.8), atol=1e-9)
    assert limits.shape == (2, K, 2)
    assert np.diff(limits[1]).sum() > 1.2 * np.diff(limits[0]).sum()  # fewer rows
    with pytest.raises(ValueError, match="'new'"):
        bank.prior_interval(["new"])
    plain = Bank(RegressAndReweight(FollowTheHistory(K)).fit(*outputs(300, rng)))
    plain.add(["a"])
    with pytest.raises(TypeError, match="shows no experts"):
        plain.prior_interval(["a"])


def test_the_band_of_a_key_in_alarm_says_nothing(adapter):
    bank = Bank(adapter)
    play(bank, 60)
    np.testing.assert_array_equal(bank.prior_interval([4])[0], [[0.0, 1.0]] * K)


def test_labels_take_over(adapter):
    bank, rng = Bank(adapter), np.random.default_rng(11)
    for _ in range(30):
        rows, y = outputs(20, rng, power=0.3)
        bank.step(["a"] * 20, rows, np.where(rng.random(20) < 0.3, (y + 1) % K, -1))
    value, low, high = bank.estimated_accuracy(["a"])[0]
    assert low <= value <= high < 0.5
    assert bank.accuracy_in_doubt(["a"]) == [""]
    with pytest.raises(ValueError, match="'b'"):
        bank.estimated_accuracy(["b"])


def test_foreign_arrays_are_refused(adapter):
    bank = Bank(adapter)
    play(bank, 2)
    state = bank.get_state()
    state["_trust"] = {**state["_trust"], "cells": state["_trust"]["cells"][:, :, 1:]}
    broken = Bank(adapter)
    broken.get_state = lambda: state
    with pytest.raises(ValueError, match="cells"):
        loads(dumps(broken))


def test_evidence_of_a_key_grows_past_its_first_alarm(adapter):
    bank, rng, hull = Bank(adapter), np.random.default_rng(19), HullTest().fit(*outputs(1000, np.random.default_rng(0)))
    p_values = []
    for _ in range(40):
        rows = outputs(200, rng, power=0.8)[0]
        bank.update(["a"] * 200, rows)
        hull.add(rows)
        p_values.append(bank._watch.trust.p_values(np.zeros(1, dtype=int))[0])
    assert bank._watch.trust.state.alarms[0, 0] >= 0
    first = next(p for p in p_values if p <= 0.05)
    assert p_values[-1] < 0.1 * first
    np.testing.assert_array_equal(np.minimum.accumulate(p_values), p_values)
    # Nothing but looks at the whole stream is left out: they are those of a stream that is not checked anew.
    assert p_values[-1] >= np.exp(-hull.log_evidence) * (1.0 - 1e-9)
    whole = hull._counts[0]
    np.testing.assert_array_equal(bank._watch.trust.state.whole[0], whole)


def many(bank, rounds, seed, power=1.0):
    """Two hundred keys with two rows in a round, each with a class mix of its own."""
    rng = np.random.default_rng(seed)
    mixes = rng.dirichlet(np.ones(K), 200)
    for _ in range(rounds):
        rows = [outputs(2, rng, mix, power)[0] for mix in mixes]
        bank.update(np.repeat(np.arange(200), 2), np.vstack(rows))


def test_all_keys_together_tell_what_none_of_them_can(adapter):
    broken, calm = Bank(adapter), Bank(adapter)
    many(broken, 20, seed=23, power=0.6)
    many(calm, 20, seed=23)
    assert broken.assumption_evidence_ > 1000.0
    assert not broken.signs().alarm.any()
    assert calm.assumption_evidence_ < 20.0
    again = loads(dumps(broken))
    assert again.assumption_evidence_ == broken.assumption_evidence_
    many(again, 3, seed=29)
    many(broken, 3, seed=29)
    assert dumps(again) == dumps(broken)
    broken.adapter.refit(*outputs(500, np.random.default_rng(9)))
    assert broken.assumption_evidence_ == 1.0


def test_keys_are_the_same_without_the_check_of_all_of_them(adapter):
    whole, part = Bank(adapter), Bank(adapter)
    part.leave_pool_out()
    for bank in (whole, part):
        play(bank, 40)
    assert whole.assumption_evidence_ > 1.0
    assert part.assumption_evidence_ == 1.0
    held = part.get_state()
    assert "_pooled" not in held
    kept = {name: value for name, value in whole.get_state().items() if name != "_pooled"}
    assert dumps(Bank(adapter).set_state(kept)) == dumps(Bank(adapter).set_state(held))
    part.set_state(held)
    part.adapter.refit(*outputs(500, np.random.default_rng(9)))
    many(part, 3, seed=3, power=0.6)
    assert part.assumption_evidence_ == 1.0


def test_rounded_keys_do_not_speak_for_all(adapter):
    bank, rng = Bank(adapter), np.random.default_rng(31)
    for _ in range(40):
        rounded = outputs(50, rng)[0].round(2)
        rounded[:, -1] = 1.0 - rounded[:, :-1].sum(axis=1)
        bank.update(["rounded"] * 50 + ["exact"] * 50, np.vstack([np.abs(rounded), outputs(50, rng)[0]]))
    assert bank.assumption_evidence_ < 20.0
