"""Decisions on a piece, worked by hand."""

import numpy as np
import pytest

from baserate.decisions import decision_rule
from baserate.files.adapting.decided import decide_piece
from baserate.files.adapting.pieces import AdaptedPiece, CheckedPiece
from baserate.files.adapting.state import DecisionCounts
from baserate.files.rounds import Piece, ReadPosition

PROBA = np.array([[0.9, 0.1], [0.97, 0.03], [0.5, 0.5], [0.98, 0.02], [0.2, 0.8]])


def piece(keys=None):
    """Two rounds, of three rows and of two."""
    source = CheckedPiece(Piece(None, 0, np.array([0, 3, 5]), ReadPosition(5), None), PROBA, None, keys, None)
    table = {"round": [7, 8]} if keys is None else {"round": [7, 7, 8], "key": ["a", "b", "a"]}
    return AdaptedPiece(source, np.ascontiguousarray(PROBA.T), PROBA.argmax(axis=1), [7, 8], table)


def test_by_costs():
    rule = decision_rule(["good", "fraud"], costs=(1, 20))
    adapted, counts = decide_piece(piece(), rule)
    assert adapted.decisions.tolist() == [1, 0, 1, 0, 1]
    assert adapted.labels.tolist() == [0, 0, 0, 0, 1]
    assert adapted.round_table["decided_good"] == [1, 1]
    assert adapted.round_table["decided_fraud"] == [2, 1]
    assert adapted.round_table["expected_cost"] == pytest.approx([(0.9 + 0.6 + 0.5) / 3, (0.4 + 0.2) / 2])
    assert counts[:2] == (("good", "fraud"), (2, 3))
    assert counts.expected_cost == pytest.approx(2.6)


def test_by_costs_and_keys():
    rule = decision_rule(["good", "fraud"], costs=(1, 20))
    table = decide_piece(piece(["a", "b", "a", "a", "a"]), rule).adapted.round_table
    assert table["decided_fraud"] == [2, 0, 1]
    assert table["decided_good"] == [0, 1, 1]
    assert table["expected_cost"] == pytest.approx([0.7, 0.6, 0.3])


def test_by_a_threshold():
    adapted, counts = decide_piece(piece(), decision_rule(["good", "fraud"], threshold=0.1))
    assert adapted.decisions.tolist() == [1, 0, 1, 0, 1]
    # A threshold of 0.1 means that a missed fraud costs 9 false alarms.
    alarms = decide_piece(piece(), decision_rule(["good", "fraud"], costs=(1, 9)))
    assert adapted.round_table["expected_cost"] == pytest.approx(alarms.adapted.round_table["expected_cost"])
    assert counts[:2] == (("good", "fraud"), (2, 3))
    assert counts.expected_cost == pytest.approx(alarms.counts.expected_cost)


def test_without_costs_there_is_no_expected_cost():
    adapted, counts = decide_piece(piece(), decision_rule(["good", "fraud"]))
    assert "expected_cost" not in adapted.round_table
    assert counts.expected_cost is None


def test_pieces_add_up():
    some, none = DecisionCounts(("a", "b"), (2, 3), 1.5), DecisionCounts(("a", "b"), (0, 0), 0.0)
    assert none.plus(some) == some
    assert some.plus(some) == DecisionCounts(("a", "b"), (4, 6), 3.0)
    assert DecisionCounts(("a",), (1,)).plus(DecisionCounts(("a",), (1,))).expected_cost is None
