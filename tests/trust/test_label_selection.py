"""Labels of one predicted class alone: how often random labels would be told of."""

import warnings

import numpy as np
import pytest

from baserate.state import dumps, loads
from baserate.trust.label_selection import LabelSelection, SelectedLabelsWarning, watch_late, watch_round


def told(selection, own, labels):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        selection.take_in(own, own[labels != -1])
    return [warning.category for warning in found]


@pytest.mark.parametrize("share", [0.5, 0.85, 0.95])
def test_labels_at_random_are_hardly_ever_told_of(share):
    rng, alarms = np.random.default_rng(0), 0
    for _ in range(400):
        selection = LabelSelection(2)
        for _ in range(60):
            own = (rng.random(20) < share).astype(np.int64)
            alarms += len(told(selection, own, np.where(rng.random(20) < 0.1, 0, -1)))
    assert alarms <= 3


@pytest.mark.parametrize(("share", "labels"), [(0.5, 30), (0.79, 30), (0.85, 43), (0.89, 60)])
def test_labels_of_one_class_are_told_of_as_soon_as_chance_cannot_explain_them(share, labels):
    selection = LabelSelection(3)
    own = np.where(np.arange(1000) < 1000 * share, 1, 2)
    so_far = np.full(1000, -1)
    so_far[: labels - 1] = 0
    assert told(selection, own, so_far) == []
    one = np.where(np.arange(1000) == 0, 0, -1)
    assert told(selection, own, one) == [SelectedLabelsWarning]
    assert told(selection, own, one) == []


def test_nothing_is_counted_before_the_first_label_that_nothing_is_known_of():
    own, two = np.zeros(500, dtype=np.int64), np.arange(2)
    for labels, chosen in ((None, None), (np.full(500, -1), None), (own, np.full(500, 0.5))):
        assert watch_round(None, two, own, labels, chosen) is None
    for rows, chosen in (([], None), ([0], np.full(1, 0.5))):
        assert watch_late(None, two, rows, chosen, lambda: own) is None
    begun = watch_round(None, two, own[:20], np.where(np.arange(20) < 3, 0, -1), None)
    begun = watch_round(begun, two, own[:20], None, None)
    begun = watch_late(begun, two, [0, 0], None, lambda: own)
    np.testing.assert_array_equal(begun.predicted_, [40, 0])
    np.testing.assert_array_equal(begun.labelled_, [5, 0])
    late = watch_late(None, two, [1, 1], None, lambda: own)
    np.testing.assert_array_equal(late.predicted_, [500, 2])


def test_it_goes_on_from_a_saved_state():
    selection = LabelSelection(2)
    own = np.arange(200) % 2
    selection.take_in(own, own[:40])
    again = loads(dumps(selection))
    np.testing.assert_array_equal(again.predicted_, selection.predicted_)
    np.testing.assert_array_equal(again.labelled_, selection.labelled_)
    assert not again.warned_
