"""The threshold that costs least on the holdout, by trying them all."""

import numpy as np
import pytest

from baserate.backtesting.tuned import tuned_rule
from baserate.decisions import decision_rule


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("seed", range(20))
def test_no_threshold_costs_less(seed, positive):
    rng = np.random.default_rng(seed)
    p = rng.integers(1, 10, 60) / 10  # many equal scores
    proba, y = np.column_stack([1 - p, p]), (rng.random(60) < p**2).astype(int)
    costs = decision_rule("ab", costs=(1, rng.integers(1, 9)), positive=positive)
    tuned = tuned_rule(proba, y, costs)

    def cost(threshold):
        chosen = np.where(proba[:, positive] >= threshold, positive, 1 - positive)
        return costs.costs[y, chosen].sum()

    assert cost(tuned.threshold) == min(cost(threshold) for threshold in np.arange(0.05, 1.2, 0.1))
    assert tuned.positive == positive


def test_it_lies_between_scores():
    proba = np.array([[0.9, 0.1], [0.6, 0.4]])
    assert tuned_rule(proba, np.array([0, 1]), decision_rule("ab", costs=(1, 1), positive=1)).threshold == 0.25
    # To call none positive, or all, is a choice, too.
    dear = decision_rule("ab", costs=(9, 1), positive=1)
    assert tuned_rule(proba, np.array([1, 0]), dear).threshold == np.inf
    cheap = decision_rule("ab", costs=(1, 9), positive=1)
    assert tuned_rule(proba, np.array([1, 0]), cheap).threshold == 0.0


def test_a_threshold_is_tuned_by_the_costs_that_it_implies():
    proba, y = np.random.default_rng(0).dirichlet([1, 1], 200), np.arange(200) % 2
    by_costs = tuned_rule(proba, y, decision_rule("ab", costs=(1, 3), positive=1))
    assert tuned_rule(proba, y, decision_rule("ab", threshold=0.25, positive=1)) == by_costs


def test_only_where_a_threshold_decides():
    proba, y = np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1])
    for rule in (
        decision_rule("ab"),
        decision_rule("ab", costs=[[0, 1, 0.2], [1, 0, 0.2]], positive=1),
        decision_rule("ab", costs=[[0, 1], [1, 0]]),
    ):
        assert tuned_rule(proba, y, rule) is None
