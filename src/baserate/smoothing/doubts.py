"""Reasons not to believe the class mix in hindsight: what the check of label shift and the labels say against it."""

import copy
from typing import NamedTuple

import numpy as np
from scipy.special import betainc

from baserate.adapters import RegressAndReweight
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.smoothing.smoothed import Smoothed

FALSE_ALARM = 0.01
"""The probability that labels contradict a log's limits in hindsight, if these hold its shares."""
_LEAST_ROWS = 100  # periods are checked together until they have as many


class Contradiction(NamedTuple):
    """Labels that the limits in hindsight cannot explain.

    Attributes
    ----------
    label : int
        The class.
    first, last : int
        The periods.
    labels, found : float
        Labels in these periods, and how many of them are of the class; weighted ones as those that tell as much.
    low, high : float
        How many there would be on average, by the limits.
    chance : float
        At most the probability of such labels in any class and any periods, if the limits hold the shares.
    """

    label: int
    first: int
    last: int
    labels: float
    found: float
    low: float
    high: float
    chance: float


class Doubts(NamedTuple):
    """What speaks against label shift in a log, on which the class mix in hindsight relies.

    Attributes
    ----------
    alarm_since : int or None
        The first period at whose end the adapter's check of label shift raised an alarm.
    alarm_why : str
        The strongest sign then.
    contradiction : Contradiction or None
        Labels that the limits in hindsight cannot explain.
    """

    alarm_since: int | None = None
    alarm_why: str = ""
    contradiction: Contradiction | None = None


def find_doubts(
    adapter: RegressAndReweight,
    rows: FloatArray,
    starts: IntArray,
    labels: IntArray,
    hindsight: Smoothed,
    weights: FloatArray | None = None,
) -> Doubts:
    """Return what speaks against label shift in a log; nothing in the adapter changes.

    Parameters
    ----------
    adapter : RegressAndReweight
        Fitted on a holdout.
    rows : (n, k) array
        The model's probabilities.
    starts : (T + 1,) array of int
    labels : (n,) array of int
        -1 where there is none.
    hindsight : Smoothed
        The class mix of each period, and its limits.
    weights : (n,) array, optional
        One over the probability with which each row was chosen to be labelled.
    """
    against = find_contradiction(labels, starts, hindsight.low, hindsight.high, weights)
    return Doubts(*_find_alarm(adapter, rows, starts, labels), against)


def _find_alarm(
    adapter: RegressAndReweight, rows: FloatArray, starts: IntArray, labels: IntArray
) -> tuple[int | None, str]:
    """Replay a log with a copy of an adapter, until its check of label shift raises an alarm: the period, and why."""
    replayed = copy.deepcopy(adapter)
    replayed.columns_ = replayed.class_names_ = None  # rows and labels are in order, and numbers
    replayed.reset()
    first, last = 0, len(starts) - 2
    for t in range(last + 1):
        part = slice(first, starts[t + 1])
        if part.stop - part.start < _LEAST_ROWS and t < last:
            continue
        replayed.update(rows[part], labels[part] if (labels[part] != UNLABELLED).any() else None)
        if replayed.assumption_alarm_:
            findings = replayed.assumption_findings_
            return t, str(findings[0]) if findings else ""
        first = int(part.stop)
    return None, ""


def find_contradiction(
    labels: IntArray, starts: IntArray, low: FloatArray, high: FloatArray, weights: FloatArray | None = None
) -> Contradiction | None:
    """Return the labels that speak most clearly against limits of the shares, or None if none do.

    Labels of rows that were chosen at random are counted in all periods together, in their halves, quarters and so
    on, each class by itself. If the limits hold the shares, a count is binomial, with a share between the means of the
    limits (Hoeffding 1956: independent labels with other shares of the same mean are less extreme). The smallest
    probability of a count, times the number of counts, must be at most `FALSE_ALARM`.

    Parameters
    ----------
    labels : (n,) array of int
        -1 where there is none.
    starts : (T + 1,) array of int
    low, high : (T, k) arrays
    weights : (n,) array, optional
        One over the probability with which each row was chosen.

    Examples
    --------
    >>> limits = np.tile([[0.7, 0.2]], (4, 1)), np.tile([[0.8, 0.3]], (4, 1))
    >>> found = find_contradiction(np.repeat([0, 1], [99, 1]), np.arange(0, 101, 25), *limits)
    >>> found.label, found.first, found.last, found.found, found.high
    (1, 0, 3, 1.0, 30.0)
    """
    n_periods, k = low.shape
    told = np.flatnonzero(labels != UNLABELLED)
    if n_periods == 0 or len(told) == 0:
        return None
    w = np.ones(len(labels)) if weights is None else weights
    period = np.searchsorted(starts, told, side="right") - 1
    counts, sums = np.zeros((n_periods, k)), np.zeros((n_periods, 2))
    np.add.at(counts, (period, labels[told]), w[told])
    np.add.at(sums, period, np.column_stack([w[told], w[told] ** 2]))
    first, last = _windows(n_periods)
    inside = [_between(each, first, last) for each in (counts, sums, sums[:, :1] * low, sums[:, :1] * high)]
    used = inside[1][:, 0] > 0.0
    first, last = first[used], last[used]
    in_class, totals, lowest, highest = (each[used] for each in inside)
    weight = totals[:, :1]
    n = np.broadcast_to(weight**2 / totals[:, 1:], in_class.shape)
    found = np.minimum(n * (in_class / weight), n)
    least, most = np.clip(lowest / weight, 0.0, 1.0), np.clip(highest / weight, 0.0, 1.0)
    few = np.where(found < n, betainc(np.maximum(n - found, 1e-9), found + 1.0, 1.0 - least), 1.0)
    many = np.where(found > 0.0, betainc(np.maximum(found, 1e-9), n - found + 1.0, most), 1.0)
    chances = np.minimum(few, many)
    classes = np.arange(k) if k > 2 else counts.sum(axis=0).argmin()[np.newaxis]  # of two, one says it all
    looked_at = chances[:, classes]
    window, column = np.unravel_index(int(looked_at.argmin()), looked_at.shape)
    place = (int(window), int(classes[column]))
    chance = min(1.0, 2.0 * looked_at.size * float(chances[place]))
    if chance > FALSE_ALARM:
        return None
    total, in_it = float(n[place]), float(found[place])
    low_count, high_count = total * float(least[place]), total * float(most[place])
    periods = int(first[window]), int(last[window]) - 1
    return Contradiction(place[1], *periods, total, in_it, low_count, high_count, chance)


def _windows(n_periods: int) -> tuple[IntArray, IntArray]:
    """All periods, then windows of half as many and so on down to one, each half over the next."""
    ends, length = [(0, n_periods)], n_periods
    while length > 1:
        length = -(-length // 2)
        begins = range(0, n_periods, max(1, length // 2))
        ends += [(begin, begin + length) for begin in begins if begin + length <= n_periods]
    first, last = np.array(ends, dtype=np.int64).T
    return first, last


def _between(values: FloatArray, first: IntArray, last: IntArray) -> FloatArray:
    total = np.vstack([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    return total[last] - total[first]
