"""One micro-batch of one bucket: packed rows in, packed answers and a new blob out; knows nothing of Spark."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baserate.bank.late_labels import numbered
from baserate.class_labels import to_columns
from baserate.integrations.spark._pyspark import pyarrow
from baserate.integrations.spark.bucket import Opened, Plan, close_bucket, open_bucket
from baserate.integrations.spark.keyed_rounds import Answers, KeyedRounds, LateLabels
from baserate.integrations.spark.pending import NO_NAME
from baserate.protocols import IntArray


class Columns(NamedTuple):
    """The names of the columns that mean something: `proba` in the order of the classes."""

    key: str
    proba: list[str]
    labels: str | None = None
    id: str | None = None
    time: str | None = None


class Processed(NamedTuple):
    """Answered rows with their new columns, the new blob, and the event time to wake the bucket at."""

    answered: Any
    blob: bytes
    wake_at: int | None


def process(blob: bytes | None, table: Any, plan: Plan, columns: Columns, watermark: int | None = None) -> Processed:
    """Answer the rows of one bucket, and learn from them.

    Parameters
    ----------
    blob : bytes, optional
        The bucket as it was left; None: there is none yet.
    table : pyarrow.Table
        Rows of keys of this bucket, in the order of arrival.
    plan : Plan
        What decides about the answers.
    columns : Columns
        What the columns mean.
    watermark : int, optional
        In microseconds since 1970: rows wait until it passes, and later ones are answered only. Without one, rows
        are put in order and answered at once.
    """
    opened = open_bucket(blob, plan)
    keyed, counts = opened.keyed, opened.counts
    late = table.slice(0, 0)
    if watermark is not None:
        behind = times_of(table, columns) <= watermark
        late, table = table.filter(pyarrow().array(behind)), table.filter(pyarrow().array(~behind))
        table = _with_waiting(opened.waiting, table)
    table = in_order(table, columns)
    waiting = table.slice(0, 0)
    if watermark is not None:
        n = int(np.searchsorted(times_of(table, columns), watermark, side="right"))
        waiting, table = table.slice(n), table.slice(0, n)
    answered = [_answer_late(late, keyed, columns, plan)] if len(late) else []
    taken_in, n_over = _answer(table, keyed, columns, plan)
    n_late = len(late) + n_over
    if watermark is not None:
        keyed.pass_time(watermark)
    out = pyarrow().concat_tables([*answered, *taken_in])
    counts = counts._replace(rows=counts.rows + len(out), late=counts.late + n_late)
    closed = close_bucket(Opened(keyed, counts, packed(waiting) if len(waiting) else b""), plan)
    wakes = [keyed.wake_at(), int(times_of(waiting, columns)[0]) if len(waiting) else None]
    return Processed(out, closed, min((at for at in wakes if at is not None), default=None))


def packed(table: Any) -> bytes:
    """Return a table as bytes, with its schema."""
    sink = pyarrow().BufferOutputStream()
    with pyarrow().ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def unpacked(data: bytes) -> Any:
    """Return the table that `packed` made bytes of."""
    return pyarrow().ipc.open_stream(data).read_all()


def times_of(table: Any, columns: Columns) -> IntArray:
    """Return the event times in microseconds since 1970."""
    pa = pyarrow()
    column = table.column(columns.time)
    if column.null_count:
        raise ValueError(f"the column {columns.time} has rows without a time; drop them, or leave time out.")
    whole: IntArray = column.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
    return whole


def in_order(table: Any, columns: Columns) -> Any:
    """Return rows in the order of (time, id), or as they came."""
    by = [(name, "ascending") for name in (columns.time, columns.id) if name is not None]
    if columns.time is None or len(table) < 2:
        return table
    place = "row number of baserate"  # so that equal rows stay as they came
    numbered = table.select([name for name, _ in by]).append_column(place, pyarrow().array(np.arange(len(table))))
    return table.take(pyarrow().compute.sort_indices(numbered, sort_keys=[*by, (place, "ascending")]))


def _with_waiting(waiting: bytes, table: Any) -> Any:
    if not waiting:
        return table
    before = unpacked(waiting)
    if not len(table):
        return before
    if before.schema != table.schema:
        raise ValueError(
            "rows wait in this checkpoint that have other columns than the stream has now: "
            f"{before.schema.names}, and {table.schema.names}. Give the same columns, or begin a new checkpoint."
        )
    return pyarrow().concat_tables([before, table])


def _answer(table: Any, keyed: KeyedRounds, columns: Columns, plan: Plan) -> tuple[list[Any], int]:
    """Answer rows that are in order, of which those of windows that are over for their key, so many, come first."""
    keys = keys_of(table, columns)
    times = None if columns.time is None else times_of(table, columns)
    late = np.zeros(len(table), dtype=bool) if times is None else keyed.behind(keys, times)
    late &= ~_only_labels(table, columns, plan)
    if late.any():
        over, table = table.filter(pyarrow().array(late)), table.filter(pyarrow().array(~late))
        keys, times = keys_of(table, columns), times_of(table, columns)
    else:
        over = table.slice(0, 0)
    answered = [_answer_late(over, keyed, columns, plan)] if len(over) else []
    told, late_labels = _only_labels(table, columns, plan), None
    if told.any():
        late_labels = _late_labels(table, told, columns, plan)
        answered.append(_without_answers(table.filter(pyarrow().array(told)), plan))
        table = table.filter(pyarrow().array(~told))
        keys, times = keys_of(table, columns), None if times is None else times[~told]
    names = _names(table, columns) if plan.waits else None
    taken = keyed.take_in(keys, _proba(table, columns), _labels(table, columns, plan), times, names, late_labels)
    return [*answered, _with_answers(table, taken, plan)], len(over)


def _only_labels(table: Any, columns: Columns, plan: Plan) -> NDArray[np.bool_]:
    """Tell which rows have a label and no probability: the label of an earlier row with the same id."""
    missing = np.zeros(len(table), dtype=bool)
    if plan.waits and columns.labels is not None and columns.id is not None:
        missing = np.logical_and.reduce([table.column(name).is_null().to_numpy() for name in columns.proba])
        missing &= table.column(columns.labels).is_valid().to_numpy()
        missing &= table.column(columns.id).is_valid().to_numpy()
    return missing


def _late_labels(table: Any, told: NDArray[np.bool_], columns: Columns, plan: Plan) -> LateLabels:
    rows = table.filter(pyarrow().array(told))
    times = np.zeros(len(rows), dtype=np.int64) if columns.time is None else times_of(rows, columns)
    before: IntArray = np.cumsum(~told, dtype=np.int64)[told]
    return LateLabels(keys_of(rows, columns), _names(rows, columns), _labels(rows, columns, plan), times, before)


def _names(table: Any, columns: Columns) -> IntArray:
    """Return the ids of rows as numbers."""
    names, has = numbered(table.column(columns.id).to_pylist(), len(table))
    return np.where(has, names, NO_NAME)


def _answer_late(table: Any, keyed: KeyedRounds, columns: Columns, plan: Plan) -> Any:
    """Answer rows that came too late to be taken in; such labels are not learned."""
    told = _only_labels(table, columns, plan)
    if told.any():
        rows = _answer_late(table.filter(pyarrow().array(~told)), keyed, columns, plan)
        return pyarrow().concat_tables([rows, _without_answers(table.filter(pyarrow().array(told)), plan)])
    answers = keyed.answer_only(keys_of(table, columns), _proba(table, columns))
    return _with_answers(table, answers, plan)


def keys_of(table: Any, columns: Columns) -> list[Any]:
    """Return the keys of rows."""
    if table.column(columns.key).null_count:
        raise ValueError(f"the column {columns.key} has rows without a key; drop them, or give them one.")
    keys: list[Any] = table.column(columns.key).to_pylist()
    return keys


def _proba(table: Any, columns: Columns) -> NDArray[Any]:
    each = [table.column(name) for name in columns.proba]
    missing = [name for name, column in zip(columns.proba, each, strict=True) if column.null_count]
    if missing:
        what = "" if columns.id is None or columns.labels is None else _LATE_LABELS
        raise ValueError(f"the column {missing[0]} has rows without a probability; drop them.{what}")
    return np.column_stack([column.to_numpy() for column in each])


_LATE_LABELS = " For labels that come later, in rows without probabilities, give options['wait']."


def _labels(table: Any, columns: Columns, plan: Plan) -> IntArray:
    if columns.labels is None or table.column(columns.labels).null_count == len(table):
        return np.full(len(table), -1, dtype=np.int64)
    classes = plan.bank.adapter.classes_.tolist()
    return to_columns(table.column(columns.labels).to_pylist(), classes, len(table))


def _with_answers(table: Any, answers: Answers, plan: Plan) -> Any:
    """Return rows with the columns that `baserate adapt` adds."""
    pa = pyarrow()
    best = pa.array(np.argmax(answers.proba, axis=1) if len(table) else [], pa.int32())
    added = {f"adapted_p_{name}": pa.array(answers.proba[:, c]) for c, name in enumerate(plan.names)}
    added["adapted_label"] = pa.array(plan.names).take(best)
    added["adapted_round"] = pa.array(answers.rounds)
    added["adapted_alarm"], added["adapted_fallback"] = pa.array(answers.alarm), pa.array(answers.fallback)
    for name, values in added.items():
        table = table.append_column(name, values)
    return table


def _without_answers(table: Any, plan: Plan) -> Any:
    """Return rows of late labels with the same columns, which are null."""
    pa = pyarrow()
    kinds = dict.fromkeys([f"adapted_p_{name}" for name in plan.names], pa.float64())
    kinds |= {"adapted_label": pa.string(), "adapted_round": pa.int64()}
    kinds |= {"adapted_alarm": pa.bool_(), "adapted_fallback": pa.bool_()}
    for name, kind in kinds.items():
        table = table.append_column(name, pa.nulls(len(table), kind))
    return table
