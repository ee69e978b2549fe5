"""The processor that Spark calls with the rows of a bucket, and how rows are packed for it.

Spark hands Python one row at a time. Rows are therefore packed beforehand, all rows of a bucket in one, and the answers
are unpacked after it; both are done batch by batch, in Arrow.
"""

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from baserate.integrations.spark._pyspark import pyarrow, sql
from baserate.integrations.spark.bucket import Plan, make_plan
from baserate.integrations.spark.processing import Columns, packed, process, unpacked
from baserate.integrations.spark.rounds import Rounds
from baserate.integrations.spark.shared import Shared
from baserate.state import loads

BUCKET, PACKED = "bucket", "packed"
STATE = "bucket"
"""The name of the state variable, which is in the checkpoint and never changes."""

_MICROS = 1000


class Recipe(NamedTuple):
    """Settings that a worker makes its plan of; plain data, which goes to every worker with the task."""

    adapter: Shared
    rounds: Rounds
    expire: int
    buckets: int
    names: list[str]
    model: str
    waits: bool
    columns: Columns
    empty: bytes  # a table of the input's columns without rows

    def plan(self) -> Plan:
        """The plan, which is made once in each worker."""
        saved = self.adapter.value
        mark = hashlib.sha256(saved).hexdigest() + repr(self[1:7])
        if mark not in _plans:
            _plans.clear()
            adapter = loads(saved, name="the fitted adapter")
            _plans[mark] = make_plan(
                adapter,
                self.rounds,
                expire=self.expire,
                buckets=self.buckets,
                names=self.names,
                model=self.model,
                waits=self.waits,
            )
        return _plans[mark]


_plans: dict[str, Plan] = {}


class Packer:
    """Packs the rows of a partition: one row for each bucket."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Return batches of two columns: the bucket, and its rows as bytes."""
        pa = pyarrow()
        held = list(batches)
        if not held or not sum(map(len, held)):
            return
        table = pa.Table.from_batches(held)
        numbers = table.column(BUCKET).to_numpy()
        table = table.drop_columns([BUCKET]).take(pa.array(np.argsort(numbers, kind="stable"))).combine_chunks()
        buckets, sizes = np.unique(numbers, return_counts=True)
        ends = np.cumsum(sizes)
        for bucket, begin, end in zip(buckets, ends - sizes, ends, strict=True):
            rows = packed(table.slice(begin, end - begin))
            yield pa.record_batch({BUCKET: pa.array([bucket], pa.int32()), PACKED: pa.array([rows], pa.binary())})


def unpack(batches: Iterator[Any]) -> Iterator[Any]:
    """Return the rows of packed answers."""
    for batch in batches:
        for rows in batch.column(0):
            yield from unpacked(rows.as_py()).to_batches()


class BucketProcessor:
    """A `StatefulProcessor` of Spark in everything but its base, which needs pyspark: see `_stateful.py`.

    Parameters
    ----------
    recipe : Recipe
        What to answer by.
    watermarked : bool
        Whether rows wait for Spark's watermark.
    """

    def __init__(self, recipe: Recipe, watermarked: bool) -> None:
        self._recipe, self._watermarked = recipe, watermarked
        self._plan: Plan | None = None  # made on the worker, once for all buckets of a task

    def init(self, handle: Any) -> None:
        """Name the state that Spark keeps for each bucket."""
        self._handle = handle
        self._state = handle.getValueState(STATE, "blob binary")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802
        """Answer the rows of one bucket in a micro-batch."""
        tables = [unpacked(bytes(row[PACKED])) for row in rows]
        return self._process(pyarrow().concat_tables(tables), timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802
        """Answer the rows that the watermark has passed since, and drop keys that have expired."""
        return self._process(unpacked(self._recipe.empty), timerValues)

    def close(self) -> None:
        """Release nothing: all is in the state."""

    def _process(self, table: Any, timer_values: Any) -> Iterator[Any]:
        watermark = timer_values.getCurrentWatermarkInMs() * _MICROS if self._watermarked else None
        held = self._state.get()
        blob = None if held is None else held[0]
        if self._plan is None:
            self._plan = self._recipe.plan()
        done = process(blob, table, self._plan, self._recipe.columns, watermark)
        self._state.update((done.blob,))
        if self._watermarked and done.wake_at is not None:
            # A timer fires once the watermark has reached its millisecond.
            self._handle.registerTimer(-(-done.wake_at // _MICROS))
        if len(done.answered):
            yield sql().Row(**{PACKED: packed(done.answered)})
