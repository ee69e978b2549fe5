"""Alarms: none under label shift, in time where means have moved."""

import numpy as np
import pytest

from baserate.adapters import RegressAndReweight
from baserate_lab.bench.trust import assumption
from baserate_lab.bench.trust._violations import all_moved, costing, one_moved, onto


@pytest.mark.parametrize("shift", assumption.SHIFTS, ids=lambda shift: type(shift).__name__)
def test_no_false_alarms(world, shift):
    runs = assumption.false_alarms(world.proba, world.y, shift, 2000, range(4))
    assert [run.since for run in runs] == [np.inf] * 4


def test_moved_means_that_cost_five_points_are_found_in_time_and_cost_that(pool):
    for change in (all_moved(pool, 0), one_moved(pool, 0, 1)):
        (found,) = costing(pool, change, (5.0,))
        right = [(proba.argmax(axis=1) == found.y).mean() for proba in (found.before, found.after)]
        assert 100.0 * (right[0] - right[1]) == pytest.approx(5.0, abs=0.7)
        runs = assumption.true_alarms(found, range(10), 300)
        assert sum(np.isfinite(run.since) for run in runs) >= 9
        assert all(run.finding for run in runs if np.isfinite(run.since))


def test_a_class_moved_onto_another_is_not_found_whatever_it_costs(pool):
    found = onto(pool, 0, 1)
    assert found.size > 25.0
    assert all(run.since == np.inf for run in assumption.true_alarms(found, range(5), 600))


@pytest.mark.parametrize("points", [1.0, 5.0])
def test_alarms_come_in_the_rounds_in_which_the_default_adapter_has_them(pool, points):
    (found,) = costing(pool, all_moved(pool, 0), (points,))
    for seed in range(2):
        (run,) = assumption.true_alarms(found, [seed], 300)
        held, rows = assumption.violated(found, seed, 300)
        adapter = RegressAndReweight().fit(found.before[held], found.y[held])
        rounds = 0
        while not adapter.assumption_alarm_ and rounds < 300:
            adapter.step(found.after[rows[rounds * assumption.BATCH : (rounds + 1) * assumption.BATCH]])
            rounds += 1
        assert rounds == run.since
        assert str(adapter.assumption_findings_[0]) == run.finding
