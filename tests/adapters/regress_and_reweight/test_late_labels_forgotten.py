"""Samples without an id among others, and ids that are deleted."""

import numpy as np
import pytest

from baserate import RegressAndReweight, dumps

HELD, HELD_Y = [[0.9, 0.1], [0.1, 0.9]] * 50, [0, 1] * 50
ROWS = np.array([[0.6, 0.4], [0.3, 0.7], [0.8, 0.2]])


def fitted(**options):
    return RegressAndReweight(calibrator=None, **options).fit(HELD, HELD_Y)


def test_samples_without_an_id_do_not_wait():
    adapter, all_named = fitted(), fitted()
    step = adapter.step(ROWS, ids=["a", None, "c"])
    np.testing.assert_array_equal(step.proba, all_named.step(ROWS, ids=["a", "b", "c"]).proba)
    assert adapter.waiting_ == 2
    assert adapter.update_labels(["a", "c"], [1, 0]) == 2
    all_named.update_labels(["a", "c"], [1, 0])
    np.testing.assert_array_equal(adapter.prior_, all_named.prior_)


def test_ids_that_are_all_missing_are_none():
    adapter = fitted()
    adapter.update(ROWS, ids=[None] * 3)
    assert adapter.waiting_ == 0
    adapter.update(ROWS, ids=[None, 7, None])
    assert adapter.forget([7]) == 1


def test_samples_without_an_id_take_no_place():
    adapter = fitted(max_waiting=2)
    adapter.update(ROWS, ids=["a", "b", None])
    adapter.update(ROWS, ids=[None, None, None])
    assert adapter.update_labels(["a", "b"], [0, 1]) == 2


@pytest.mark.parametrize("ids", [["a", None, "a"], ["a", None], [None, 1, "a"], [None, 1.5, 2]])
def test_ids_are_still_checked(ids):
    adapter = fitted()
    before = dumps(adapter)
    with pytest.raises((ValueError, TypeError), match="ids"):
        adapter.step(ROWS, ids=ids)
    assert dumps(adapter) == before


def test_forgotten_ids_are_unknown_and_nothing_else_changes():
    adapter, other = fitted(), fitted()
    for each in (adapter, other):
        each.step(ROWS, ids=["a", "b", "c"])
    assert adapter.forget(["b", "z"]) == 1
    np.testing.assert_array_equal(adapter.prior_, other.prior_)
    assert adapter.waiting_ == 2
    assert adapter.missed_labels_ == 0
    assert adapter.update_labels(["b"], [1]) == 0
    assert adapter.missed_labels_ == 1
    np.testing.assert_array_equal(adapter.prior_, other.prior_)
    with pytest.raises(TypeError, match="ids"):
        adapter.forget([None])
