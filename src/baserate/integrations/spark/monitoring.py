"""state: the keys in a checkpoint, their class mixes and rounds."""

from collections.abc import Iterator
from typing import Any

from baserate.integrations.spark._pyspark import pyarrow, sql, types
from baserate.integrations.spark.bucket import read_blob
from baserate.integrations.spark.keyed_rounds import NEVER
from baserate.integrations.spark.processing import unpacked
from baserate.integrations.spark.processor import STATE


def state(checkpoint: str) -> Any:
    """Read what keys have learned from a checkpoint of a streaming query, also while it runs.

    Needs an active Spark session.

    Parameters
    ----------
    checkpoint : str
        The query's ``checkpointLocation``.

    Returns
    -------
    DataFrame
        A row for each key: ``bucket``; ``key``, as text; ``prior_<class>``, the class mix that its next round is
        predicted with; ``rounds``, how many are over; ``pending``, its rows of the round that is not; ``last_time`` of
        a row (null without a time column); and of its bucket ``bucket_rows``, ``bucket_late`` and ``bucket_expired``
        (rows answered, those among them that came too late, keys that expired), ``bucket_waiting`` (rows that wait for
        the watermark) and ``bucket_bytes``.
    """
    session = sql().SparkSession.getActiveSession()
    if session is None:
        raise RuntimeError("there is no active Spark session; make one first.")
    blobs = session.read.format("statestore").option("stateVarName", STATE).load(checkpoint)
    blobs = blobs.selectExpr("key.bucket AS bucket", "value.blob AS blob")
    first = blobs.first()
    names = [] if first is None else read_blob(bytes(first["blob"]))["names"]
    return blobs.mapInArrow(_read, _schema(names))


def _schema(names: list[str]) -> Any:
    T = types()
    kinds = {
        "bucket": T.IntegerType(),
        "key": T.StringType(),
        **{f"prior_{name}": T.DoubleType() for name in names},
        "rounds": T.LongType(),
        "pending": T.LongType(),
        "last_time": T.TimestampType(),
        **dict.fromkeys(
            ("bucket_rows", "bucket_late", "bucket_expired", "bucket_waiting", "bucket_bytes"), T.LongType()
        ),
    }
    return T.StructType([T.StructField(name, kind) for name, kind in kinds.items()])


def _read(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        for bucket, blob in zip(*(batch.column(i).to_pylist() for i in range(2)), strict=True):
            yield _keys(bucket, blob)


def _keys(bucket: int, blob: bytes) -> Any:
    """Return the keys of one bucket as a batch."""
    pa = pyarrow()
    held = read_blob(blob)
    n = len(held["keys"])
    pending = [0] * n
    for place in held["pending_places"].tolist():
        pending[place] += 1
    seen = [None if time == NEVER else time for time in held["seen"].tolist()]
    waiting = held["waiting"].tobytes()
    of_bucket = {
        "bucket_rows": held["rows"],
        "bucket_late": held["late"],
        "bucket_expired": held["expired"],
        "bucket_waiting": len(unpacked(waiting)) if waiting else 0,
        "bucket_bytes": len(blob),
    }
    return pa.record_batch(
        {
            "bucket": pa.array([bucket] * n, pa.int32()),
            "key": pa.array([str(key) for key in held["keys"]], pa.string()),
            **{f"prior_{name}": pa.array(held["prior"][:, c]) for c, name in enumerate(held["names"])},
            "rounds": pa.array(held["taken"]),
            "pending": pa.array(pending, pa.int64()),
            "last_time": pa.array(seen, pa.timestamp("us", "UTC")),
            **{name: pa.array([value] * n, pa.int64()) for name, value in of_bucket.items()},
        }
    )
