"""Gate: dependence decides, then alarms, then the holdout; each in the right direction."""

import numpy as np
import pytest

import baserate
from baserate.state import dumps, loads
from baserate.trust import Gate

from ..simulated import EVEN, holdout, labels, outputs

FAR = np.array([0.8, 0.1, 0.1])


def fitted(n=600):
    return Gate().fit(*holdout(np.random.default_rng(0), n))


def test_an_honest_model_is_corrected_in_full():
    gate = fitted()
    gate.update(FAR)
    assert gate.weight_ == 1.0
    assert not gate.active_
    assert gate.reason_ == ""
    assert gate.since_ is None
    assert (gate.mix(FAR) == FAR).all()


def test_the_mix_is_a_part_of_the_way_in_log_odds():
    gate = fitted()
    gate.update(FAR, alarm=True)
    assert gate.weight_ == 0.5
    odds = gate.mix(FAR) / gate.source_prior_
    assert odds[0] / odds[1] == pytest.approx((FAR[0] / FAR[1]) ** 0.5)
    assert gate.mix(FAR).sum() == pytest.approx(1.0)
    assert (gate.mix(np.array([FAR, EVEN]))[0] == gate.mix(FAR)).all()


def test_the_mix_of_the_last_rehearsal_is_known():
    gate = fitted()
    np.testing.assert_array_equal(gate.rehearsed_at_, gate.source_prior_)
    gate.update(FAR)
    np.testing.assert_array_equal(gate.rehearsed_at_, FAR)
    gate.update([0.81, 0.09, 0.1])  # too near to be rehearsed again
    np.testing.assert_array_equal(gate.rehearsed_at_, FAR)


def test_the_holdout_speaks_against_a_correction_that_the_outputs_have_already():
    proba, y = holdout(np.random.default_rng(0), 600)
    moved = proba * FAR
    gate = Gate().fit(moved / moved.sum(axis=1, keepdims=True), y, EVEN)
    gate.update(FAR)
    assert gate.weight_ == 0.0
    assert gate.mix(FAR) == pytest.approx(EVEN)
    honest = Gate().fit(proba, y, EVEN)
    honest.update(FAR)
    assert honest.weight_ == 1.0


@pytest.mark.parametrize(("size", "weight"), [(4, 0.25), (5, 1.0)])
def test_classes_that_the_holdout_hardly_has_are_not_moved_to(size, weight):
    y = np.array([0] * size + [1] * 60 + [2] * 60)
    gate = Gate().fit(np.full((len(y), 3), 1 / 3), y, EVEN)  # says nothing: any mix is a good guess in its place
    gate.update([0.36, 0.34, 0.3])
    assert gate.weight_ == 1.0
    gate.update([0.6, 0.2, 0.2])
    assert gate.weight_ == weight
    assert gate.active_ == (weight < 1.0)
    gate.update([0.1, 0.45, 0.45])
    assert gate.weight_ == 1.0


def test_falling_back_by_rehearsal_begins_at_a_quarter_and_ends_at_half():
    proba, y = np.array([[0.1, 0.9]] * 1000), np.array([0, 1] * 500)
    gate = Gate().fit(proba, y)
    gate.update([0.3, 0.7])
    assert gate.active_
    assert gate.weight_ <= 0.25
    assert "holdout" in gate.reason_
    assert gate.since_ == 1
    gate.update([0.5, 0.5])  # as the source: nothing to fall back from
    assert not gate.active_
    assert gate.since_ is None
    gate.update([0.03, 0.97])
    assert gate.weight_ == 0.5
    assert not gate.active_


def test_samples_that_repeat_each_other_switch_it_off():
    gate = fitted()
    gate.update(FAR, dependent=True)
    assert gate.weight_ == 0.0
    assert gate.off_
    assert gate.active_
    assert "they do not tell the class mix" in gate.reason_
    gate.update(FAR, alarm=True)  # which does not say that they no longer do
    assert gate.weight_ == 0.0
    gate.update(FAR, dependent=False, rounds=1001)
    assert gate.weight_ == 1.0  # the alarm is over, too
    assert not gate.off_


def test_samples_that_repeat_each_other_switch_it_off_even_where_a_class_mix_explains_the_change():
    gate = fitted()
    gate.update(FAR, alarm=True, dependent=True, explained=True)
    assert (gate.off_, gate.active_, gate.weight_) == (True, True, 0.0)
    gate.update(FAR, dependent=False)
    assert (gate.off_, gate.weight_) == (False, 0.75)  # an alarm, explained by a class mix


def test_an_alarm_that_no_class_mix_explains_leaves_nothing():
    gate = fitted()
    gate.update(FAR, unexplained=True)
    assert gate.weight_ == 1.0  # without an alarm it does not matter
    gate.update(FAR, alarm=True)
    assert (gate.weight_, gate.off_, gate.active_) == (0.0, False, True)
    gate.update(FAR, unexplained=False)
    assert gate.weight_ == 0.5


def test_after_a_long_silence_an_alarm_does_not_last_for_ever():
    gate = fitted()
    gate.update(FAR, rounds=100_000)
    gate.update(FAR, alarm=True)
    gate.update(FAR, rounds=999)
    assert gate.doubted_
    gate.update(FAR)
    assert not gate.doubted_


