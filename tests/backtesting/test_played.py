"""The score of each round against loops that are written out."""

import math

import numpy as np
import pytest

from baserate.backtesting.played import SMALLEST, Log, score_rounds
from baserate.decisions import decision_rule

STARTS = np.array([0, 7, 7, 20, 21, 60])
"""Rounds of several sizes, of which the second is empty."""


def log_of(k, seed=0):
    """Probabilities in tenths, so that thresholds are met exactly and costs are equal now and then; some labels."""
    rng = np.random.default_rng(seed)
    tenths = rng.multinomial(10, np.full(k, 1 / k), 60)
    y = rng.integers(-1, k, 60)
    return Log(tenths / 10, y, STARTS), rng.multinomial(10, np.full(k, 1 / k), 60) / 10


RULES = {
    "argmax": (3, {}),
    "pair": (2, {"costs": (1, 4), "positive": 0}),
    "threshold": (2, {"threshold": 0.3, "positive": 1}),
    "table": (3, {"costs": [[0, 1, 5], [2, 0, 7], [11, 3, 0]]}),
    "ask": (3, {"costs": [[0, 1, 5, 0.5], [2, 0, 7, 0.7], [11, 3, 0, 1.1]], "decisions": ["ask"]}),
}


def decided(row, k, costs=None, threshold=None, positive=None, **_):
    """A decision, by a loop."""
    if threshold is not None:
        return positive if row[positive] >= threshold else 1 - positive
    if costs is None:
        return max(range(k), key=lambda c: row[c])
    means = [sum(row[c] * costs[c][d] for c in range(k)) for d in range(len(costs[0]))]
    return min(range(len(means)), key=lambda d: round(means[d], 9))


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("seed", range(3))
def test_every_measure_by_hand(name, seed):
    k, given = RULES[name]
    log, proba = log_of(k, seed)
    rule = decision_rule("abc"[:k], **given)
    by_hand = dict(given)
    if name == "pair":
        by_hand["costs"] = [[0, 4], [1, 0]]  # the positive class is the first: missing it costs 4
    costs = [[0, 1], [0.7 / 0.3, 0]] if name == "threshold" else by_hand.get("costs")
    nothing = np.array([decided(row, k, **by_hand) for row in log.proba])
    found = score_rounds(proba, np.zeros((5, k)), log, rule, nothing)
    table = np.zeros((k, len(rule.decisions)), dtype=int)
    saved = lost = 0.0
    for t in range(5):
        n = wrong = better = worse = 0
        log_loss = brier = cost = expected = 0.0
        for i in range(STARTS[t], STARTS[t + 1]):
            true = log.y[i]
            if true == -1:
                continue
            choice = decided(proba[i], k, **by_hand)
            n += 1
            bad, bad_before = (c not in (true, k) for c in (choice, nothing[i]))
            wrong += bad
            better += bad_before and not bad
            worse += bad and not bad_before
            log_loss -= math.log(max(proba[i, true], SMALLEST))
            if k == 2:
                brier += (proba[i, 1] - true) ** 2
            else:
                brier += sum((proba[i, c] - (c == true)) ** 2 for c in range(k))
            table[true, choice] += 1
            if costs is not None:
                cost += costs[true][choice]
                expected += sum(proba[i, c] * costs[c][choice] for c in range(k))
                more = costs[true][choice] - costs[true][nothing[i]]
                saved, lost = saved + max(-more, 0.0), lost + max(more, 0.0)
        assert (found.n[t], found.wrong[t], found.better[t], found.worse[t]) == (n, wrong, better, worse)
        assert found.log_loss[t] == pytest.approx(log_loss)
        assert found.brier[t] == pytest.approx(brier)
        if costs is not None:
            assert found.cost[t] == pytest.approx(cost)
            assert found.expected_cost[t] == pytest.approx(expected)
    assert found.decided.tolist() == table.tolist()
    if costs is None:
        assert found.cost is found.moves is None
    else:
        assert (found.moves.saved, found.moves.lost) == pytest.approx((saved, lost))
        assert found.moves.largest == max(max(row) - min(row) for row in costs)


def test_another_rule_may_be_judged_by_the_same_costs():
    log, proba = log_of(2)
    costs = np.array([[0.0, 1.0], [20.0, 0.0]])
    never = decision_rule("ab", threshold=0.999999, positive=1)
    found = score_rounds(proba * 0.9, np.zeros((5, 2)), log, never, np.ones(60, dtype=int), costs)
    assert found.cost.sum() == 20 * (log.y == 1).sum()
    assert found.moves.lost == 20 * (log.y == 1).sum()
    assert found.moves.saved == (log.y == 0).sum()
