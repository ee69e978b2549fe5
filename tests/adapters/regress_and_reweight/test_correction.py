"""The correction in use: bounds, gate, offsets, and since when it is held back."""

import numpy as np
import pytest

from baserate.adapters.regress_and_reweight.correction import Correction
from baserate.simplex import log_ratio
from baserate.trust.portfolio import CANDIDATES
from baserate.trust.seen import Verdict

SOURCE = np.array([0.5, 0.3, 0.2])
FAR = np.array([0.1, 0.2, 0.7])
BOUNDS = np.zeros(3), np.ones(3)


def begun(gated=True, alpha=0.05, bounds=BOUNDS):
    correction = Correction(gated, alpha).fit(SOURCE, bounds, None, None)
    correction.start(SOURCE)
    return correction


def test_a_tracked_vector_is_brought_within_the_bounds():
    correction = begun(bounds=(np.full(3, 0.2), np.ones(3)))
    correction.follow(np.array([1.2, -0.1, -0.1]))
    np.testing.assert_allclose(correction.prior_, [0.6, 0.2, 0.2])
    np.testing.assert_allclose(correction.offsets_, np.log(correction.prior_ / SOURCE))


def test_an_alarm_lets_half_of_the_correction_through_and_is_dated():
    correction = begun()
    correction.follow(FAR)
    correction.heed(Verdict(alarm=True, dependent=False, rounds=7), rounds=107)
    assert (correction.weight_, correction.alarm_, correction.fallback_) == (0.5, True, True)
    assert correction.since_ == 107
    np.testing.assert_allclose(correction.offsets_, 0.5 * log_ratio(FAR, SOURCE))
    used = np.sqrt(FAR * SOURCE)
    np.testing.assert_allclose(correction.used_, used / used.sum())
    correction.heed(Verdict(alarm=True, dependent=False, rounds=3), rounds=110)
    assert correction.since_ == 107
    correction.heed(Verdict(alarm=False, dependent=False, rounds=5000), rounds=5110)
    assert (correction.weight_, correction.alarm_, correction.since_) == (1.0, False, None)


def test_samples_that_repeat_each_other_switch_the_correction_off():
    correction = begun()
    correction.follow(FAR)
    correction.heed(Verdict(alarm=False, dependent=True, rounds=1), rounds=1)
    assert correction.off_
    np.testing.assert_array_equal(correction.offsets_, 0.0)
    np.testing.assert_allclose(correction.used_, SOURCE)
    assert "repeat each other" in correction.reason_


def test_without_holding_back_alarms_are_noted_all_the_same():
    correction = begun(gated=False)
    correction.follow(FAR)
    correction.heed(Verdict(alarm=True, dependent=True, rounds=1), rounds=1)
    assert correction.alarm_
    assert (correction.weight_, correction.off_, correction.fallback_, correction.since_) == (1.0, False, False, None)


def test_without_a_gate_nothing_is_decided():
    correction = begun(gated=False, alpha=None)
    correction.jump(FAR, rounds=3)
    correction.judge(np.eye(3), np.eye(3), np.arange(3))
    correction.heed(Verdict(alarm=True, dependent=True, rounds=1), rounds=4)
    assert (correction.weight_, correction.alarm_, correction.gate_) == (1.0, False, None)


@pytest.mark.parametrize("right", [True, False])
def test_labels_choose_between_the_correction_and_the_model(right):
    correction = begun()
    correction.follow(FAR)
    rows = np.tile([0.4, 0.3, 0.3], (80, 1))  # of which the correction makes the last class
    labels = np.full(80, 2 if right else 0)
    before = correction.weight_
    correction.judge(rows, rows, np.where(np.arange(80) < 6, -1, labels))
    correction.follow(FAR, rounds=5)
    weights, tables = correction.candidates(rows)
    tracked, alone = CANDIDATES.index("tracked"), CANDIDATES.index("model alone")
    assert tables.shape == (len(CANDIDATES), 80, 3)
    assert (weights[tracked] > weights[alone]) == right
    assert (correction.weight_ < 0.5) == (not right)
    assert (correction.fallback_, bool(correction.reason_), correction.since_ is None) == (not right, not right, right)
    predicted = correction.apply(rows, rows, correction.applied(correction.prior_)).argmax(axis=1)
    assert (predicted == (2 if right else 0)).all()
    assert before == 1.0


def test_without_a_portfolio_there_is_one_candidate():
    correction = begun(gated=False)
    correction.follow(FAR)
    rows = np.tile([0.4, 0.3, 0.3], (2, 1))
    weights, tables = correction.candidates(rows)
    np.testing.assert_array_equal(weights, [1.0])
    expected = rows * FAR / SOURCE
    np.testing.assert_allclose(tables, (expected / expected.sum(axis=1, keepdims=True))[np.newaxis])


def test_the_model_is_left_alone_where_samples_repeat_each_other_even_if_a_class_mix_explains_the_change():
    correction = begun()
    correction.follow(FAR)
    correction.heed(Verdict(alarm=True, dependent=True, rounds=7, explained=True), rounds=7)
    assert correction.off_
    assert correction.fallback_
    np.testing.assert_allclose(correction.used_, SOURCE)


def test_a_start_forgets_what_was_decided():
    correction = begun()
    correction.follow(FAR)
    correction.heed(Verdict(alarm=True, dependent=True, rounds=7), rounds=7)
    correction.start(FAR)
    assert (correction.weight_, correction.off_, correction.alarm_, correction.since_) == (1.0, False, False, None)
    np.testing.assert_allclose(correction.offsets_, log_ratio(FAR, SOURCE))
