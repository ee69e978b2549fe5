"""Decisions from probabilities: by the cost of mistakes, or by a threshold that follows the class mix."""

from collections.abc import Sequence
from numbers import Real
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from baserate.compiled import compiled
from baserate.protocols import FloatArray, IntArray
from baserate.validation import as_float_array, check_integer, check_proba, check_real

__all__ = ["DecisionRule", "decide", "decision_rule", "expected_costs", "moved_threshold"]


_DEAREST = 1e100  # cost of a missed positive that a threshold can imply, in false alarms


def decide(proba: ArrayLike, costs: ArrayLike) -> IntArray:
    """Return the decision with the least expected cost for each sample.

    With adapted probabilities, decisions follow the class mix: the cost of a mistake stays the same, its probability
    changes.

    Parameters
    ----------
    proba : (n, k) array
        Calibrated class probabilities, such as an adapter's.
    costs : (k, m) array
        ``costs[true, decided]`` is the cost of a decision given the true class; gains are negative. Usually there is
        one decision per class, m = k; further columns are further decisions, such as asking a person.

    Returns
    -------
    (n,) array of int
        The column of `costs` with the least expected cost; the first one if there are several.

    Examples
    --------
    Losing a good message costs ten times as much as letting spam through; a manual check costs half as much as spam.

    >>> costs = [[0, 10, 0.5],  # good: let through, thrown away, checked
    ...          [1, 0, 0.5]]  # spam
    >>> decide([[0.9, 0.1], [0.4, 0.6], [0.02, 0.98]], costs=costs)
    array([0, 2, 1])
    """
    rows = check_proba(proba)
    return _cheapest(rows, check_costs(costs, rows.shape[1]))[0]


def expected_costs(proba: ArrayLike, costs: ArrayLike) -> FloatArray:
    """Return the expected cost of each decision, (n, m): see `decide`.

    Examples
    --------
    >>> expected_costs([[0.9, 0.1]], costs=[[0, 10], [1, 0]])
    array([[0.1, 9. ]])
    """
    rows = check_proba(proba)
    return np.asarray(rows @ check_costs(costs, rows.shape[1]))


def check_costs(costs: ArrayLike, n_classes: int) -> FloatArray:
    """Check a table of costs: a row for each class, a column for each decision, finite numbers."""
    if isinstance(costs, str | Real):
        raise TypeError(
            f"costs is {costs!r}; give a table, costs[true][decided]. If a false alarm costs 1 and a miss 20, that is "
            "[[0, 1], [20, 0]]."
        )
    table = as_float_array(costs, "costs", 2, "true classes, decisions")
    if table.shape[1] == 0:
        raise ValueError("costs has no columns; give one for each decision that can be taken.")
    if not np.isfinite(table).all():
        true, decided = (int(i) for i in np.argwhere(~np.isfinite(table))[0])
        raise ValueError(
            f"costs holds {table[true, decided]:.6g} at [{true}, {decided}]; give finite numbers. What must never "
            "happen costs much, but not infinitely much: nothing is ever certain."
        )
    if n_classes != len(table):
        raise ValueError(f"costs has {len(table)} rows; expected {n_classes}, one per class, as proba has columns.")
    return table


class DecisionRule(NamedTuple):
    """Turns probabilities into decisions: by costs, by a threshold, or else the most probable class.

    Parameters
    ----------
    decisions : tuple of str
        The names of the decisions: one for each class, in their order, then further ones such as asking a person.
    costs : (k, m) array, optional
        ``costs[true, decided]``, as in `decide`. With a threshold they say what its decisions cost, and do not decide.
    threshold : float, optional
        The decision is the positive class where its probability is at least this, else the other of two.
    positive : int, optional
        The number of the positive class.

    Examples
    --------
    >>> rule = decision_rule(["good", "fraud"], costs=[1, 20], positive="fraud")
    >>> rule.decide(np.array([[0.96, 0.04], [0.9, 0.1]]))
    (array([0, 1]), array([0.8, 0.9]))
    """

    decisions: tuple[str, ...]
    costs: FloatArray | None = None
    threshold: float | None = None
    positive: int | None = None

    def decide(self, proba: FloatArray) -> tuple[IntArray, FloatArray | None]:
        """Return the decision on each row of probabilities, and its expected cost if there are costs.

        Nothing is checked: the probabilities come from a model or an adapter that did.
        """
        if self.threshold is not None and self.positive is not None:
            reached = proba[:, self.positive] >= self.threshold
            choice = np.where(reached, self.positive, 1 - self.positive).astype(np.int64)
            if self.costs is None:
                return choice, None
            return choice, proba[:, 0] * self.costs[0, choice] + proba[:, 1] * self.costs[1, choice]
        if self.costs is not None:
            return _cheapest(np.ascontiguousarray(proba), self.costs)
        return np.asarray(proba.argmax(axis=1), dtype=np.int64), None


