"""Copied rows are told from ties."""

import numpy as np
import pytest

from baserate.adapters import RegressAndReweight
from baserate.trust import HoldoutWarning
from baserate.trust.copied_rows import distinct_rows


def drawn(rng, n, share=0.3):
    y = (rng.random(n) < share).astype(int)
    odds = np.exp(1.5 * (y - 0.5) * 1.5 + 1.5 * rng.standard_normal(n) + np.log(share / (1 - share)))
    return np.column_stack([1 / (1 + odds), odds / (1 + odds)]), y


def test_copies_of_one_class_are_found():
    proba, y = drawn(np.random.default_rng(0), 1000, 0.02)
    rows = np.append(np.arange(1000), np.repeat(np.flatnonzero(y), 5))
    found = distinct_rows(proba[rows], y[rows])
    np.testing.assert_array_equal(found.rows, np.arange(1000))
    np.testing.assert_array_equal(found.copies, [0, 5 * y.sum()])


def test_a_bootstrap_is_found():
    rng = np.random.default_rng(0)
    proba, y = drawn(rng, 500)
    rows = rng.integers(500, size=500)
    assert len(distinct_rows(proba[rows], y[rows]).rows) == len(np.unique(rows))


@pytest.mark.parametrize("decimals", [2, 3])
def test_ties_are_no_copies(decimals):
    rng = np.random.default_rng(0)
    score = rng.random(5000)
    y = (rng.random(5000) < score).astype(int)
    positive = np.round(score, decimals)
    found = distinct_rows(np.column_stack([1 - positive, positive]), y)
    assert len(found.rows) == 5000


@pytest.mark.parametrize("share", [0.5, 0.05])
@pytest.mark.parametrize("apart", [1.0, 2.0, 2.5])
def test_votes_of_a_forest_that_is_less_sure_than_it_could_be_are_no_copies(apart, share):
    rng = np.random.default_rng(0)
    y = (rng.random(4000) < share).astype(int)
    odds = 2.0 * apart * rng.normal((2 * y - 1) * apart) + np.log(share / (1.0 - share))
    votes = np.round(100.0 / (1.0 + np.exp(-0.4 * odds))) / 100.0
    assert distinct_rows(np.column_stack([1.0 - votes, votes]), y).copies.sum() == 0


def test_copies_of_a_forests_rows_are_found_if_outputs_are_many():
    rng = np.random.default_rng(0)
    y = (rng.random(2000) < 0.3).astype(int)
    odds = 2.0 * rng.normal(2.0 * y - 1.0) + np.log(3.0 / 7.0)
    votes = 1.0 / (1.0 + np.exp(-0.4 * odds))
    rows = np.append(np.arange(2000), np.repeat(np.flatnonzero(y), 3))
    found = distinct_rows(np.column_stack([1.0 - votes, votes])[rows], y[rows])
    np.testing.assert_array_equal(found.copies, [0, 3 * y.sum()])


def test_nothing_to_find():
    proba, y = drawn(np.random.default_rng(0), 300)
    assert distinct_rows(proba, y).copies.sum() == 0


def test_a_fit_warns_and_counts_them_once():
    proba, y = drawn(np.random.default_rng(0), 600)
    rows = np.append(np.arange(600), np.repeat(np.flatnonzero(y), 5))
    with pytest.warns(HoldoutWarning, match=rf"{5 * y.sum()} rows of the holdout are copies .* of class 1\)"):
        once = RegressAndReweight(calibrator=None, source_prior=[0.7, 0.3]).fit(proba[rows], y[rows])
    np.testing.assert_array_equal(once._monitor.holdout()[0], proba)
