"""adapt: the rows of a DataFrame of Spark, with the columns that `baserate adapt` writes."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from baserate.integrations.spark._pyspark import arrow_types, functions, types
from baserate.integrations.spark._stateful import stateful_processor
from baserate.integrations.spark.fitting import fingerprint, fit_adapter, own_options, read_holdout
from baserate.integrations.spark.processing import Columns, packed, process
from baserate.integrations.spark.processor import BUCKET, PACKED, Packer, Recipe, unpack
from baserate.integrations.spark.rounds import read_duration, read_rounds
from baserate.integrations.spark.shared import Shared
from baserate.state import dumps
from baserate.validation import check_integer

KEYS_A_BUCKET = 256
EXPECTED_KEYS = 65_536
"""Number of keys that a stream is expected to have, if nobody says."""

_RESERVED = (BUCKET, PACKED)


def adapt(
    df: Any,
    *,
    holdout: Any,
    key: str,
    proba: Sequence[str],
    labels: str | None = None,
    id: str | None = None,  # noqa: A002
    time: str | None = None,
    rounds: int | str = 100,
    buckets: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Adapt the probabilities of many keyed streams to the class mix of each, on Spark.

    Every key has the tracker that it has in a `baserate.Bank`, and gives the same bits: as long as its rows come in
    order, neither micro-batches, buckets, partitions nor restarts change an answer.

    Parameters
    ----------
    df : DataFrame
        Of Spark, streaming or static. If a streaming one has a watermark on `time`, rows wait until it passes, are put
        in order and answered; rows behind it are answered, counted, and not learned from.
    holdout : DataFrame
        Of pandas, polars or Spark: labelled rows that the model was not trained on, with the columns `proba` and
        ``label``.
    key : str
        The column that names the stream of a row: text or whole numbers.
    proba : sequence of str
        The columns of probabilities, ``p_<class>``.
    labels : str, optional
        The column with the label of a row where it is known when the row comes, and null where it is not. With
        ``options["wait"]``, a row with a label and without probabilities is the label of an earlier row, by `id`.
    id : str, optional
        The column that orders rows of the same time; (time, id) should be unique for each key.
    time : str, optional
        The column of event time, a timestamp. Without it, rows of a key are taken in the order of their arrival.
    rounds : int or str
        The length of a round: a number of rows of a key, or a window of event time, such as ``"15min"``.
    buckets : int, optional
        The number of buckets that keys are hashed into. It is kept in the checkpoint, and cannot change. Default: about
        256 keys a bucket, by ``options["keys"]``, or for a static frame by counting them.
    options : mapping, optional
        Arguments of `RegressAndReweight`, and ``expire``: the duration of event time without rows, such as ``"30d"``,
        after which a key starts anew; ``keys``: the number of keys to expect (65,536); ``wait``: how many rows of each
        key may wait for labels that come later.

    Returns
    -------
    DataFrame
        The rows of `df` with ``adapted_p_<class>``, ``adapted_label``, ``adapted_round`` (the number of the round, of
        each key), ``adapted_alarm`` and ``adapted_fallback`` (of its key before the round).
    """
    names = _class_names(proba)
    columns = Columns(key, list(proba), labels, id, time)
    _check_columns(df, columns, names)
    own, asked = own_options(options)
    length = read_rounds(rounds)
    expire = read_duration(own["expire"], "options['expire']") if "expire" in own else 0
    if time is None and (length.window or expire):
        raise ValueError(
            f"{'rounds' if length.window else 'expire'} is a duration of event time; name its column in time."
        )
    waits = "wait" in own
    if waits:
        if labels is None or id is None:
            raise ValueError("options['wait'] is for labels that come later, by id; name the columns in labels and id.")
        asked["max_waiting"] = check_integer(own["wait"], "options['wait']", 1)
    frame = read_holdout(holdout, list(proba))
    adapter = fit_adapter(frame, list(proba), asked, length, waits=waits)
    n_buckets = _choose(buckets, own, df, key)
    schema = _answered_schema(df.schema, names)
    empty = packed(_empty(df.schema))
    recipe = Recipe(
        Shared(dumps(adapter), df),
        length,
        expire,
        n_buckets,
        names,
        fingerprint(frame, list(proba)),
        waits,
        columns,
        empty,
    )
    F = functions()
    numbered = df.withColumn(BUCKET, F.pmod(F.xxhash64(F.col(key)), F.lit(n_buckets)).cast("int"))
    if not df.isStreaming:
        at_once = _AtOnce(recipe)
        return numbered.groupBy(BUCKET).applyInArrow(lambda table: at_once(table), schema)  # Spark wants a function
    rows = numbered.mapInArrow(Packer(), f"{BUCKET} int, {PACKED} binary").groupBy(BUCKET)
    watermarked = time is not None and "spark.watermarkDelayMs" in (df.schema[time].metadata or {})
    answered = rows.transformWithState(
        stateful_processor(recipe, watermarked=watermarked),
        f"{PACKED} binary",
        "Append",
        "EventTime" if watermarked else "None",
    )
    return answered.mapInArrow(unpack, schema)


