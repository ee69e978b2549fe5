"""Tables: batches and holdouts as Arrow, Parquet or CSV, read and written by polars."""

import io
from typing import Any

import numpy as np

from baserate.frames import no_panic, polars
from baserate.protocols import FloatArray
from baserate.service._web import msgspec
from baserate.service.bodies import Batch, check_class_count, check_rows, make_batch
from baserate.service.definitions import Holdout, Label, Options, check_classes, define
from baserate.service.problems import InvalidError, MalformedError, WrongTypeError
from baserate.service.settings import Settings

ARROW = "application/vnd.apache.arrow.stream"
ARROW_FILE = "application/vnd.apache.arrow.file"
PARQUET = "application/vnd.apache.parquet"
CSV = "text/csv"
TABLES = (ARROW, ARROW_FILE, PARQUET, CSV)
"""Content types of tables."""
LABEL, ID = "label", "id"
"""The columns of a table that are no class."""


def read_table(data: bytes, kind: str) -> Any:
    """Return a frame."""
    try:
        pl = polars()
    except ModuleNotFoundError as error:
        raise WrongTypeError(f"{kind} needs polars on the server: pip install 'baserate[service,files]'.") from error
    readers = {ARROW: pl.read_ipc_stream, ARROW_FILE: pl.read_ipc, PARQUET: pl.read_parquet, CSV: pl.read_csv}
    options: dict[str, Any] = {"infer_schema_length": None} if kind == CSV else {}
    try:
        with no_panic():
            return readers[kind](io.BytesIO(data), **options)
    except Exception as error:  # polars has errors of many kinds for a damaged table
        raise MalformedError(f"the body is no {kind} that can be read: {str(error).splitlines()[0]:.200}.") from error


def read_table_batch(data: bytes, kind: str, classes: list[Label], batch_id: str | None, settings: Settings) -> Batch:
    """Return a batch of a table: a column for each class, by its name, and perhaps `id` and `label`."""
    frame = read_table(data, kind)
    check_rows(frame.height, settings, "the table")
    names = _class_columns(frame.columns, classes)
    ids = frame[ID].to_list() if ID in frame.columns and ID not in names else None
    labels = _labels(frame[LABEL], classes) if LABEL in frame.columns and LABEL not in names else None
    if ids is not None and not all(name is None or type(name) in (int, str) for name in ids):
        raise InvalidError("the column id holds neither text nor whole numbers.", ID)
    return make_batch(_numbers(frame, names), labels, ids, batch_id, classes)


def read_table_stream(
    data: bytes, kind: str, classes: str | None, label: str, options: str | None, settings: Settings
) -> Holdout:
    """Return the definition of a stream from a table of its holdout.

    Parameters
    ----------
    data, kind : bytes, str
        The table and its content type.
    classes : str, optional
        The classes in the order of answers, as a list in JSON. Default: the columns, in their order.
    label : str
        The column of the labels.
    options : str, optional
        The options of the stream, in JSON.
    settings : Settings
    """
    frame = read_table(data, kind)
    check_rows(frame.height, settings, "the table")
    if label not in frame.columns:
        raise InvalidError(f"the table has no column {label!r:.100} of labels; name it: ?label=...", "label")
    others = [name for name in frame.columns if name not in (label, ID)]
    check_class_count(len(others), settings)
    try:
        told = Options() if options is None else msgspec.json.decode(options, type=Options)
        named = None if classes is None else msgspec.json.decode(classes, type=list[str | bool | int])
    except msgspec.DecodeError as error:
        raise InvalidError(f"{error}.", "options" if options is not None else "classes") from error
    if named is None:
        prefix = next((p for p in ("proba_", "p_") if all(name.startswith(p) for name in others)), "")
        named = [name.removeprefix(prefix) for name in others]
    check_classes(named)
    columns = _class_columns(others, named)
    return define(named, _numbers(frame, columns), _labels(frame[label], named), told)


def _labels(column: Any, classes: list[Label]) -> list[Any]:
    """Return labels as the classes are: text if those are."""
    values: list[Any] = column.to_list()
    if classes and isinstance(classes[0], str):
        return [value if value is None or type(value) is str else str(value) for value in values]
    return values


def _class_columns(columns: list[str], classes: list[Label]) -> list[str]:
    """Return the column of each class: named as it is, perhaps after ``p_`` or ``proba_``."""
    for prefix in ("", "p_", "proba_"):
        names = [f"{prefix}{name}" for name in classes]
        if all(name in columns for name in names):
            return names
    missing = [str(name) for name in classes if str(name) not in columns]
    raise InvalidError(f"the table has no column for the class {missing[0]!r:.100}.", "proba")


def _numbers(frame: Any, names: list[str]) -> FloatArray:
    rows = np.empty((frame.height, len(names)))
    for c, name in enumerate(names):
        column = frame[name]
        if not column.dtype.is_numeric():
            raise InvalidError(f"the column {name!r:.100} holds {column.dtype}; expected numbers.", name)
        if column.null_count():
            raise InvalidError(f"the column {name!r:.100} has missing values; drop these rows.", name)
        rows[:, c] = column.to_numpy()
    return rows


def write_table(proba: FloatArray | None, labels: list[Label], classes: list[Label]) -> bytes:
    """Return adapted rows as an Arrow stream: a column for each class, and the label."""
    pl = polars()
    columns = {} if proba is None else {str(name): proba[:, c] for c, name in enumerate(classes)}
    if proba is not None and LABEL not in columns:
        columns[LABEL] = labels  # type: ignore[assignment]
    sink = io.BytesIO()
    pl.DataFrame(columns).write_ipc_stream(sink)
    return sink.getvalue()
