"""Steppers: one line per round, or per key of a round, and the windows of time in which nothing came."""

import numpy as np
import polars as pl
import pytest

from baserate import Bank, RegressAndReweight
from baserate.files.adapting.job import ColumnRoles
from baserate.files.adapting.pieces import check_piece
from baserate.files.adapting.state import Clock, StreamState
from baserate.files.adapting.steppers import KeyedStepper, StreamStepper, stepper_for
from baserate.files.columns import Classes
from baserate.files.errors import FileProblemError
from baserate.files.rounds import Piece, ReadPosition

from ..streams import CLASSES, P, frame, model_outputs

CLASSES_OF_P = Classes(P, CLASSES)


def state(*, keyed=False, wait=0):
    held = StreamState()
    adapter = RegressAndReweight(max_waiting=wait).fit(*model_outputs(400, (1 / 3, 1 / 3, 1 / 3), 0))
    held.adapter, held.classes = Bank(adapter) if keyed else adapter, CLASSES_OF_P
    return held


def piece(starts, *, windows=None, keys=None, ids=None, row=0):
    n = starts[-1]
    table, _ = frame(n, **({} if keys is None else {"key": keys}))
    table = table if ids is None else table.with_columns(id=pl.Series(ids))
    cut = Piece(table, row, np.array(starts), ReadPosition(row + n), None if windows is None else np.array(windows))
    columns = ColumnRoles(key=None if keys is None else "key", id="id")
    return check_piece(cut, CLASSES_OF_P, columns, "s.csv", with_ids=ids is not None)


def test_the_stepper_of_a_state():
    assert isinstance(stepper_for(state(), 0.9, 0.0), StreamStepper)
    assert isinstance(stepper_for(state(keyed=True), 0.9, 0.0), KeyedStepper)


def test_a_stream_has_a_line_for_each_round():
    held = state()
    adapted = stepper_for(held, 0.9, 0.0).step(piece([0, 4, 10], row=100))
    table = adapted.round_table
    assert (table["round"], table["first_row"], table["rows"]) == ([1, 2], [101, 105], [4, 6])
    assert adapted.numbers().tolist() == [1] * 4 + [2] * 6
    assert adapted.lines().tolist() == [0] * 4 + [1] * 6
    assert held.adapter.rounds_ == 2
    np.testing.assert_allclose(adapted.proba.sum(axis=0), 1.0)
    assert adapted.labels.tolist() == adapted.proba.argmax(axis=0).tolist()


def test_a_keyed_stream_has_a_line_for_each_key_of_a_round():
    keys = ["north", "south", "north", "west", "south"]
    adapted = stepper_for(state(keyed=True), 0.9, 0.0).step(piece([0, 3, 5], keys=keys))
    table = adapted.round_table
    lines = list(zip(table["round"], table["key"], table["rows"], strict=True))
    assert sorted(lines) == [(1, "north", 2), (1, "south", 1), (2, "south", 1), (2, "west", 1)]
    assert [table["key"][line] for line in adapted.lines()] == keys
    assert [table["round"][line] for line in adapted.lines()] == [1, 1, 1, 2, 2]


def test_empty_windows_count_as_rounds():
    held = state()
    stepper = stepper_for(held, 0.9, 60.0)
    table = stepper.step(piece([0, 4, 10], windows=[7, 10])).round_table
    assert table["round"] == [1, 4]
    assert stepper.last_windows == 10
    held.clock = Clock(60.0, 10)
    assert stepper_for(held, 0.9, 60.0).step(piece([0, 4], windows=[12])).round_table["round"] == [6]
    other = stepper_for(held, 0.9, 30.0)  # windows of another length start anew
    assert other.last_windows is None
    assert other.step(piece([0, 4], windows=[99])).round_table["round"] == [7]


def test_windows_are_counted_for_each_key():
    held = state(keyed=True)
    stepper = stepper_for(held, 0.9, 60.0)
    stepper.step(piece([0, 2, 3], windows=[1, 5], keys=["north", "south", "north"]))
    last = dict(zip(held.bank.keys, stepper.last_windows.tolist(), strict=True))
    assert last == {"north": 5, "south": 1}


@pytest.mark.parametrize(
    ("ids", "row", "name"), [(["a", "b", "a", "c"], 3, "a"), (["e", "f", "g", "y"], 4, "y"), (["x", "y"], 1, "x")]
)
def test_an_id_that_waits_already_is_named_with_its_row(ids, row, name):
    held = state(wait=100)
    stepper = stepper_for(held, 0.9, 0.0)
    stepper.step(piece([0, 2], ids=["x", "y"]))
    with pytest.raises(FileProblemError, match=f"s.csv, row {10 + row}, column id: the id '{name}' came before"):
        stepper.step(piece([0, len(ids)], ids=ids, row=10))
    assert held.adapter.waiting_ == 2  # asking a copy has changed nothing


def test_another_error_is_not_blamed_on_ids():
    held = state(wait=100)
    broken = piece([0, 2], ids=["x", "y"])
    broken = broken._replace(proba=broken.proba * 3)
    with pytest.raises(ValueError, match="proba") as refused:
        stepper_for(held, 0.9, 0.0).step(broken)
    assert not isinstance(refused.value, FileProblemError)
