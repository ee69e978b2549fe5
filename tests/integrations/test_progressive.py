"""The holdout of a model that learns online: recent, bounded, and with every class."""

import numpy as np
import pytest

from baserate.integrations._progressive import ProgressiveHoldout, row_of


def test_the_last_ones_are_kept():
    holdout = ProgressiveHoldout(size=40, per_class=5)
    for i in range(200):
        holdout.add({"a": i / 200, "b": 1 - i / 200}, "ab"[i % 2])
    rows, labels = holdout.samples(["a", "b"])
    assert len(holdout) == len(rows) == 40
    np.testing.assert_allclose(rows[:, 0], np.arange(160, 200) / 200)
    np.testing.assert_array_equal(labels, np.arange(40) % 2)


def test_a_rare_class_stays():
    holdout = ProgressiveHoldout(size=40, per_class=5)
    for i in range(1000):
        holdout.add({"a": 0.5, "b": 0.5}, "b" if i < 8 else "a")
    assert len(holdout) == 40
    assert holdout.classes() == ["b", "a"]
    assert np.bincount(holdout.samples(["a", "b"])[1]).tolist() == [35, 5]


def test_what_a_beginner_said_is_dropped():
    holdout = ProgressiveHoldout(size=1000, per_class=5)
    for i in range(300):
        holdout.add({"a": i / 300, "b": 1 - i / 300}, "ab"[i % 2])
    assert len(holdout) == 150
    assert holdout.samples(["a", "b"])[0][0, 0] == pytest.approx(0.5)


def test_more_classes_than_there_is_room_for():
    holdout = ProgressiveHoldout(size=20, per_class=10)
    for i in range(100):
        holdout.add({i % 10: 1.0}, i % 10)
    assert len(holdout) == 20
    assert holdout.classes() == []


def test_rows_are_of_the_classes_asked_for():
    np.testing.assert_allclose(row_of({"a": 0.2, "b": 0.3, "c": 0.5}, ["b", "a", "z"]), [0.6, 0.4, 0.0])
    assert row_of({"a": 1.0}, ["b", "c"]) is None
    assert row_of({"a": float("nan")}, ["a"]) is None


def test_what_was_handed_over_may_change():
    holdout = ProgressiveHoldout(size=20, per_class=1)
    said = {"a": 0.25, "b": 0.75}
    holdout.add(said, "a")
    said["a"] = 9.0
    np.testing.assert_array_equal(holdout.samples(["a", "b"])[0], [[0.25, 0.75]])