class _AtOnce:
    """Answers all rows of a bucket at once."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe

    def __call__(self, table: Any) -> Any:
        recipe = self._recipe
        return process(None, table.drop_columns([BUCKET]), recipe.plan(), recipe.columns).answered


def _class_names(proba: Sequence[str]) -> list[str]:
    if isinstance(proba, str) or len(proba) < 2 or len(set(proba)) < len(proba):
        raise ValueError(f"proba is {proba!r}; name two columns or more, one for each class.")
    wrong = [name for name in proba if not name.startswith("p_")]
    if wrong:
        raise ValueError(f"proba names the column {wrong[0]!r}; columns of probabilities are named p_<class>.")
    return [name.removeprefix("p_") for name in proba]


def _check_columns(df: Any, columns: Columns, names: list[str]) -> None:
    T = types()
    kinds: dict[str, tuple[str, Any, str]] = {
        columns.key: ("key", (T.StringType, T.IntegralType), "text or whole numbers")
    }
    kinds |= dict.fromkeys(columns.proba, ("proba", (T.FloatType, T.DoubleType), "float or double"))
    if columns.time is not None:
        kinds[columns.time] = ("time", (T.TimestampType, T.TimestampNTZType), "a timestamp")
    if columns.id is not None:
        kinds[columns.id] = ("id", (T.StringType, T.IntegralType), "text or whole numbers")
    if columns.labels is not None:
        kinds[columns.labels] = (
            "labels",
            (T.StringType, T.IntegralType, T.BooleanType),
            "text, whole numbers or truth values",
        )
    for name, (argument, kind, words) in kinds.items():
        if name not in df.columns:
            raise ValueError(
                f"{argument} names the column {name!r}, which df does not have; it has {', '.join(df.columns)}."
            )
        found = df.schema[name].dataType
        if not isinstance(found, kind):
            raise TypeError(f"the column {name!r} is {found.simpleString()}; {argument} must be {words}.")
    added = [*_added(names), *_RESERVED]
    taken = [name for name in df.columns if name in added]
    if taken:
        raise ValueError(f"df has a column {taken[0]!r}, which adapt writes itself; rename it.")


def _choose(buckets: int | None, own: dict[str, Any], df: Any, key: str) -> int:
    if buckets is not None:
        return check_integer(buckets, "buckets", 1)
    keys = check_integer(own["keys"], "options['keys']", 1) if "keys" in own else EXPECTED_KEYS
    if "keys" not in own and not df.isStreaming:
        keys = int(df.agg(functions().approx_count_distinct(key)).first()[0])
    return max(1, math.ceil(keys / KEYS_A_BUCKET))


def _added(names: list[str]) -> dict[str, Any]:
    T = types()
    shares = {f"adapted_p_{name}": T.DoubleType() for name in names}
    return {
        **shares,
        "adapted_label": T.StringType(),
        "adapted_round": T.LongType(),
        "adapted_alarm": T.BooleanType(),
        "adapted_fallback": T.BooleanType(),
    }


def _answered_schema(schema: Any, names: list[str]) -> Any:
    T = types()
    fields = [T.StructField(field.name, field.dataType) for field in schema.fields]
    return T.StructType([*fields, *(T.StructField(name, kind) for name, kind in _added(names).items())])


def _empty(schema: Any) -> Any:
    """A table of the same columns without rows; a worker puts it beside rows only when it has none."""
    return arrow_types().to_arrow_schema(schema, timezone="UTC").empty_table()
