"""Precision, recall and F1 from counts, as scikit-learn has them from rows."""

import numpy as np
import pytest
from sklearn.metrics import precision_recall_fscore_support

from baserate.backtesting.scores import precision_recall_f1


def counts(y, chosen, k, m):
    return np.bincount(y * m + chosen, minlength=k * m).reshape(k, m)


@pytest.mark.parametrize("positive", [0, 1])
def test_two_classes_as_scikit_learn(positive):
    rng = np.random.default_rng(2)
    y, chosen = rng.integers(0, 2, 200), rng.choice(2, 200, p=[0.8, 0.2])
    expected = precision_recall_fscore_support(y, chosen, pos_label=positive, average="binary")[:3]
    assert precision_recall_f1(counts(y, chosen, 2, 2), positive) == pytest.approx(expected)


def test_means_over_the_classes_that_occur_as_scikit_learn():
    rng = np.random.default_rng(2)
    y, chosen = rng.choice([0, 1, 3], 300), rng.choice([0, 1, 2], 300)  # 2 does not occur, 3 is never decided for
    expected = precision_recall_fscore_support(y, chosen, labels=[0, 1, 3], average="macro", zero_division=0)[:3]
    assert precision_recall_f1(counts(y, chosen, 4, 4)) == pytest.approx(expected)


def test_asking_finds_nothing():
    """One of four positives is found, three are asked for; one of five negatives is called positive."""
    assert precision_recall_f1(np.array([[4, 1, 0], [0, 1, 3]]), 1) == (0.5, 0.25, 2 / 6)


def test_what_is_not_defined_is_not_a_number_that_looks_bad():
    assert precision_recall_f1(np.array([[5, 0], [3, 0]]), 1) == (None, 0.0, 0.0)
    assert precision_recall_f1(np.array([[5, 2], [0, 0]]), 1) == (0.0, None, 0.0)
    assert precision_recall_f1(np.array([[5, 0], [0, 0]]), 1) == (None, None, None)
