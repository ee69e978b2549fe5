"""The correction in use: bounds, gate, offsets, and since when it is held back."""

import numpy as np
import pytest

from baserate.adapters.regress_and_reweight.correction import Correction
from baserate.simplex import log_ratio
from baserate.trust.monitor import Verdict

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
    correction.judge(np.eye(3), np.zeros(3, dtype=int), np.arange(3), rounds=3)
    correction.heed(Verdict(alarm=True, dependent=True, rounds=1), rounds=4)
    assert (correction.weight_, correction.alarm_, correction.gate_) == (1.0, False, None)


@pytest.mark.parametrize(("right", "weight", "reason"), [(True, 1.0, ""), (False, 0.0, "labelled samples")])
def test_labels_judge_the_full_correction(right, weight, reason):
    correction = begun()
    correction.follow(FAR)
    labels = np.arange(60) % 3
    corrected, own = np.eye(3)[labels], (labels + 1) % 3
    if not right:
        corrected, own = np.eye(3)[own], labels
    correction.judge(corrected, own, np.where(np.arange(60) < 6, -1, labels), rounds=5)
    assert correction.weight_ == weight
    assert reason in correction.reason_
    assert (correction.since_ is None) == right


def test_a_start_forgets_what_was_decided():
    correction = begun()
    correction.follow(FAR)
    correction.heed(Verdict(alarm=True, dependent=True, rounds=7), rounds=7)
    correction.start(FAR)
    assert (correction.weight_, correction.off_, correction.alarm_, correction.since_) == (1.0, False, False, None)
    np.testing.assert_allclose(correction.offsets_, log_ratio(FAR, SOURCE))
