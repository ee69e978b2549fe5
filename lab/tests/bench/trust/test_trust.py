"""The experiments of trust, small: what the tables of the docs show holds for the Gaussian classes, too."""

import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from baserate.adapters import RegressAndReweight
from baserate_lab.bench.trust import accuracy, assumption, bands, nannyml_accuracy, never_worse
from baserate_lab.bench.trust._draws import World
from baserate_lab.bench.trust._violations import all_moved, costing, gaussian_pool, one_moved, onto
from baserate_lab.bench.trust.assumption_tables import Case, Run, delays, summary_table


@pytest.fixture(scope="module")
def pool():
    return gaussian_pool()


@pytest.fixture(scope="module")
def world(pool):
    return World(pool.predict(pool.x), pool.y)


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # holdouts are small here
        yield


def test_bands_cover_and_are_not_wide_for_nothing(world, monkeypatch):
    monkeypatch.setattr(bands, "world_of", lambda name: world)
    small = {row.shift: row for row in bands.run("any", 200, 8, n_rounds=120)}
    large = {row.shift: row for row in bands.run("any", 2000, 4, n_rounds=120)}
    for rows, most in ((small, 0.45), (large, 0.3)):
        # Looks of a draw are not independent, and draws are few; with 60 % of its width a band would have 49 to 87 %.
        for shift, coverage in (("Constant", 0.9), ("Monotone", 0.8)):
            assert rows[shift].coverage >= coverage
            assert rows[shift].moving >= coverage - 0.1
            assert rows[shift].width < most
    assert small["Constant"].width > 1.3 * large["Constant"].width  # a small holdout leaves more open


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


def test_the_estimated_accuracy_is_near_and_its_limits_hold_it(world, monkeypatch):
    monkeypatch.setattr(accuracy, "world_of", lambda name: world)
    rows = accuracy.run("any", 1000, 4, n_windows=2)
    assert len(rows) == 6
    for row in rows:
        assert row.error <= 1.5
        assert row.width < 6.0
    assert np.mean([row.coverage for row in rows]) >= 0.8
    assert max(row.accuracy for row in rows) - min(row.accuracy for row in rows) > 2.0  # there is something to estimate


@pytest.mark.parametrize(("shift", "size"), [("none", 30), ("Square", 200), ("Monotone", 200)])
def test_the_gated_adapter_is_not_worse_than_the_model_and_keeps_the_gain(world, monkeypatch, shift, size):
    found = SimpleNamespace(
        holdout_proba=world.proba[:5000],
        holdout_y=world.y[:5000],
        target_proba=world.proba[5000:],
        target_y=world.y[5000:],
    )
    monkeypatch.setattr(never_worse, "outputs", lambda *model, progress: found)
    row = never_worse.run("any", ("any", "any"), shift, size, range(3))
    assert row.gated - row.base < never_worse.ALLOWED
    if shift == "none":
        assert row.ungated - row.base > 2.0 * never_worse.ALLOWED  # thirty samples are too few, which the gate sees
    else:
        assert row.base - row.gated >= 0.85 * (row.base - row.ungated) > 1.0


def test_a_long_real_stream_is_cut_and_its_order_kept(world, monkeypatch):
    found = SimpleNamespace(
        holdout_proba=world.proba[:500],
        holdout_y=world.y[:500],
        target_proba=world.proba[500:1500],
        target_y=world.y[500:1500],
    )
    monkeypatch.setattr(never_worse, "outputs", lambda *model, progress: found)
    monkeypatch.setattr(never_worse, "LONGEST", 205)
    wrong, weights, held = never_worse.play(("any", "any"), never_worse.ORDER, 200, 0, 0.0)
    assert held == 200
    assert wrong.shape == (3, 205)
    assert len(weights) == 21
    assert wrong[0].tolist() == (found.target_proba.argmax(axis=1) != found.target_y)[:205].tolist()


def case(model, details, size, alarms):
    return Case("noise", model, details, size, [Run(100.0, "odd")] * alarms + [Run(400.0, "late")] * (10 - alarms))


def test_the_summary_names_cases_with_too_few_alarms():
    found = [case("a", "class 1", 5.0, 10), case("b", "", 5.0, 8), case("b", "", 1.0, 0)]
    lines = summary_table(found).splitlines()
    assert lines[2:] == ["| noise | 5 | 2 | 90 | b (8 of 10) |", "| noise | 1 | 1 | 0 | b (0 of 10) |"]


def test_the_figure_has_each_kind_that_comes_in_sizes_and_no_logistic_models():
    found = [case("mnist mlp", "", 5.0, 1), case("mnist mlp", "", 1.0, 0), case("mnist logistic", "", 5.0, 9)]
    found.append(case("synthetic linear", "", 29.0, 0)._replace(kind="onto"))
    assert delays(found) == {"noise": {"mnist": {5.0: [100.0] + [400.0] * 9, 1.0: [400.0] * 10}}}


def test_what_to_install_for_nannyml(monkeypatch):
    monkeypatch.setitem(sys.modules, "nannyml", None)
    with pytest.raises(ImportError, match="pip install nannyml"):
        nannyml_accuracy.Cbpe(np.eye(2), np.arange(2))
