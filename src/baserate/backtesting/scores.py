"""The score of a method over the whole log, and what it changes compared with doing nothing."""

from typing import NamedTuple

import numpy as np

from baserate.backtesting.blocks import Blocks, Change, with_few_costs, with_few_mistakes
from baserate.backtesting.played import Played
from baserate.protocols import FloatArray, IntArray


class Score(NamedTuple):
    """The score of one method.

    Attributes
    ----------
    method : str
        Its name.
    error, log_loss, brier : float
        Means over the samples that have a label: wrong decisions, and the log loss and the Brier score of the
        probabilities.
    better, worse : int
        Mistakes of doing nothing that it avoided, and mistakes that only it made.
    error_change, log_loss_change, brier_change : Change
        The changes compared with doing nothing.
    precision, recall, f1 : float or None
        Of the positive class; where none is named, means over the classes that occur. None where it is not defined: the
        positive class was never decided for, or did not occur.
    decided : tuple of int
        How many samples got each decision.
    cost : float or None
        Mean cost of a decision; None without costs.
    cost_change : Change or None
        Its change.
    expected_cost : float or None
        The mean cost that the method's own probabilities expect; near `cost` where they are right.
    """

    method: str
    error: float
    log_loss: float
    better: int
    worse: int
    error_change: Change
    log_loss_change: Change
    brier: float
    brier_change: Change
    precision: float | None
    recall: float | None
    f1: float | None
    decided: tuple[int, ...]
    cost: float | None = None
    cost_change: Change | None = None
    expected_cost: float | None = None


def score(name: str, one: Played, nothing: Played, blocks: Blocks, positive: int | None) -> Score:
    """Sum up the rounds of a method, beside those of doing nothing."""
    n, better, worse = int(one.n.sum()), int(one.better.sum()), int(one.worse.sum())
    cost = cost_change = None
    if one.cost is not None and nothing.cost is not None and one.moves is not None:
        cost = float(one.cost.sum() / n)
        cost_change = with_few_costs(blocks.change(one.cost - nothing.cost, one.n), one.moves, n, blocks.level)
    return Score(
        name,
        float(one.wrong.sum() / n),
        float(one.log_loss.sum() / n),
        better,
        worse,
        with_few_mistakes(blocks.change(one.wrong - nothing.wrong, one.n), better, worse, n, blocks.level),
        blocks.change(one.log_loss - nothing.log_loss, one.n),
        float(one.brier.sum() / n),
        blocks.change(one.brier - nothing.brier, one.n),
        *precision_recall_f1(one.decided, positive),
        tuple(one.decided.sum(axis=0).tolist()),
        cost,
        cost_change,
        None if one.expected_cost is None else float(one.expected_cost.sum() / n),
    )


def precision_recall_f1(
    decided: IntArray, positive: int | None = None
) -> tuple[float | None, float | None, float | None]:
    """Return precision, recall and F1 from counts of decisions.

    Parameters
    ----------
    decided : (k, m) array of int
        ``decided[true, decision]``, of which the first k decisions are the classes. Any other finds no class.
    positive : int, optional
        The positive class. Default: means over the classes that occur, in which what is not defined counts as 0.

    Examples
    --------
    >>> precision_recall_f1(np.array([[90, 6], [1, 3]]), positive=1)
    (0.3333333333333333, 0.75, 0.46153846153846156)
    """
    k = len(decided)
    hits, called, actual = np.diagonal(decided), decided.sum(axis=0)[:k], decided.sum(axis=1)
    if positive is not None:
        hit, calls, there = int(hits[positive]), int(called[positive]), int(actual[positive])
        return _share(hit, calls), _share(hit, there), _share(2 * hit, calls + there)
    occurs = actual > 0

    def mean(part: IntArray, whole: IntArray) -> float:
        shares: FloatArray = part[occurs] / np.maximum(whole[occurs], 1)
        return float(shares.mean())

    return mean(hits, called), mean(hits, actual), mean(2 * hits, called + actual)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
