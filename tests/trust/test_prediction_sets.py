"""Prediction sets: thresholds worked by hand, a naive transcription, and coverage under label shift."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baserate.trust.prediction_sets import least_probabilities, prediction_sets


def naive_set(row, proba, labels, mix, level):
    """Class c is in the set unless its probability is among the lowest, with the sample added as one more row of c."""
    counts = np.bincount(labels, minlength=len(mix))
    found = []
    for c in range(len(mix)):
        scores = [(1.0 - proba[i, labels[i]], mix[labels[i]] / counts[labels[i]]) for i in range(len(labels))]
        scores.append((np.inf, mix[c] / counts[c]))
        total, reached, quantile = sum(weight for _, weight in scores), 0.0, np.inf
        for score, weight in sorted(scores):
            reached += weight
            if reached >= level * total * (1 - 1e-12):
                quantile = score
                break
        found.append(1.0 - row[c] <= quantile + 1e-12)
    if not any(found) or not found[int(np.argmax(row))]:
        found[int(np.argmax(row))] = True
    return found


@given(st.integers(0, 10_000), st.sampled_from([0.5, 0.8, 0.9, 0.99]))
def test_sets_are_those_of_a_naive_transcription(seed, level):
    rng = np.random.default_rng(seed)
    k, n = int(rng.integers(2, 5)), int(rng.integers(6, 40))
    labels = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    proba, new = rng.dirichlet(np.ones(k), size=n), rng.dirichlet(np.ones(k), size=5)
    mix = rng.dirichlet(np.ones(k))
    least = least_probabilities(proba, labels, mix[np.newaxis], level)
    expected = [naive_set(row, proba, labels, mix, level) for row in new]
    np.testing.assert_array_equal(prediction_sets(new, least), expected)


def test_thresholds_by_hand():
    # Nine rows of class 0 with probabilities 0.1 to 0.9, one of class 1.
    p = np.append(np.arange(1, 10) / 10, 0.3)
    proba = np.column_stack([p, 1 - p])
    labels = np.array([0] * 9 + [1])
    mix = np.array([[0.9, 0.1]])
    # All rows weigh 0.1, as would a new one: 80 % of 11 rows are 8.8, so that the ninth probability from above decides.
    # Sorted: 0.9, 0.8, 0.7 (class 0), 0.7 (class 1), 0.6, 0.5, 0.4, 0.3, 0.2, 0.1.
    np.testing.assert_allclose(least_probabilities(proba, labels, mix, 0.8), [0.2, 0.2])
    # 95 % would take more rows than there are: everything belongs into the set.
    np.testing.assert_allclose(least_probabilities(proba, labels, mix, 0.95), [0.0, 0.0])
    # By class: 8 of 10 rows of class 0; of one row and a new one, half are at least 0.7, and 80 % cannot be had.
    by_class = least_probabilities(proba, labels, mix, 0.8, class_conditional=True)
    np.testing.assert_allclose(by_class, [0.2, 0.0])
    by_class = least_probabilities(proba, labels, mix, 0.5, class_conditional=True)
    np.testing.assert_allclose(by_class, [0.5, 0.7])


def test_the_most_careful_mix_decides():
    rng = np.random.default_rng(0)
    proba, labels = rng.dirichlet(np.ones(3), size=200), rng.integers(0, 3, 200)
    mixes = rng.dirichlet(np.ones(3), size=4)
    each = [least_probabilities(proba, labels, mix[np.newaxis], 0.9) for mix in mixes]
    np.testing.assert_array_equal(least_probabilities(proba, labels, mixes, 0.9), np.min(each, axis=0))


def test_a_set_always_has_the_likeliest_class():
    rows, least = np.array([[0.4, 0.35, 0.25], [0.4, 0.25, 0.35]]), np.array([0.9, 0.3, 0.9])
    assert prediction_sets(rows, least).tolist() == [[True, True, False], [True, False, False]]
    assert prediction_sets(rows, least, allow_empty=True).tolist() == [[False, True, False], [False, False, False]]


def outputs(rng, mix, n, k=3):
    """A calibrated model with an even source, on samples with a given class mix."""
    y = rng.choice(k, size=n, p=mix)
    scores = rng.normal(size=(n, k)) + 1.5 * np.eye(k)[y]
    logits = 1.5 * scores
    proba = np.exp(logits - logits.max(axis=1, keepdims=True))
    return proba / proba.sum(axis=1, keepdims=True), y


@pytest.mark.parametrize("class_conditional", [False, True])
def test_sets_cover_as_often_as_they_say_under_label_shift(class_conditional):
    rng, even, mix = np.random.default_rng(1), np.full(3, 1 / 3), np.array([0.9, 0.08, 0.02])
    covered, plain, by_class = [], [], []
    for _ in range(200):
        holdout, labels = outputs(rng, even, 150)
        rows, y = outputs(rng, mix, 400)
        holdout, rows = (p * mix / (p * mix).sum(axis=1, keepdims=True) for p in (holdout, rows))
        for used, into in ((mix, covered), (even, plain)):
            least = least_probabilities(
                holdout, labels, used[np.newaxis], 0.9, class_conditional=class_conditional and into is covered
            )
            inside = prediction_sets(rows, least, allow_empty=True)[np.arange(len(y)), y]
            into.append(inside.mean())
            if into is covered:
                by_class.append([inside[y == c].mean() if (y == c).any() else np.nan for c in range(3)])
    error = np.std(covered) / np.sqrt(len(covered))
    assert 0.9 - 3 * error < np.mean(covered) < 0.93
    if class_conditional:
        assert np.nanmean(by_class, axis=0).min() > 0.88
    else:
        assert abs(np.mean(plain) - 0.9) > 0.02  # without the weights it is another number
