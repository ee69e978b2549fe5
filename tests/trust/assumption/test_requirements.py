"""Reasons why a holdout does not suffice to test label shift."""

import numpy as np
import pytest

from baserate.trust.assumption.regions import RANGES
from baserate.trust.assumption.requirements import LEAST_SINGULAR, least_singular, too_alike


def counted(confusion):
    """Counts by class and cell, with all samples in one range, from counts by class and most probable class."""
    k = len(confusion)
    cells = np.zeros((k, k, RANGES))
    cells[:, :, 3] = confusion
    return cells.reshape(k, -1)


@pytest.mark.parametrize(
    ("confusion", "names", "reason"),
    [
        (
            [[990, 10], [95, 5]],
            ["good", "fraud"],
            "of 'fraud' is hardly ever above 50 % (on 5 % of its own rows; least ",
        ),
        ([[990, 10], [95, 5]], None, "of class 1 is hardly ever above 50 % (on 5 % of its own rows; least "),
        (
            [[0, 80], [2, 998]],
            ["fraud", "good"],
            "of 'fraud' is hardly ever above 50 % (on 0 % of its own rows; least ",
        ),
        ([[50, 50], [45, 55]], ["good", "fraud"], "says next to nothing about the true one (least singular "),
        (
            [[90, 5, 5], [0, 50, 50], [0, 49, 51]],
            None,
            "confuses classes too often to tell drift from a change of the ",
        ),
    ],
)
def test_it_is_said_in_plain_words_with_the_figure_in_brackets(confusion, names, reason):
    holdout = counted(confusion)
    said = too_alike(holdout, names)
    assert reason in said
    assert f"{least_singular(holdout):.2g}, at least {LEAST_SINGULAR} is needed). Check the model on fresh" in said
    assert said.endswith("now and then.")


def test_classes_that_are_told_apart_are_no_reason():
    assert too_alike(counted([[990, 10], [80, 20]])) == ""
    assert too_alike(counted([[10, 990], [90, 10]])) == ""