def decision_rule(
    names: Sequence[str],
    *,
    costs: ArrayLike | None = None,
    threshold: float | None = None,
    positive: int | str | None = None,
    decisions: Sequence[str] = (),
) -> DecisionRule:
    """Check costs or a threshold, and return the rule to decide by.

    Parameters
    ----------
    names : sequence of str
        The names of the classes.
    costs : (k, m) array or (2,) array, optional
        ``costs[true, decided]``, as in `decide`, the first k decisions being the classes. Or, for two classes, two
        numbers: the costs of calling a negative positive, and of missing a positive.
    threshold : float, optional
        For two classes: the probability from which on the decision is the positive one. It implies costs, which the
        rule gets: where probabilities are right, to decide at T costs least if a false alarm costs 1 and a missed
        positive (1 - T) / T.
    positive : int or str, optional
        The positive class, by number or name. Default: none; with a threshold or a pair of costs the second class.
    decisions : sequence of str
        The names of decisions beyond the classes, the further columns of `costs`. Default: their numbers.
    """
    k = len(names)
    if costs is not None and threshold is not None:
        raise ValueError("costs and threshold are two ways to decide; give one of them.")
    place = _positive(names, positive)
    if threshold is not None:
        if k != 2:
            raise ValueError(f"threshold is for two classes, and there are {k}; give a table of costs instead.")
        chosen = check_real(threshold, "threshold", 0.0, 1.0, closed=False)
        place = 1 if place is None else place
        # 1 / T - 1 is (1 - T) / T, and a round number where T is; finite for any T, also when it is squared.
        implied = _from_pair((1.0, min(1.0 / chosen - 1.0, _DEAREST)), k, place)
        return DecisionRule(tuple(names), implied, chosen, place)
    if costs is None:
        return DecisionRule(tuple(names), positive=place)
    if np.ndim(costs) == 1:
        place = 1 if place is None else place
        table = _from_pair(costs, k, place)
    else:
        table = check_costs(costs, k)
    if table.shape[1] < k:
        raise ValueError(f"costs has {table.shape[1]} columns; expected {k} at least, the first {k} for the classes.")
    further = list(decisions) or [f"decision {d}" for d in range(k, table.shape[1])]
    if len(further) != table.shape[1] - k:
        raise ValueError(
            f"decisions has {len(further)} names; expected {table.shape[1] - k}, one for each column of costs after "
            "those of the classes."
        )
    return DecisionRule((*names, *further), costs=table, positive=place)


def _positive(names: Sequence[str], positive: int | str | None) -> int | None:
    if positive is None:
        return None
    if len(names) != 2:
        raise ValueError(f"positive is for two classes, and there are {len(names)}; leave it out.")
    if isinstance(positive, str):
        if positive not in names:
            raise ValueError(f"positive is {positive!r}; give one of {', '.join(names)}.")
        return list(names).index(positive)
    place = check_integer(positive, "positive", 0)
    if place > 1:
        raise ValueError(f"positive is {place}; give 0 or 1, or the name of the class.")
    return place


def _from_pair(costs: ArrayLike, n_classes: int, positive: int) -> FloatArray:
    pair = as_float_array(costs, "costs", 1)
    if len(pair) != 2 or n_classes != 2:
        raise ValueError(
            f"costs has {len(pair)} numbers for {n_classes} classes; give two for two classes (calling a negative "
            "positive, missing a positive), or a table with a row for each class."
        )
    if not (np.isfinite(pair).all() and (pair > 0).all()):
        raise ValueError(f"costs is {pair.tolist()}; give two finite numbers above 0.")
    table = np.zeros((2, 2))
    table[1 - positive, positive], table[positive, 1 - positive] = pair
    return table


@compiled
def _cheapest(proba: FloatArray, costs: FloatArray) -> tuple[IntArray, FloatArray]:
    """The first of the decisions with the least expected cost, and that cost; summed in one order for any rows."""
    n, k = proba.shape
    choice, expected = np.empty(n, dtype=np.int64), np.empty(n)
    for i in range(n):
        best, least = 0, np.inf
        for d in range(costs.shape[1]):
            cost = 0.0
            for c in range(k):
                cost += proba[i, c] * costs[c, d]
            if cost < least:
                best, least = d, cost
        choice[i], expected[i] = best, least
    return choice, expected


def moved_threshold(threshold: float, log_offsets: ArrayLike) -> float:
    """Return the threshold on the model's own probabilities that is equivalent to `threshold` on adapted ones.

    A threshold that was chosen on source data, where the model's probabilities are right, reflects the costs of the two
    mistakes, and so applies to probabilities that are right. A system that can only compare the model's own probability
    of the second class with a number can use this one.

    Parameters
    ----------
    threshold : float
        Strictly between 0 and 1; the decision is the second class where its probability reaches the threshold.
    log_offsets : (2,) array
        The correction ``log(prior / source_prior)``, as from an adapter's `log_offsets()`. If the adapter has a
        calibrator, the result is for calibrated probabilities.

    Returns
    -------
    float
        Above 0, at most 1.

    Examples
    --------
    Spam was every tenth message, and is every second now:

    >>> import numpy as np
    >>> round(moved_threshold(0.5, np.log([0.5 / 0.9, 0.5 / 0.1])), 6)
    0.1
    """
    chosen = check_real(threshold, "threshold", 0.0, 1.0, closed=False)
    offsets = as_float_array(log_offsets, "log_offsets", 1)
    if len(offsets) != 2:
        raise ValueError(f"log_offsets has {len(offsets)} entries; expected 2: a threshold is for two classes.")
    if np.isnan(offsets).any() or (offsets == np.inf).any() or (offsets == -np.inf).all():
        raise ValueError(f"log_offsets is {offsets}; give finite numbers, or -inf for a class that is ruled out.")
    # Adapted odds are the model's own odds times a factor, so the threshold's odds are divided by it.
    log_odds = np.log(chosen) - np.log1p(-chosen) - (offsets[1] - offsets[0])
    # Above zero, because a class that the model rules out stays ruled out, whatever the class mix.
    return float(max(np.exp(-np.logaddexp(0.0, -log_odds)), np.nextafter(0.0, 1.0)))
