"""Order of columns: whether a holdout's labels fit a model's columns far better in another order.

A column of a model ranks the samples of its own class before all others, better than any other column does. That holds
whatever the class mix and the calibration are, so ranks are compared, not probabilities: a fraud model whose
probabilities never reach one half passes, and so does a useless one.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, log_ndtr

from baserate.class_labels import called
from baserate.protocols import FloatArray, IntArray
from baserate.trust.health import HoldoutWarning
from baserate.validation import warn_user

REFUSED, WARNED = 1e-4, 1e-4
"""Largest probability of a chance result at which a holdout is refused (by a bound), and warned of (if normal)."""
_MUCH, _SOME = 0.2, 0.05  # least gain of a class's area under the ROC curve: to be refused, and to be warned of
_LARGEST = 300  # classes up to which columns are compared: there are k * k pairs
_VALUES = 1_000_000  # of the holdout that are ranked at most
_SHOWN = 12


class Misplaced(NamedTuple):
    """Classes that each fit the column of another one of them better.

    Attributes
    ----------
    classes, columns : (m,) arrays of int
        The classes, and the column that fits each.
    area, own_area : float
        Mean area under the ROC curve, of a class against all others, of those columns, and of the classes' own.
    log_p : float
        Logarithm of a bound on the probability that a useless model looks like this.
    log_p_normal : float
        The same by the normal distribution, which is nearer, and less safe.
    """

    classes: IntArray
    columns: IntArray
    area: float
    own_area: float
    log_p: float
    log_p_normal: float


def misplaced_columns(proba: FloatArray, labels: IntArray) -> list[Misplaced]:
    """Return the groups of classes whose columns fit better in another order, however little.

    The best order of all is found as an assignment of columns to classes by their ranks; each of its cycles is tested
    by itself. The bound is Bernstein's, for labels that are shuffled, times the number of cycles that there are.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(3, size=300)
    >>> proba = rng.dirichlet(np.ones(3), size=300) + 2.0 * np.eye(3)[labels]
    >>> misplaced_columns(proba, labels)
    []
    >>> (swapped,) = misplaced_columns(proba[:, [0, 2, 1]], labels)
    >>> swapped.classes, swapped.columns, swapped.log_p < -20.0
    (array([1, 2]), array([2, 1]), True)
    """
    n_all, k = proba.shape
    if k > _LARGEST or n_all < 2:
        return []
    step = -(-n_all * k // _VALUES)
    rows, labels = proba[::step], labels[::step]
    n = len(rows)
    ranks = (_ranked(rows) - 0.5 * (n + 1)) / n
    counts = np.bincount(labels, minlength=k)
    totals = np.array([ranks[labels == c].sum(axis=0) for c in range(k)])
    gained = totals + 1e-6 * np.eye(k)  # of equals, a class's own column
    if (gained.argmax(axis=1) == np.arange(k)).all():
        return []
    from scipy.optimize import linear_sum_assignment  # takes long to import, and is seldom needed

    fitting = linear_sum_assignment(gained, maximize=True)[1]
    return [_tested(cycle, fitting[cycle], ranks, counts, totals, labels) for cycle in _cycles(fitting)]


def _ranked(rows: FloatArray) -> FloatArray:
    """Return the rank of each value in its column, from 1; equal values share the mean of theirs."""
    ranks = np.empty(rows.shape)
    for column, out in zip(rows.T, ranks.T, strict=True):
        _, places, counts = np.unique(column, return_inverse=True, return_counts=True)
        out[:] = (np.cumsum(counts) - 0.5 * (counts - 1))[places]
    return ranks


def _cycles(order: IntArray) -> list[IntArray]:
    """Return the cycles of a permutation that are longer than one."""
    found, seen = [], set()
    for start in range(len(order)):
        cycle = []
        while start not in seen:
            seen.add(start)
            cycle.append(start)
            start = int(order[start])
        if len(cycle) > 1:
            found.append(np.array(sorted(cycle)))
    return found


def _tested(
    classes: IntArray, columns: IntArray, ranks: FloatArray, counts: IntArray, totals: FloatArray, labels: IntArray
) -> Misplaced:
    n, k = ranks.shape
    gains = ranks[:, columns] - ranks[:, classes]
    total = float((totals[classes, columns] - totals[classes, classes]).sum())
    # Over all samples the means sum to zero, as ranks do; without them, less is left to vary.
    shares = counts[classes] / n
    means = gains @ shares
    shuffled = n / (n - 1.0) * float((gains**2 @ shares - means**2).sum())
    own = np.full(n, -1)
    own[np.isin(labels, classes)] = np.searchsorted(classes, labels[np.isin(labels, classes)])
    left = np.where(own >= 0, gains[np.arange(n), own], 0.0) - means
    within = sum(float(left[own == i].var() * (own == i).sum()) for i in np.unique(own))
    largest = float(np.abs(gains - means[:, np.newaxis]).max())
    variance = max(shuffled, within)
    bound, normal = 0.0, 0.0
    if total > 0.0 and variance > 0.0:
        bound = -(total**2) / (2.0 * (variance + largest * total / 3.0))
        normal = float(log_ndtr(-total / np.sqrt(variance)))
    m = len(classes)
    tried = float(gammaln(k + 1) - gammaln(k - m + 1) - np.log(m) + np.log(k - 1))  # cycles of m out of k classes
    told = (counts[classes] > 0) & (counts[classes] < n)
    scale = n / np.maximum(counts[classes] * (n - counts[classes]), 1)
    area, own_area = (
        0.5 + float((totals[classes, which] * scale)[told].mean()) if told.any() else 0.5
        for which in (columns, classes)
    )
    return Misplaced(classes, columns, area, own_area, min(bound + tried, 0.0), min(normal + tried, 0.0))


def check_column_order(
    proba: FloatArray, labels: IntArray, names: Sequence[Any] | None = None, *, sorted_labels: bool = False
) -> None:
    """Refuse a holdout whose labels fit the columns far better in another order; warn if the evidence is moderate.

    Parameters
    ----------
    proba : (n, k) array
        The model's probabilities.
    labels : (n,) array of int
    names : sequence, optional
        What to call the classes. Default: their numbers.
    sorted_labels : bool
        Whether the names are the labels that people gave, whose sorted order is that of the columns.
    """
    found = misplaced_columns(proba, labels)
    sure = [one for one in found if one.log_p < np.log(REFUSED) and one.area - one.own_area > _MUCH]
    if sure:
        raise ValueError(_described(sure, proba.shape[1], names, sorted_labels))
    likely = [one for one in found if one.log_p_normal < np.log(WARNED) and one.area - one.own_area > _SOME]
    if likely:
        warn_user(_described(likely, proba.shape[1], names, sorted_labels), HoldoutWarning)


def _described(found: list[Misplaced], k: int, names: Sequence[Any] | None, sorted_labels: bool) -> str:
    order = np.arange(k)
    for one in found:
        order[one.classes] = one.columns
    moved = np.flatnonzero(order != np.arange(k))
    pairs = ", ".join(f"{called(c, names)} in column {order[c]}" for c in moved[:_SHOWN].tolist())
    more = ", ..." if len(moved) > _SHOWN else ""
    area, own = (float(np.mean([getattr(one, name) for one in found])) for name in ("area", "own_area"))
    fix = f"proba[:, {order.tolist()}]" if k <= _SHOWN else "proba with its columns in that order"
    scores = ""
    if k == 2:  # of which scores are the second one's, and labels that are text are sorted
        truth = f", or y == {names[0]!r} for labels" if sorted_labels and names is not None else ""
        scores = f" (if you gave scores: 1 - scores{truth})"
    what = "is worse than chance on the holdout" if own < 0.5 else "knows some classes by the columns of others"
    return (
        f"the model {what}: the labels in y fit proba far better with class {pairs}{more} (area under the ROC curve "
        f"{area:.2f} instead of {own:.2f}). Are the columns of proba in the order of model.classes_, and is y the "
        f"column of each class? If the columns are wrong, give {fix}{scores}; if the labels are, change those."
    )
