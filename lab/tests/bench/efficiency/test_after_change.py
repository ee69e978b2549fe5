"""The tracked mix after a change: what is measured, and at which row."""

import numpy as np
import pytest

from baserate.marginals import MLLS
from baserate.protocols import Evidence
from baserate_lab.bench.efficiency import after_change
from baserate_lab.bench.efficiency.after_change import LATER, ROWS, START, AfterChange, changed_stream, run
from baserate_lab.bench.efficiency.cells import ALONE, DEFAULT, LIGHT, ML, ORACLE, Cell, mixture

FIVE = "five classes, overlapping"


def cell(method, n=100, variant=LATER, **more):
    return Cell(FIVE, variant, n, method, 0, True)._replace(**more)


def test_the_plan_has_every_case_change_and_size():
    assert len(after_change.plan()) == 6 * 2 * 3


@pytest.mark.parametrize("method", [DEFAULT, LIGHT])
def test_the_numbers_are_those_of_rounds_one_by_one(method):
    along = changed_stream(cell(""))
    tracker = mixture(5, light=method == LIGHT, prior=along.source)
    squared, wrong = [], []
    for t, rows in enumerate(np.split(along.proba, 130)):
        if t >= 30:
            labels = (rows * tracker.predict() / along.source).argmax(axis=1)
            wrong.append((labels != along.y[100 * (t - 30) : 100 * (t - 29)]).mean())
        tracker.update(along.source, Evidence(rows, along.source))
        if t >= 30:
            squared.append(((tracker.predict() - along.mix) ** 2).sum())
    found = run(cell(method))
    assert found.mse_100 == pytest.approx(squared[0])
    assert found.mse_500 == pytest.approx(squared[4])
    assert found.mse_10000 == pytest.approx(squared[-1])
    assert found.mse_mean == pytest.approx(np.mean(squared))
    assert found.error == pytest.approx(np.mean(wrong))
    first = (run(cell(method)).mse_used - found.mse_mean) * 100 + squared[-1]
    assert 0.0 < first < ((along.mix - along.source) ** 2).sum() * 1.5  # the mix before the change, or nearly


def test_maximum_likelihood_is_told_the_change():
    along = changed_stream(cell(""))
    after = along.proba[3_000:]
    assert len(after) == ROWS
    q = MLLS(base="prior", source_prior=along.source).fit().estimate(after[:2_000])
    found = run(cell(ML))
    assert found.mse_2000 == pytest.approx(((q - along.mix) ** 2).sum())
    assert np.isnan(found.error)


def test_the_oracle_is_better_than_the_model_alone():
    alone, told = run(cell(ALONE)), run(cell(ORACLE))
    assert told.log_loss < alone.log_loss
    assert told.error < alone.error


def test_a_change_at_the_start_has_no_rows_before():
    assert len(changed_stream(cell("", variant=START)).proba) == ROWS
    assert len(changed_stream(cell("", n=10)).proba) == ROWS + 300


def test_a_stream_depends_on_the_seed_and_on_whether_it_judges():
    proba = changed_stream(cell("")).proba
    changed_stream.cache_clear()
    assert np.array_equal(changed_stream(cell("")).proba, proba)
    for other in (cell("", seed=1), cell("", design=False)):
        assert not np.array_equal(changed_stream(other).proba[:100], proba[:100])


def test_every_mark_has_a_field():
    assert {f"mse_{mark}" for mark in after_change.DRAWN_MARKS} < set(AfterChange._fields)
    assert set(after_change.MARKS) < set(after_change.DRAWN_MARKS)
