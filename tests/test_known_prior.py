"""Re-weighting to a known class mix."""

import numpy as np
import pandas as pd
import pytest

from baserate import reweight

PROBA = np.array([[0.2, 0.3, 0.5], [0.9, 0.1, 0.0]])


def test_by_hand():
    found = reweight(PROBA, [0.5, 0.25, 0.25], [0.25, 0.25, 0.5])
    expected = np.array([[0.1, 0.3, 1.0], [0.45, 0.1, 0.0]])
    np.testing.assert_allclose(found, expected / expected.sum(axis=1, keepdims=True), atol=1e-12)


def test_there_and_back():
    first, second = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.1, 0.8])
    np.testing.assert_allclose(reweight(reweight(PROBA, first, second), second, first), PROBA, atol=1e-12)
    np.testing.assert_allclose(reweight(PROBA, first, first), PROBA, atol=1e-12)


@pytest.mark.parametrize("form", [list, np.float32, pd.Series])
def test_scores_and_shares_of_the_second_class(form):
    scores = np.array([0.0, 0.25, 0.5, 1.0])
    found = reweight(form(scores), 0.5, 0.01)
    np.testing.assert_array_equal(found, reweight(np.column_stack([1 - scores, scores]), [0.5, 0.5], [0.99, 0.01]))
    odds = 0.25 / 0.75 * 0.01 / 0.99
    np.testing.assert_allclose(found[1, 1], odds / (1 + odds), atol=1e-12)


def test_resampling_is_undone():
    """Bayes' rule on a model that is right for its own class mix."""
    rng = np.random.default_rng(0)
    y = (rng.random(200_000) < 0.02).astype(int)
    x = rng.normal(1.5 * y, 1.0)
    likelihood_ratio = np.exp(1.5 * x - 1.125)
    trained_on_half = likelihood_ratio / (1 + likelihood_ratio)
    right = reweight(trained_on_half, 0.5, 0.02)[:, 1]
    assert trained_on_half.mean() > 0.2
    np.testing.assert_allclose(right.mean(), y.mean(), rtol=0.05)
    likely = right > 0.1
    np.testing.assert_allclose(right[likely].mean(), y[likely].mean(), rtol=0.05)


def test_a_class_that_cannot_be():
    np.testing.assert_array_equal(reweight([[0.5, 0.5], [0.0, 1.0]], 0.5, 0.0), [[1.0, 0.0], [0.0, 1.0]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((PROBA, [0.5, 0.5, 0.0], [0.2, 0.3, 0.5]), "source_prior gives class 2 no mass"),
        ((PROBA, [0.5, 0.5], [0.2, 0.3, 0.5]), "source_prior has 2 columns"),
        ((PROBA, [0.2, 0.3, 0.5], [0.2, 0.3, 0.6]), "target_prior row 0 sums to 1.1"),
        ((PROBA, [0.2, 0.3, 0.5], 0.5), "target_prior"),
        (([0.2], 1.5, 0.5), "source_prior is 1.5"),
        (([0.2], 0.0, 0.5), "source_prior gives class 1 no mass"),
        (([2.2], 0.5, 0.5), "proba holds 2.2"),
        (([0.2], 0.5, "half"), "target_prior"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        reweight(*arguments)


def test_a_series_that_is_not_in_the_order_of_the_classes_is_refused():
    """The result of value_counts is sorted by frequency."""
    shares = pd.Series([1] * 7 + [0] * 3).value_counts(normalize=True)
    with pytest.raises(ValueError, match=r"source_prior is a Series with the index \[1, 0\]"):
        reweight([[0.5, 0.5]], shares, [0.5, 0.5])
    np.testing.assert_allclose(reweight([[0.5, 0.5]], shares.sort_index(), [0.5, 0.5]), [[0.7, 0.3]])
