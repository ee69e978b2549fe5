"""The threshold on the model's own probabilities that would have cost least on the holdout."""

import numpy as np

from baserate.decisions import DecisionRule
from baserate.protocols import FloatArray, IntArray


def tuned_rule(proba: FloatArray, y: IntArray, rule: DecisionRule) -> DecisionRule | None:
    """Move the threshold once, by labels that are there anyway; None where a threshold is not what decides.

    Parameters
    ----------
    proba, y : (n, 2) array, (n,) array of int
        The holdout.
    rule : DecisionRule
        The costs, given or implied by a threshold. With more than two decisions there is no single threshold.

    Examples
    --------
    >>> held = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    >>> costs = DecisionRule(("good", "fraud"), costs=np.array([[0.0, 1.0], [20.0, 0.0]]), positive=1)
    >>> round(tuned_rule(held, np.array([0, 0, 1, 0]), costs).threshold, 6)
    0.25
    """
    if rule.costs is None or rule.costs.shape != (2, 2) or rule.positive is None:
        return None
    score = proba[:, rule.positive]
    # The cost of calling a sample positive rather than negative, summed from the highest score on.
    more = rule.costs[y, rule.positive] - rule.costs[y, 1 - rule.positive]
    order = np.argsort(-score, kind="stable")
    ranked = score[order]
    costs = np.concatenate([[0.0], np.cumsum(more[order])])
    # The threshold lies halfway between two scores; equal ones are on the same side of it.
    edges = np.concatenate([[np.inf], (ranked[:-1] + ranked[1:]) / 2.0, [0.0]])
    costs[1:-1][ranked[:-1] == ranked[1:]] = np.inf
    return DecisionRule(rule.decisions, threshold=float(edges[costs.argmin()]), positive=rule.positive)
