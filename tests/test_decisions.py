"""Decisions by cost, and thresholds that move with the class mix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from baserate import decide
from baserate.decisions import decision_rule, expected_costs, moved_threshold
from baserate.simplex import log_ratio, reweight

SHARES = arrays(float, st.tuples(st.integers(0, 6), st.just(3)), elements=st.floats(0.01, 1.0))
COSTS = arrays(float, (3, 4), elements=st.floats(-10, 10))
SHARE = st.floats(0.001, 0.999)


@settings(deadline=None)  # the first call compiles
@given(SHARES, COSTS)
def test_costs_least_by_brute_force(shares, costs):
    proba = shares / shares.sum(axis=1, keepdims=True)
    decided = decide(proba, costs=costs)
    assert decided.shape == (len(proba),)
    assert decided.dtype == np.int64
    for row, choice in zip(proba, decided, strict=True):
        means = [sum(row[true] * costs[true, d] for true in range(3)) for d in range(4)]
        assert means[choice] <= min(means) + 1e-9


def test_worked_by_hand():
    costs = np.array([[0.0, 10.0], [1.0, 0.0]])  # the truth is the row: a sign or a transposition would show
    np.testing.assert_allclose(expected_costs([[0.9, 0.1], [0.05, 0.95]], costs), [[0.1, 9.0], [0.95, 0.5]])
    assert decide([[0.9, 0.1], [0.1, 0.9], [0.05, 0.95]], costs=costs).tolist() == [0, 0, 1]


def test_equal_costs_are_argmax_and_the_first_of_equals():
    proba = np.array([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4]])
    assert decide(proba, costs=1 - np.eye(3)).tolist() == [1, 0]


def test_a_column_more_is_a_decision_more():
    costs = [[0, 1, 0.2], [1, 0, 0.2]]
    assert decide([[0.95, 0.05], [0.5, 0.5], [0.1, 0.9]], costs=costs).tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    ("proba", "costs", "message"),
    [
        ([[0.5, 0.5]], np.eye(3), "costs has 3 rows; expected 2"),
        ([[0.5, 0.5]], [[0, np.inf], [1, 0]], r"costs holds inf at \[0, 1\]"),
        ([[0.5, 0.5]], np.empty((2, 0)), "costs has no columns"),
        ([[0.5, 0.5]], [0, 1], "costs has shape"),
        ([[0.5, 0.6]], np.eye(2), "proba row 0 sums to"),
    ],
)
def test_bad_input(proba, costs, message):
    with pytest.raises(ValueError, match=message):
        decide(proba, costs=costs)


@settings(deadline=None)
@given(st.lists(SHARE, min_size=1, max_size=20), SHARE, SHARE, SHARE)
def test_the_moved_threshold_does_what_the_adapted_one_does(second, threshold, now, before):
    proba = np.column_stack([1 - np.array(second), second])
    offsets = log_ratio(np.array([1 - now, now]), np.array([1 - before, before]))
    adapted = reweight(proba, offsets[np.newaxis], np.array([0, len(proba)]))[:, 1]
    moved = moved_threshold(threshold, offsets)
    clear = np.abs(adapted - threshold) > 1e-12
    np.testing.assert_array_equal((proba[:, 1] >= moved)[clear], (adapted >= threshold)[clear])


def test_a_threshold_worked_by_hand():
    assert moved_threshold(0.3, [0.0, 0.0]) == pytest.approx(0.3, rel=1e-14)
    # Odds of 1 to 3 at the source, four times as likely now: 1 to 12.
    assert moved_threshold(0.25, [0.0, np.log(4.0)]) == pytest.approx(1 / 13)


def test_classes_that_are_ruled_out():
    never, always = moved_threshold(0.4, [0.0, -np.inf]), moved_threshold(0.4, [-np.inf, 0.0])
    assert never == 1.0
    assert 0.0 < always < 1e-300
    assert moved_threshold(0.4, [-2000.0, 0.0]) > 0.0


@pytest.mark.parametrize(
    ("threshold", "offsets", "message"),
    [
        (0.0, [0.0, 0.0], "threshold is 0"),
        (1.0, [0.0, 0.0], "threshold is 1"),
        (0.5, [0.0, 0.0, 0.0], "log_offsets has 3 entries"),
        (0.5, [0.0, np.inf], "log_offsets is"),
        (0.5, [-np.inf, -np.inf], "log_offsets is"),
        (0.5, [0.0, np.nan], "log_offsets is"),
    ],
)
def test_bad_thresholds(threshold, offsets, message):
    with pytest.raises(ValueError, match=message):
        moved_threshold(threshold, offsets)


def test_scores_of_two_classes_are_enough():
    scores, costs = np.array([0.1, 0.3, 0.8]), [[0, 1], [5, 0]]
    np.testing.assert_array_equal(decide(scores, costs), decide(np.column_stack([1 - scores, scores]), costs))
    with pytest.raises(ValueError, match="costs has 3 rows; expected 2"):
        decide(scores, np.eye(3))


def test_a_pair_of_costs_is_about_the_positive_class():
    """A false alarm costs 1, a missed fraud 20: transposed, the first row would be let pass."""
    proba = np.array([[0.9, 0.1], [0.97, 0.03]])
    rule = decision_rule(["good", "fraud"], costs=(1, 20), positive="fraud")
    decided, expected = rule.decide(proba)
    assert decided.tolist() == [1, 0]
    np.testing.assert_allclose(expected, [0.9, 0.6])
    other = decision_rule(["fraud", "good"], costs=(1, 20), positive=0)
    assert other.decide(proba[:, ::-1])[0].tolist() == [0, 1]
    assert decision_rule(["a", "b"], costs=(1, 20)).costs.tolist() == [[0, 1], [20, 0]]


def test_a_threshold_is_reached_by_what_equals_it():
    proba = np.array([[0.75, 0.25], [0.76, 0.24], [0.0, 1.0]])
    assert decision_rule(["a", "b"], threshold=0.25).decide(proba)[0].tolist() == [1, 0, 1]
    assert decision_rule(["a", "b"], threshold=0.75, positive="a").decide(proba)[0].tolist() == [0, 0, 1]


def test_a_threshold_implies_costs_and_decides_as_they_do():
    """At 0.2 a missed positive costs 4 false alarms; where both cost the same, the threshold is reached."""
    rule = decision_rule(["fraud", "good"], threshold=0.2, positive="fraud")
    np.testing.assert_allclose(rule.costs, [[0, 4], [1, 0]])
    p = np.linspace(0, 1, 1001)
    proba = np.column_stack([p, 1 - p])
    decided, expected = rule.decide(proba)
    by_costs, least = decision_rule(["fraud", "good"], costs=(1, 4), positive="fraud").decide(proba)
    np.testing.assert_array_equal(decided[p != 0.2], by_costs[p != 0.2])
    np.testing.assert_allclose(expected, least, atol=1e-12)
    assert decision_rule("ab", threshold=0.05).costs.tolist() == [[0, 1], [19, 0]]
    assert decision_rule("ab", threshold=0.5).costs.tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("threshold", [5e-324, 1e-200, 1 - 2**-53])
def test_the_costs_of_any_threshold_are_finite(threshold):
    rule = decision_rule("ab", threshold=threshold)
    assert rule.costs[0, 1] == 1
    assert 0 < rule.costs[1, 0] ** 2 < np.inf
    assert rule.decide(np.array([[1 - threshold, threshold], [1.0, 0.0]]))[0].tolist() == [1, 0]


def test_no_rule_is_the_most_probable_class():
    assert decision_rule("abc").decide(np.array([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4]]))[0].tolist() == [1, 0]


def test_further_decisions_have_names():
    costs = [[0, 1, 0.2], [1, 0, 0.2]]
    assert decision_rule("ab", costs=costs).decisions == ("a", "b", "decision 2")
    assert decision_rule("ab", costs=costs, decisions=["ask"]).decisions == ("a", "b", "ask")


@pytest.mark.parametrize(
    ("names", "arguments", "message"),
    [
        ("ab", {"costs": (1, 2), "threshold": 0.5}, "two ways to decide"),
        ("abc", {"threshold": 0.5}, "threshold is for two classes"),
        ("ab", {"threshold": 1.0}, "threshold is 1"),
        ("abc", {"costs": (1, 2)}, "2 numbers for 3 classes"),
        ("ab", {"costs": (1, 0)}, "two finite numbers above 0"),
        ("ab", {"costs": (1, np.inf)}, "two finite numbers above 0"),
        ("ab", {"costs": [[0], [1]]}, "1 columns; expected 2 at least"),
        ("ab", {"costs": [[0, 1, 2], [1, 0, 2]], "decisions": ["ask", "wait"]}, "decisions has 2 names; expected 1"),
        ("ab", {"positive": "c"}, "positive is 'c'; give one of a, b"),
        ("ab", {"positive": 2}, "positive is 2"),
        ("abc", {"positive": 1}, "positive is for two classes"),
    ],
)
def test_rules_that_are_refused(names, arguments, message):
    with pytest.raises(ValueError, match=message):
        decision_rule(names, **arguments)