def test_an_alarm_lasts_twice_as_long_as_it_took_and_longer_each_time():
    gate = fitted()
    for _ in range(99):
        gate.update(FAR)
    gate.update(FAR, alarm=True)
    assert (gate.active_, gate.since_) == (True, 100)
    assert "label shift" in gate.reason_
    for _ in range(199):
        gate.update(FAR)
        assert gate.active_
    gate.update(FAR)
    assert not gate.active_
    assert gate.weight_ == 1.0
    gate.update(FAR, alarm=True)  # 201 rounds after the last: 402 rounds
    for _ in range(401):
        gate.update(FAR)
    assert gate.active_
    gate.update(FAR)
    assert not gate.active_


def test_an_alarm_that_is_reported_all_the_time_lasts():
    gate = fitted()
    for _ in range(500):
        gate.update(FAR, alarm=True)
    assert gate.active_
    assert gate.since_ == 1
    for _ in range(60):
        gate.update(FAR)
    assert not gate.active_


def test_without_a_holdout_nothing_is_rehearsed():
    gate = Gate().fit(source_prior=EVEN)
    gate.update(FAR)
    assert gate.weight_ == 1.0
    with pytest.raises(ValueError, match="source_prior is missing"):
        Gate().fit()


def test_a_large_holdout_is_thinned_class_by_class():
    rng = np.random.default_rng(0)
    y = labels(rng, 20_000, FAR)
    gate = Gate().fit(outputs(rng, y), y)
    assert len(gate._labels) <= 1003
    assert np.bincount(gate._labels) / len(gate._labels) == pytest.approx(FAR, abs=0.02)
    assert gate.source_prior_ == pytest.approx(FAR, abs=0.02)


def test_saved_and_loaded_it_goes_on_bit_for_bit(tmp_path):
    gate = fitted()
    gate.update(FAR, alarm=True)
    baserate.save(gate, tmp_path / "gate.baserate")
    again = baserate.load(tmp_path / "gate.baserate")
    assert dumps(again) == dumps(gate)
    for one in (gate, again):
        one.update([0.5, 0.3, 0.2])
        one.update(FAR, dependent=True, explained=True)
    assert dumps(again) == dumps(gate)
    gate.reset()
    assert dumps(gate) == dumps(fitted())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda gate: gate.update([0.5, 0.5]), "tracked has 2 columns"),
        (lambda gate: gate.update([0.9, 0.9, 0.9]), "tracked"),
        (lambda gate: gate.update(FAR, alarm=0.7), "alarm is 0.7"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(call, message):
    gate = fitted()
    before = gate.get_state()
    with pytest.raises((ValueError, TypeError), match=message):
        call(gate)
    assert all(np.array_equal(before[name], value) for name, value in gate.get_state().items())


def test_many_alarms_can_be_saved():
    """Each may last twice as long as the one before, which would be a number without end."""
    gate = fitted()
    for _ in range(20_000):
        gate.update(EVEN, alarm=True, rounds=2)
        gate.update(EVEN)
    assert gate.doubted_
    assert dumps(loads(dumps(gate))) == dumps(gate)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("weight_", 0.3),
        ("_rehearsed", 0.3),
        ("_labels", np.full(600, 3)),
        ("_labels", np.zeros(600, dtype=np.int64)),
        ("_tracked", np.array([0.5, 0.5])),
        ("_tracked", np.array([0.5, 0.5, 0.5])),
        ("rehearsed_at_", np.full(3, np.nan)),
        ("source_prior_", np.array([0.5, 0.5, 0.0])),
        ("since_", 7),
        ("_closed_at", 7),
        ("_few", np.zeros(3)),
    ],
)
def test_a_damaged_state_is_refused(name, wrong):
    gate = fitted()
    gate.update(FAR)
    loads(dumps(gate))
    setattr(gate, name, wrong)
    with pytest.raises(ValueError, match=r"holds Gate|does not fit together: Gate"):
        loads(dumps(gate))


@pytest.mark.parametrize(
    ("counts", "mix", "thin"),
    [
        ((600, 14, 14), (0.8, 0.1, 0.1), True),
        ((600, 14, 15), (0.8, 0.1, 0.1), False),  # classes with enough rows are known
        ((600, 14, 14), (0.925, 0.06, 0.015), False),  # too few samples move there
        ((600, 14, 14), (0.8, 0.19, 0.01), True),  # to one of two, perhaps from the other
        ((600, 14), (0.6, 0.4), False),  # a single one is told from the rest by the rest's rows
    ],
)
def test_several_classes_with_few_rows_are_rehearsed_with_caution(monkeypatch, counts, mix, thin):
    found = []

    def rehearsed(*args, thin):
        found.append(thin)
        return 1.0

    monkeypatch.setattr("baserate.trust.gate.gate.rehearse", rehearsed)
    y = np.repeat(np.arange(len(counts)), counts)
    Gate().fit(0.9 * np.eye(len(counts))[y] + 0.1 / len(counts), y).update(mix)
    assert found == [thin]


def test_of_a_large_holdout_enough_rows_of_rare_classes_are_kept(monkeypatch):
    """A hundredth of a hundred thousand rows is kept, and fifteen of each class with a hundred."""
    found = []
    monkeypatch.setattr(
        "baserate.trust.gate.gate.rehearse", lambda *args, thin: found.append((args[2].tolist(), thin)) or 1.0
    )
    y = np.repeat([0, 1, 2], [99_800, 100, 100])
    Gate().fit(0.9 * np.eye(3)[y] + 0.1 / 3.0, y).update([0.8, 0.1, 0.1])
    assert found == [([998.0, 15.0, 15.0], False)]
