"""state: the keys in a checkpoint, their class mixes, rounds and trust signals."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from baserate.integrations.spark._pyspark import pyarrow, sql, types
from baserate.integrations.spark.bucket import SIGNS, open_bucket, read_blob
from baserate.integrations.spark.fitting import fingerprint, fit_adapter, own_options, read_holdout
from baserate.integrations.spark.keyed_rounds import NEVER
from baserate.integrations.spark.processing import Columns, unpacked
from baserate.integrations.spark.processor import STATE, Recipe
from baserate.integrations.spark.rounds import rounds_of
from baserate.integrations.spark.shared import Shared
from baserate.protocols import ExpertTracker
from baserate.state import dumps
from baserate.validation import check_real

_ACCURACY = ("accuracy", "accuracy_low", "accuracy_high")
_SIDES = ("low", "high")


def state(checkpoint: str, *, holdout: Any = None, options: Mapping[str, Any] | None = None, level: float = 0.9) -> Any:
    """Read what keys have learned from a checkpoint of a streaming query, also while it runs.

    Needs an active Spark session.

    Parameters
    ----------
    checkpoint : str
        The query's ``checkpointLocation``.
    holdout, options : optional
        As `adapt` was given them: with the holdout, each key that has learned a round also has its band and its
        estimated accuracy, which take a millisecond or two a key.
    level : float
        The probability with which a share, or the accuracy, is within its limits.

    Returns
    -------
    DataFrame
        A row for each key: ``bucket``; ``key``, as text; ``prior_<class>``, the class mix that its next round is
        predicted with; ``rounds``, how many are over; ``pending``, its rows of the round that is not; ``last_time`` of
        a row (null without a time column); ``evidence`` against label shift (1 is none), ``alarm``, ``fallback`` and
        ``correction_weight``, as `Bank.signs` has them; and of its bucket ``bucket_rows``, ``bucket_late`` and
        ``bucket_expired`` (rows answered, those among them that came too late, keys that expired), ``bucket_missed``
        (late labels of rows that did not wait for one), ``bucket_waiting`` (rows that wait for the watermark) and
        ``bucket_bytes``. With a holdout: ``low_<class>`` and ``high_<class>``, as of `Bank.prior_interval`,
        ``accuracy``, ``accuracy_low``, ``accuracy_high`` and ``accuracy_in_doubt``, null for keys without a round.
    """
    session = sql().SparkSession.getActiveSession()
    if session is None:
        raise RuntimeError("there is no active Spark session; make one first.")
    blobs = session.read.format("statestore").option("stateVarName", STATE).load(checkpoint)
    blobs = blobs.selectExpr("key.bucket AS bucket", "value.blob AS blob")
    first = blobs.first()
    held = None if first is None else read_blob(bytes(first["blob"]))
    names = [] if held is None else held["names"]
    check_real(level, "level", 0.0, 1.0, closed=False)
    recipe = None if holdout is None or held is None else _recipe(held, holdout, options, blobs)
    return blobs.mapInArrow(_Reader(recipe, level), _schema(names, with_holdout=recipe is not None))


def _recipe(held: dict[str, Any], holdout: Any, options: Mapping[str, Any] | None, blobs: Any) -> Recipe:
    """The recipe that the checkpoint was begun with; its blobs, a frame, know the rest."""
    proba = [f"p_{name}" for name in held["names"]]
    frame, rounds = read_holdout(holdout, proba), rounds_of(held["rounds"])
    model = fingerprint(frame, proba)
    if held["model"] not in ("", model):
        raise ValueError("the checkpoint was last moved with another holdout; give the one that adapt was given.")
    adapter = Shared(dumps(fit_adapter(frame, proba, own_options(options)[1], rounds)), blobs)
    return Recipe(adapter, rounds, 0, held["buckets"], held["names"], model, False, Columns("", proba), b"")


def _schema(names: list[str], *, with_holdout: bool) -> Any:
    T = types()
    kinds = {
        "bucket": T.IntegerType(),
        "key": T.StringType(),
        **{f"prior_{name}": T.DoubleType() for name in names},
        "rounds": T.LongType(),
        "pending": T.LongType(),
        "last_time": T.TimestampType(),
        "evidence": T.DoubleType(),
        "alarm": T.BooleanType(),
        "fallback": T.BooleanType(),
        "correction_weight": T.DoubleType(),
        **dict.fromkeys(
            ("bucket_rows", "bucket_late", "bucket_expired", "bucket_missed", "bucket_waiting", "bucket_bytes"),
            T.LongType(),
        ),
    }
    if with_holdout:
        kinds |= {f"{side}_{name}": T.DoubleType() for name in names for side in ("low", "high")}
        kinds |= dict.fromkeys(_ACCURACY, T.DoubleType())
        kinds["accuracy_in_doubt"] = T.StringType()
    return T.StructType([T.StructField(name, kind) for name, kind in kinds.items()])


class _Reader:
    """Reads blobs on the workers."""

    def __init__(self, recipe: Recipe | None, level: float) -> None:
        self._recipe, self._level = recipe, level

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for bucket, blob in zip(*(batch.column(i).to_pylist() for i in range(2)), strict=True):
                keys = _keys(bucket, blob)
                if self._recipe is not None:
                    for name, values in _estimated(blob, self._recipe, self._level).items():
                        keys = keys.append_column(name, values)
                yield keys


def _estimated(blob: bytes, recipe: Recipe, level: float) -> dict[str, Any]:
    """Return the bands and the accuracy of a bucket's keys."""
    pa, keyed = pyarrow(), open_bucket(blob, recipe.plan()).keyed
    bank, n, k = keyed.bank, len(keyed.keys), len(recipe.names)
    known = [i for i, key in enumerate(keyed.keys) if key in bank]
    keys = [keyed.keys[i] for i in known]
    limits, accuracy = np.full((n, k, 2), np.nan), np.full((n, len(_ACCURACY)), np.nan)
    doubts: list[str | None] = [None] * n
    if keys:
        if isinstance(bank.adapter.tracker_, ExpertTracker):
            limits[known] = bank.prior_interval(keys, level)
        if bank.adapter.alpha is not None:
            accuracy[known] = np.array(bank.estimated_accuracy(keys, level))
            for i, reason in zip(known, bank.accuracy_in_doubt(keys), strict=True):
                doubts[i] = reason
    sides = {(name, side): limits[:, c, s] for c, name in enumerate(recipe.names) for s, side in enumerate(_SIDES)}
    out = {f"{side}_{name}": values for (name, side), values in sides.items()}
    out |= {name: accuracy[:, i] for i, name in enumerate(_ACCURACY)}
    columns = {name: pa.array(values, from_pandas=True) for name, values in out.items()}  # null where not a number
    return columns | {"accuracy_in_doubt": pa.array(doubts, pa.string())}


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
        "bucket_missed": held["missed"],
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
            **{name: pa.array(held[name]) for name in SIGNS},
            **{name: pa.array([value] * n, pa.int64()) for name, value in of_bucket.items()},
        }
    )
