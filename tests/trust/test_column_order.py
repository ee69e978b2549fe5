"""Columns in another order are found; rare classes, useless models and bad calibration are no reason."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import mannwhitneyu

from baserate import RegressAndReweight
from baserate.trust import HoldoutWarning
from baserate.trust.column_order import REFUSED, check_column_order, misplaced_columns

AUC_90 = 1.8124  # distance of two normal distributions at which the area under the ROC curve is 0.9


def two_classes(n, share, distance=AUC_90, seed=0, bias=0.0):
    rng = np.random.default_rng(seed)
    y = (np.arange(n) < max(1, round(share * n))).astype(int)
    logit = distance * rng.normal(distance * (y - 0.5), 1.0) + np.log(share / (1.0 - share)) + bias
    second = 1.0 / (1.0 + np.exp(-logit))
    return np.column_stack([1.0 - second, second]), y


def many_classes(n, k, strength, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    odds = np.exp(rng.normal(size=(n, k)) + strength * np.eye(k)[y])
    return odds / odds.sum(axis=1, keepdims=True), y


@pytest.mark.parametrize(("n", "share"), [(200, 0.5), (500, 0.1), (3000, 0.01), (3000, 0.99)])
def test_swapped_columns_are_refused(n, share):
    proba, y = two_classes(n, share)
    check_column_order(proba, y)
    with pytest.raises(ValueError, match=r"worse than chance .* in the order of model.classes_.*proba\[:, \[1, 0\]\]"):
        check_column_order(proba[:, ::-1], y)


def test_the_areas_are_those_of_the_rank_test():
    proba, y = two_classes(500, 0.2)
    (found,) = misplaced_columns(proba[:, ::-1], y)
    u = mannwhitneyu(proba[y == 1, 1], proba[y == 0, 1], alternative="greater")
    area = u.statistic / (100 * 400)
    np.testing.assert_allclose([found.area, found.own_area], [area, 1.0 - area], atol=1e-12)
    # The normal approximation is the test of Mann and Whitney.
    assert abs(found.log_p_normal / np.log(u.pvalue) - 1.0) < 0.02
    assert found.log_p > found.log_p_normal, "a bound is safer"


def test_a_model_that_never_predicts_fraud_is_fine():
    proba, y = two_classes(5000, 0.01, distance=1.0)
    assert (proba[:, 1] < 0.5).all()
    RegressAndReweight().fit(proba, y)
    check_column_order(proba, y)


@pytest.mark.parametrize("bias", [-8.0, 8.0])
def test_calibration_does_not_matter(bias):
    """One that always, or never, predicts the second class is in order if it ranks well."""
    proba, y = two_classes(2000, 0.3, bias=bias)
    check_column_order(proba, y)
    with pytest.raises(ValueError, match="worse than chance"):
        check_column_order(proba[:, ::-1], y)


@pytest.mark.parametrize(("n", "k", "share"), [(1000, 2, 0.01), (200, 2, 0.5), (30, 2, 0.5), (300, 5, 0.2)])
def test_useless_models_are_not_refused(n, k, share):
    """The most suspicious one of 2,000 holdouts stays far from the limit."""
    rng = np.random.default_rng(0)
    shares = np.append(np.full(k - 1, (1.0 - share) / (k - 1)), share)
    least = 0.0
    for _ in range(2000 if k == 2 else 300):
        proba, y = rng.dirichlet(np.ones(k), size=n), rng.choice(k, n, p=shares)
        least = min([least, *(found.log_p for found in misplaced_columns(proba, y))])
    assert least > 0.8 * np.log(REFUSED)


def test_constant_probabilities_say_nothing():
    assert misplaced_columns(np.full((500, 2), 0.5), np.arange(500) % 2) == []
    check_column_order(np.tile([0.99, 0.01], (500, 1)), (np.arange(500) % 100 == 0).astype(int))


def test_permuted_columns_of_ten_classes_are_refused_with_their_order():
    proba, y = many_classes(500, 10, 2.0)
    check_column_order(proba, y)
    order = np.random.default_rng(1).permutation(10)
    back = np.argsort(order).tolist()
    with pytest.raises(ValueError, match="fit proba far better") as caught:
        check_column_order(proba[:, order], y)
    assert f"proba[:, {back}]" in str(caught.value)
    np.testing.assert_array_equal(proba[:, order][:, back], proba)


def test_two_exchanged_columns_among_many_are_named():
    proba, y = many_classes(600, 12, 2.0)
    order = np.arange(12)
    order[[3, 7]] = 7, 3
    names = [f"c{i}" for i in range(12)]
    with pytest.raises(ValueError, match=r"with class 'c3' in column 7, 'c7' in column 3 \(area"):
        check_column_order(proba[:, order], y, names)


def test_numbers_sorted_as_text():
    """Class 10 after class 1: the columns of a model that was trained on text."""
    proba, y = many_classes(600, 11, 2.0)
    as_text = np.argsort([str(c) for c in range(11)])
    with pytest.raises(ValueError, match="class 2 in column 3, 3 in column 4"):
        check_column_order(proba[:, as_text], y)


def test_moderate_evidence_is_a_warning():
    proba, y = two_classes(1200, 0.01)  # twelve positives
    with pytest.warns(HoldoutWarning, match=r"worse than chance.*if you gave scores: 1 - scores\)"):
        check_column_order(proba[:, ::-1], y)
    check_column_order(proba, y)


def test_a_class_without_samples_does_no_harm():
    proba, y = many_classes(300, 4, 2.0)
    check_column_order(proba[y != 2], y[y != 2])


def test_adapters_refuse_and_stay_as_they_were():
    proba, y = two_classes(500, 0.3)
    adapter = RegressAndReweight().fit(proba, y)
    adapter.update(proba[:50])
    before = adapter.prior_
    with pytest.raises(ValueError, match="worse than chance"):
        adapter.fit(1.0 - proba[:, 1], y)
    with pytest.raises(ValueError, match="worse than chance"):
        adapter.refit(proba[:, ::-1], y)
    np.testing.assert_array_equal(adapter.prior_, before)
    fraud = np.where(y == 1, "fraud", "ok")  # the scores are of fraud, which is not the second one of these
    with pytest.raises(ValueError, match="if you gave scores: 1 - scores, or y == 'fraud' for labels"):
        adapter.fit(proba[:, 1], fraud)
    np.testing.assert_array_equal(RegressAndReweight().fit(proba[:, 1], fraud == "fraud").classes_, [False, True])
    names = np.array(["spam", "ham"])  # sorted, these are the other way round
    with pytest.raises(ValueError, match="class 'ham' in column 1, 'spam' in column 0"):
        RegressAndReweight().fit(proba, names[y])
    RegressAndReweight().fit(pd.DataFrame(proba, columns=["p_spam", "p_ham"]), names[y])


def test_a_large_holdout_is_thinned_out():
    proba, y = many_classes(30_000, 200, 3.0)
    assert misplaced_columns(proba, y) == []
    assert misplaced_columns(np.full((400, 301), 1 / 301), np.arange(400) % 301) == []
