"""From probabilities to decisions: by what mistakes cost, and with a threshold that moves with the class mix."""

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import FloatArray, IntArray
from baserate.validation import as_float_array, check_proba, check_real

__all__ = ["decide", "expected_costs", "moved_threshold"]


def decide(proba: ArrayLike, costs: ArrayLike) -> IntArray:
    """Decide what costs least in expectation.

    Adapted probabilities make decisions that move with the class mix: what a mistake costs stays, how likely it is
    changes.

    Parameters
    ----------
    proba : (n, k) array
        Honest class probabilities, such as an adapter's.
    costs : (k, m) array
        ``costs[true, decided]`` is what it costs to decide so when the truth is that; gains are negative. Commonly one
        decision per class, m = k; further columns are further decisions, such as asking a person.

    Returns
    -------
    (n,) array of int
        The column of `costs` to decide for; the first of several that cost the same.

    Examples
    --------
    To lose a good message costs ten times as much as to let a spam message through; a look costs half of that.

    >>> costs = [[0, 10, 0.5],  # good: let through, thrown away, looked at
    ...          [1, 0, 0.5]]  # spam
    >>> decide([[0.9, 0.1], [0.4, 0.6], [0.02, 0.98]], costs=costs)
    array([0, 2, 1])
    """
    return np.asarray(expected_costs(proba, costs).argmin(axis=1), dtype=np.int64)


def expected_costs(proba: ArrayLike, costs: ArrayLike) -> FloatArray:
    """What each decision is expected to cost, (n, m): see `decide`.

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
    """A binary threshold for the model's own probabilities that does what `threshold` does for adapted ones.

    A threshold that was chosen on the source, where the model's probabilities are right, weighs one mistake against the
    other: as long as that weighing stands, it belongs to probabilities that are right. A system that can do nothing but
    compare the model's own probability of the second class with a number gets from here the number for now.

    Parameters
    ----------
    threshold : float
        Strictly between 0 and 1: where the second class's probability reaches it, decide for that class.
    log_offsets : (2,) array
        The correction, as `log_offsets()` of an adapter gives it: ``log(prior / source_prior)``. If the adapter has a
        calibrator, the threshold is for calibrated probabilities.

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
    # Adapted odds are the model's own, times a factor: so the threshold's odds are divided by it.
    log_odds = np.log(chosen) - np.log1p(-chosen) - (offsets[1] - offsets[0])
    # Above zero, because a model that rules the second class out is believed, whatever the class mix.
    return float(max(np.exp(-np.logaddexp(0.0, -log_odds)), np.nextafter(0.0, 1.0)))
