"""Decisions by adapted probabilities: on every row, counted by round, and over a file."""

from typing import NamedTuple

import numpy as np

from baserate.decisions import DecisionRule
from baserate.files.adapting.pieces import AdaptedPiece
from baserate.files.adapting.state import DecisionCounts
from baserate.protocols import FloatArray, IntArray


class DecidedPiece(NamedTuple):
    """A piece with a decision on each of its rows, and how many rows got which."""

    adapted: AdaptedPiece
    counts: DecisionCounts


def decide_piece(adapted: AdaptedPiece, rule: DecisionRule) -> DecidedPiece:
    """Decide on the rows of a piece; its table of rounds gets the counts, and the expected cost of a row.

    Parameters
    ----------
    adapted : AdaptedPiece
        The piece.
    rule : DecisionRule
        The rule.
    """
    choice, expected = rule.decide(adapted.proba.T)
    lines, n_lines, m = adapted.lines(), len(adapted.round_table["round"]), len(rule.decisions)
    counts: IntArray = np.bincount(lines * m + choice, minlength=n_lines * m).reshape(n_lines, m)
    table = dict(adapted.round_table)
    for name, column in zip(rule.decisions, counts.T, strict=True):
        table[f"decided_{name}"] = column.tolist()
    if expected is not None:
        means: FloatArray = np.bincount(lines, weights=expected, minlength=n_lines) / counts.sum(axis=1)
        table["expected_cost"] = means.tolist()
    total = None if expected is None else float(expected.sum())
    found = DecisionCounts(rule.decisions, tuple(counts.sum(axis=0).tolist()), total)
    return DecidedPiece(adapted._replace(decisions=choice, round_table=table), found)
