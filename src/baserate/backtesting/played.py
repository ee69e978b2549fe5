"""The score of a method, round by round: its decisions and its probabilities against the labels."""

from typing import NamedTuple

import numpy as np

from baserate.decisions import DecisionRule
from baserate.protocols import UNLABELLED, FloatArray, IntArray

SMALLEST = 1e-6
"""Smaller probabilities count as this in the log loss: one that is 0 by rounding must not outweigh all others."""


class Log(NamedTuple):
    """A labelled log, cut into rounds.

    Parameters
    ----------
    proba : (n, k) array
        The model's probabilities, in the order of time.
    y : (n,) array of int
        Labels, -1 where there is none.
    starts : (T + 1,) array of int
        Round t is the rows ``starts[t]:starts[t + 1]``.
    idle : (T,) array of int, optional
        The number of rounds without a sample just before each, where rounds are of equal time.
    """

    proba: FloatArray
    y: IntArray
    starts: IntArray
    idle: IntArray | None = None

    @property
    def n_rounds(self) -> int:
        """T."""
        return len(self.starts) - 1

    def rounds(self) -> IntArray:
        """(n,) the round that each row is in, from 0."""
        return np.repeat(np.arange(self.n_rounds), np.diff(self.starts))

    def counts(self) -> IntArray:
        """(T, k) how many samples of each class a round has, of those with a label."""
        k = self.proba.shape[1]
        known = self.y != UNLABELLED
        return np.bincount(self.rounds()[known] * k + self.y[known], minlength=self.n_rounds * k).reshape(-1, k)


class CostMoves(NamedTuple):
    """Costs saved and lost by other decisions than the model's own, over all rounds.

    Attributes
    ----------
    saved, lost : float
        Sums over the samples on which the decision cost less, and more.
    saved_squares, lost_squares : float
        Sums of squares of the same.
    largest : float
        The most that a sample can save or lose.
    """

    saved: float
    lost: float
    saved_squares: float
    lost_squares: float
    largest: float


class Played(NamedTuple):
    """The score of each round, as arrays over rounds, of the samples that have a label.

    Attributes
    ----------
    n, wrong : (T,) arrays of int
        Samples, and how many of them were taken for another class. The decision on a sample is the most probable class,
        or what costs or a threshold say; one that is no class, such as asking a person, is not wrong.
    better, worse : (T,) arrays of int
        Samples that were not wrong where doing nothing was, and the other way round.
    log_loss : (T,) array
        Sum of minus the log of the true label's probability, or of one in a million if that is larger.
    brier : (T,) array
        Sum of the squared distance between the probabilities and the label; for two classes, half of it.
    prior : (T, k) array
        The class mix behind the predictions.
    decided : (k, m) array of int
        How many samples of each class got each decision, over all rounds.
    cost : (T,) array or None
        Sum of the costs of the decisions; None without costs.
    moves : CostMoves or None
        What was saved and lost compared with doing nothing.
    expected_cost : (T,) array or None
        Sum of the costs that the probabilities themselves expect of the decisions.
    """

    n: IntArray
    wrong: IntArray
    better: IntArray
    worse: IntArray
    log_loss: FloatArray
    brier: FloatArray
    prior: FloatArray
    decided: IntArray
    cost: FloatArray | None = None
    moves: CostMoves | None = None
    expected_cost: FloatArray | None = None


def score_rounds(
    proba: FloatArray,
    prior: FloatArray,
    log: Log,
    rule: DecisionRule,
    nothing: IntArray,
    costs: FloatArray | None = None,
) -> Played:
    """Score probabilities, and the decisions that a rule takes by them.

    Parameters
    ----------
    proba : (n, k) array
        A probability for each class of each row of the log.
    prior : (T, k) array
        The class mix behind them.
    log : Log
        The log.
    rule : DecisionRule
        The rule.
    nothing : (n,) array of int
        The decisions of doing nothing.
    costs : (k, m) array, optional
        What decisions cost. Default: the rule's.
    """
    costs = rule.costs if costs is None else costs
    k, m = proba.shape[1], len(rule.decisions)
    known = log.y != UNLABELLED
    truth, rounds = log.y[known], log.rounds()[known]
    scored, before = proba if known.all() else proba[known], nothing[known]
    chosen = rule.decide(scored)[0]

    def by_round(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(rounds, weights=values, minlength=log.n_rounds), dtype=np.float64)

    def count(which: IntArray | FloatArray) -> IntArray:
        return by_round(np.asarray(which, dtype=np.float64)).astype(np.int64)

    wrong, wrong_before = ((decision != truth) & (decision < k) for decision in (chosen, before))
    of_truth = scored[np.arange(len(truth)), truth]
    # Halved for two classes, whose two terms are the same: the usual definition there.
    brier = ((scored**2).sum(axis=1) - 2.0 * of_truth + 1.0) / (2.0 if k == 2 else 1.0)
    cost = moves = expected = None
    if costs is not None:
        paid = costs[truth, chosen]
        cost = by_round(paid)
        moves = _moves(paid - costs[truth, before], costs)
        expected = by_round((scored * costs.T[chosen]).sum(axis=1))
    return Played(
        np.bincount(rounds, minlength=log.n_rounds),
        count(wrong),
        count(~wrong & wrong_before),
        count(wrong & ~wrong_before),
        by_round(-np.log(np.maximum(of_truth, SMALLEST))),
        by_round(brier),
        prior,
        np.bincount(truth * m + chosen, minlength=k * m).reshape(k, m),
        cost,
        moves,
        expected,
    )


def _moves(more: FloatArray, costs: FloatArray) -> CostMoves:
    saved, lost = -more[more < 0], more[more > 0]
    return CostMoves(
        float(saved.sum()),
        float(lost.sum()),
        float((saved**2).sum()),
        float((lost**2).sum()),
        float(np.ptp(costs, axis=1).max()),
    )
