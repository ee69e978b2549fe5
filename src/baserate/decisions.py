"""Decisions from probabilities: by the cost of mistakes, or by a threshold that follows the class mix."""

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import FloatArray, IntArray
from baserate.validation import as_float_array, check_proba, check_real

__all__ = ["decide", "expected_costs", "moved_threshold"]


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
    return np.asarray(expected_costs(proba, costs).argmin(axis=1), dtype=np.int64)


def expected_costs(proba: ArrayLike, costs: ArrayLike) -> FloatArray:
    """Return the expected cost of each decision, (n, m): see `decide`.

    Examples
    --------
    >>> expected_costs([[0.9, 0.1]], costs=[[0, 10], [1, 0]])
    array([[0.1, 9. ]])
    """
    table = as_float_array(costs, "costs", 2, "true classes, decisions")
    if table.shape[1] == 0:
        raise ValueError("costs has no columns; give one for each decision that can be taken.")
    if not np.isfinite(table).all():
        true, decided = (int(i) for i in np.argwhere(~np.isfinite(table))[0])
        raise ValueError(
            f"costs holds {table[true, decided]:.6g} at [{true}, {decided}]; give finite numbers. What must never "
            "happen costs much, but not infinitely much: nothing is ever certain."
        )
    rows = check_proba(proba)
    if rows.shape[1] != len(table):
        raise ValueError(f"costs has {len(table)} rows; expected {rows.shape[1]}, one per class, as proba has columns.")
    return np.asarray(rows @ table)


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
