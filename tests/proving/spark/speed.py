"""Rows a second on one machine, beside processors that do nothing: ``python -m tests.proving.spark.speed OPTIONS``."""

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from baserate import Bank, RegressAndReweight
from baserate.integrations import spark as bs
from baserate.integrations.spark.processor import BUCKET, PACKED, Packer, unpack
from baserate.trackers import LikelihoodMixture

from .kills import descendants
from .sessions import PROBA, K, Topic, holdout, micro_batch, open_session

WARM = 4
"""Factor by which the first micro-batch is larger, so that nearly every key has learned a round before it is timed."""
EACH_ITS_OWN = 2**31 - 1
"""A number of buckets with which every key has its own: one state a key."""


def tracked_options(options):
    """Return what `adapt` is told: everything on, or the light profile without signs."""
    return {"tracker": LikelihoodMixture(K, light=True), "gate": False, "alpha": None} if options.get("light") else {}


def baserate(rows, options):
    """Adapt the rows."""
    words = {
        "holdout": holdout(),
        "key": "shop",
        "proba": PROBA,
        "id": "id",
        "time": "at",
        "rounds": options.get("rounds", 10),
    }
    own = {"keys": options["keys"], **tracked_options(options)}
    return bs.adapt(rows, **words, buckets=options.get("buckets"), options=own)


def one_state_a_key(rows, options):
    """Do the same with a state for each key."""
    return baserate(rows, {**options, "buckets": EACH_ITS_OWN})


def packed_identity(rows, options):
    """Pack rows as `adapt` does, and hand them through a processor that only counts."""
    from pyspark.sql import functions as F

    n = max(1, -(-options["keys"] // 256))
    numbered = rows.withColumn(BUCKET, F.pmod(F.xxhash64(F.col("shop")), F.lit(n)).cast("int"))
    packs = numbered.mapInArrow(Packer(), f"{BUCKET} int, {PACKED} binary").groupBy(BUCKET)
    passed = packs.transformWithState(_processor(_CountPacks), f"{PACKED} binary", "Append", "None")
    return passed.mapInArrow(unpack, rows.schema)


def identity(rows, options):
    """Hand the rows of each bucket through a processor that only counts, by pandas."""
    from pyspark.sql import functions as F

    n = max(1, -(-options["keys"] // 256))
    numbered = rows.withColumn(BUCKET, F.pmod(F.xxhash64(F.col("shop")), F.lit(n)).cast("int")).groupBy(BUCKET)
    return numbered.transformWithStateInPandas(_processor(_CountRows), rows.schema, "Append", "None")


class _Count:
    """Keeps the number of calls, eight bytes for each bucket."""

    def init(self, handle: Any) -> None:
        self._state = handle.getValueState("count", "n long")

    def _count(self) -> None:
        held = self._state.get()
        self._state.update((1 if held is None else held[0] + 1,))

    def close(self) -> None:
        pass


class _CountPacks(_Count):
    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        from pyspark.sql import Row

        self._count()
        for row in rows:
            yield Row(**{PACKED: bytes(row[PACKED])})


class _CountRows(_Count):
    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        self._count()
        for frame in rows:
            yield frame.drop(columns=BUCKET)


def _processor(kind):
    from pyspark.sql.streaming import StatefulProcessor

    return type(kind.__name__, (kind, StatefulProcessor), {})()


KINDS = {
    "baserate": baserate,
    "packed identity": packed_identity,
    "identity": identity,
    "one state a key": one_state_a_key,
}


class Running:
    """A query that is given one micro-batch after the other."""

    def __init__(self, session, name, folder, options, schema):
        self.spent: list[dict[str, float]] = []
        self.name, self._topic, self.done = name, Topic(folder / "in"), []
        rows = session.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
        sink = KINDS[name](rows, options).writeStream.format("noop")
        self.checkpoint = folder / "checkpoint"
        self.query = sink.option("checkpointLocation", str(self.checkpoint)).start()

    def measured(self):
        """Return what was measured of each micro-batch."""
        return [{**done, **spent} for done, spent in zip(self.done, self.spent, strict=True)]

    def take(self, table):
        """Hand over one micro-batch, and wait until it is answered."""
        self._topic.put(table)
        wanted, before = len(self.done) + 1, processor_seconds()
        while len(self.done) < wanted:
            if self.query.exception() is not None:
                raise self.query.exception()
            time.sleep(0.02)
            self.done = [_measured(one) for one in self.query.recentProgress if one["numInputRows"]]
        spent = {kind: seconds - before[kind] for kind, seconds in processor_seconds().items()}
        self.spent.append(spent)


def processor_seconds():
    """Return the processor time of the processes below this one so far: it hardly depends on who else is there."""
    out = {"jvm": 0.0, "python": 0.0}
    for pid, line in descendants(os.getpid()).items():
        try:
            words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        kind = "jvm" if "java" in line.split(" ", 1)[0] else "python"
        out[kind] += sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")
    return out


def _measured(progress):
    took, operator = progress["durationMs"], progress["stateOperators"][0]
    return {
        "rows": progress["numInputRows"],
        "seconds": took["triggerExecution"] / 1000,
        "commit": operator["commitTimeMs"] / 1000,
        "state_bytes": operator["memoryUsedBytes"],
    }


def bank_alone(options):
    """Return the rows a second of one `Bank` in one process, told each micro-batch as one round."""
    held = holdout()
    bank, took, n = Bank(RegressAndReweight(**tracked_options(options)).fit(held[PROBA], held["label"])), 0.0, 0
    for i in range(min(6, options["batches"])):
        table = micro_batch(i, options["rows"], options["keys"])
        keys = table.column("shop").to_pylist()
        proba = np.column_stack([table.column(name).to_numpy() for name in PROBA])
        begin = time.perf_counter()
        bank.step(keys, proba)
        if i >= 2:
            took, n = took + time.perf_counter() - begin, n + len(keys)
    return n / took


def main():
    """Run what the options say, and print one line of JSON."""
    options = json.loads(sys.argv[1])
    began = time.monotonic()
    session = open_session(options.get("changelog", True))
    with tempfile.TemporaryDirectory(prefix="spark-speed-") as scratch:
        folder = Path(scratch)
        first = Topic(folder / "schema")
        first.put(micro_batch(0, 10, options["keys"]))
        schema = session.read.parquet(str(folder / "schema")).schema
        running = [
            Running(session, name, folder / name.replace(" ", "-"), options, schema) for name in options["kinds"]
        ]
        for i in range(options["batches"]):
            n = WARM * options["rows"] if i == 0 else options["rows"]
            table = micro_batch(i, n, options["keys"])
            for one in running if i % 2 else reversed(running):
                one.take(table)
            print(i, {one.name: one.measured()[-1] for one in running}, file=sys.stderr, flush=True)
            if time.monotonic() - began > options.get("most_seconds", 420):
                break
        out = {"options": options, "batches": {one.name: one.measured() for one in running}}
        if "baserate" in options["kinds"]:
            at = next(one for one in running if one.name == "baserate")
            at.query.stop()
            state = bs.state(str(at.checkpoint)).selectExpr("bucket", "bucket_bytes").distinct().toPandas()
            out["bytes"] = int(state["bucket_bytes"].sum())
            out["buckets"] = len(state)
        for one in running:
            one.query.stop()
    session.stop()
    if options.get("bank"):
        out["bank"] = bank_alone(options)
    print(json.dumps(out))


if __name__ == "__main__":
    main()
