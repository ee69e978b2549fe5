"""Percentages, logits and scores become probabilities, and what is of another scale is told of."""

import numpy as np
import pytest

from baserate.files.scales import (
    LOGITS,
    PERCENT,
    PROBABILITIES,
    advice_for_row,
    advice_for_score,
    scale_named,
    to_probabilities,
    wrong_scale,
)

PROBA = np.random.default_rng(0).dirichlet([1.0, 2.0, 3.0], 50)


@pytest.mark.parametrize(
    ("values", "scale"), [(PROBA, PROBABILITIES), (100 * PROBA, PERCENT), (np.log(PROBA) + 7.0, LOGITS)]
)
def test_a_column_for_each_class(values, scale):
    np.testing.assert_allclose(to_probabilities(values, scale, None), PROBA, rtol=1e-12)


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize(
    ("to_scale", "scale"),
    [(lambda p: p, PROBABILITIES), (lambda p: 100 * p, PERCENT), (lambda p: np.log(p / (1 - p)), LOGITS)],
)
def test_one_score(to_scale, scale, positive):
    p = PROBA[:, :1]
    found = to_probabilities(to_scale(p), scale, positive)
    np.testing.assert_allclose(found[:, positive], p[:, 0], rtol=1e-9)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_large_logits_neither_overflow_nor_lose_the_small_probability():
    np.testing.assert_allclose(to_probabilities(np.array([[1000.0, 0.0]]), LOGITS, None), [[1.0, 0.0]])
    assert to_probabilities(np.array([[50.0]]), LOGITS, 1)[0, 0] == pytest.approx(np.exp(-50.0))


def test_percentages_that_were_rounded():
    rounded = np.round(100 * PROBA)
    found = to_probabilities(rounded, PERCENT, None)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(found, PROBA, atol=0.02)


def test_percentages_that_are_not_all_are_not_made_to_fit():
    assert to_probabilities(np.array([[30.0, 30.0]]), PERCENT, None).sum() == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("values", "scale", "score", "word"),
    [
        (PROBA, LOGITS, False, "leave --logits out"),
        (100 * PROBA, LOGITS, False, "--percent instead of --logits"),
        (PROBA[:, :1], LOGITS, True, "leave --logits out"),
        (PROBA[:, :1], PERCENT, True, "leave --percent out"),
        (np.log(PROBA), LOGITS, False, ""),
        (3 * PROBA, LOGITS, False, ""),
        (100 * PROBA[:, :1], PERCENT, True, ""),
        (PROBA, PROBABILITIES, False, ""),
        (PROBA[:1], LOGITS, False, ""),  # one row may be so by chance
    ],
)
def test_values_of_another_scale(values, scale, score, word):
    found = wrong_scale(values, scale, score=score)
    assert word in found
    assert bool(found) == bool(word)


@pytest.mark.parametrize(
    ("share", "of_labels", "refused"),
    [(0.005, 0.005, True), (0.5, 0.005, False), (0.02, 0.005, True), (0.2, 0.005, False), (0.5, 0.5, True)],
)
def test_percentages_of_a_rare_class_may_all_be_below_1(share, of_labels, refused):
    values = np.linspace(0.0, 2 * share, 100)[:, None]
    found = wrong_scale(values, PERCENT, score=True, share=of_labels)
    assert found == ("the values are probabilities already, from 0 to 1; leave --percent out" if refused else "")


@pytest.mark.parametrize(
    ("row", "scale", "word"),
    [
        ([60.0, 40.0], PROBABILITIES, "add --percent"),
        ([99.5, 1.0], PROBABILITIES, "add --percent"),
        ([6.0, 4.0], PROBABILITIES, "add --logits"),
        ([0.3, 0.3], PROBABILITIES, "Normalise"),
        ([0.4, 0.6], PERCENT, "leave --percent out"),
        ([30.0, 30.0], PERCENT, "expected 100"),
    ],
)
def test_advice_for_a_row(row, scale, word):
    assert word in advice_for_row(np.array(row), scale)


def test_advice_that_does_not_fit_is_not_given():
    assert "--logits" not in advice_for_row(np.array([0.3, 0.3]), PROBABILITIES)
    assert "--percent" not in advice_for_score(-2.0, PROBABILITIES)
    assert "--percent" in advice_for_score(37.5, PROBABILITIES)
    assert "--logits" in advice_for_score(-2.0, PROBABILITIES)


def test_two_scales_at_once():
    with pytest.raises(ValueError, match="exclude each other"):
        scale_named(percent=True, logits=True)
