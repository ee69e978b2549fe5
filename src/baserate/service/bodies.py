"""Bodies of requests: what JSON may hold, decoded strictly, and turned into arrays."""

import re
from typing import Any, TypeVar

import numpy as np

from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.service._web import msgspec
from baserate.service.definitions import Holdout, Label, Options, check_classes, define, to_columns
from baserate.service.problems import InvalidError, MalformedError, TooLargeError
from baserate.service.settings import Settings

T = TypeVar("T")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
LONGEST = 200
"""Characters of an id."""
NAME_PATTERN = f"^{_NAME.pattern}$"


class HoldoutBody(msgspec.Struct, forbid_unknown_fields=True):
    """The model's probabilities (or scores of the positive class) on labelled samples, and their labels."""

    labels: list[str | bool | int]
    proba: list[list[float]] | None = None
    scores: list[float] | None = None
    positive: str | bool | int | None = None


class StreamBody(msgspec.Struct, forbid_unknown_fields=True):
    """A stream: its classes in the order of the columns, its holdout, and its options."""

    classes: list[str | bool | int]
    holdout: HoldoutBody
    options: Options = msgspec.field(default_factory=Options)


class AdaptBody(msgspec.Struct, forbid_unknown_fields=True):
    """A batch: rows of probabilities (or scores of the positive class); ids, labels and a batch id if there are any."""

    proba: list[list[float]] | None = None
    ids: list[str | int | None] | None = None
    labels: list[str | bool | int | None] | None = None
    batch_id: str | None = None
    scores: list[float] | None = None
    positive: str | bool | int | None = None
    y_probability: float | list[float | None] | None = None


class LabelsBody(msgspec.Struct, forbid_unknown_fields=True):
    """Labels of samples of earlier batches, by their ids; and how probably each was chosen, if that is known."""

    ids: list[str | int]
    labels: list[str | bool | int | None]
    y_probability: float | list[float | None] | None = None


class ChangeBody(msgspec.Struct, forbid_unknown_fields=True):
    """The part of a stream that can be changed at any time."""

    shadow: bool


class LoginBody(msgspec.Struct, forbid_unknown_fields=True):
    """An API key, to be exchanged for a cookie."""

    key: str


class Batch(msgspec.Struct):
    """A batch as arrays."""

    proba: FloatArray
    labels: IntArray | None
    ids: list[str | None] | None
    batch_id: str | None
    chosen: FloatArray | None = None


def decode(data: bytes, kind: type[T]) -> T:
    """Decode JSON strictly."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        raise InvalidError(f"{error}.", _field_of(str(error))) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedError(f"the body is not JSON that can be read: {error}.") from error


def _field_of(message: str) -> str:
    found = re.search(r"`\$\.?([^`]*)`$", message) or re.search(r"field `([^`]*)`", message)
    return found[1] if found else ""


def check_name(name: str) -> str:
    """Check the name of a stream."""
    if not _NAME.fullmatch(name):
        raise InvalidError(
            "a stream's name has 1 to 100 letters, digits, dots, underscores and hyphens, and begins with a letter or "
            "a digit.",
            "name",
        )
    return name


def check_batch_id(batch_id: str | None) -> str | None:
    """Check a batch id."""
    if batch_id is None:
        return None
    if not 1 <= len(batch_id) <= LONGEST or not batch_id.isprintable():
        raise InvalidError(f"batch_id has 1 to {LONGEST} printable characters.", "batch_id")
    return batch_id


def read_stream(body: StreamBody, settings: Settings) -> Holdout:
    """Return a definition of a stream."""
    check_class_count(len(body.classes), settings)
    check_classes(body.classes)
    held = body.holdout
    positive = _positive(held.positive, body.classes, 1, "holdout.positive")
    proba = _rows(held.proba, held.scores, positive, body.classes, settings, "holdout.")
    return define(body.classes, proba, list(held.labels), body.options, positive)


def check_class_count(n: int, settings: Settings) -> None:
    """Refuse too many classes."""
    if n > settings.max_classes:
        raise TooLargeError(f"classes has {n:,} entries; this server allows {settings.max_classes:,}.", "classes")


def read_batch(body: AdaptBody, classes: list[Label], positive: int, settings: Settings) -> Batch:
    """Return a batch as arrays."""
    positive = _positive(body.positive, classes, positive, "positive")
    proba = _rows(body.proba, body.scores, positive, classes, settings, "")
    batch = make_batch(proba, body.labels, body.ids, body.batch_id, classes)
    batch.chosen = read_chosen(body.y_probability, batch.labels)
    return batch


def make_batch(
    proba: FloatArray, labels: list[Any] | None, ids: list[Any] | None, batch_id: str | None, classes: list[Label]
) -> Batch:
    """Return a batch whose labels and ids are checked."""
    columns = None if labels is None else to_columns(labels, classes, "labels")
    names = None if ids is None else as_ids(ids)
    for field, values in (("labels", columns), ("ids", names)):
        if values is not None and len(values) != len(proba):
            raise InvalidError(f"{field} has {len(values)} entries; expected {len(proba)}, one for each row.", field)
    return Batch(proba, columns, names, check_batch_id(batch_id))


def as_ids(ids: list[Any]) -> list[str | None]:
    """Return ids as text: a whole number is the same as its digits."""
    found: list[str | None] = []
    for i, name in enumerate(ids):
        if name is not None and type(name) is not str:
            if abs(name) >= 1 << 63:
                raise InvalidError(f"ids[{i}] is a number beyond 64 bits; give it as text.", "ids")
            name = str(name)
        if name is not None and not 1 <= len(name) <= LONGEST:
            raise InvalidError(f"ids[{i}] has {len(name)} characters; expected 1 to {LONGEST}.", "ids")
        found.append(name)
    return found


def read_chosen(given: float | list[float | None] | None, labels: IntArray | None) -> FloatArray | None:
    """Return the probability with which each label was chosen; 1 where there is no label."""
    if given is None:
        return None
    field = "y_probability"
    if labels is None:
        raise InvalidError("y_probability is given without labels; it says how probably each was chosen.", field)
    told = given if isinstance(given, list) else [given] * len(labels)
    if len(told) != len(labels):
        raise InvalidError(f"y_probability has {len(told)} entries; expected {len(labels)}, one for each label.", field)
    chosen = np.array([np.nan if value is None else value for value in told], dtype=np.float64)
    chosen[labels == UNLABELLED] = 1.0
    outside = ~((chosen > 0.0) & (chosen <= 1.0))
    if outside.any():
        i = int(outside.argmax())
        raise InvalidError(
            f"y_probability[{i}] is {told[i]}; expected the probability with which the sample was chosen for a label, "
            "above 0 and at most 1.",
            field,
        )
    return chosen


def read_labels(
    body: LabelsBody, classes: list[Label], settings: Settings
) -> tuple[list[str], IntArray, FloatArray | None]:
    """Return ids, the columns of their labels, and how probably each was chosen."""
    if len(body.ids) != len(body.labels):
        raise InvalidError(
            f"ids has {len(body.ids)} entries and labels has {len(body.labels)}; give a label for each id.", "labels"
        )
    check_rows(len(body.ids), settings, "ids")
    names = [name for name in as_ids(body.ids) if name is not None]
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise InvalidError(f"ids holds {twice!r:.100} twice; give each once.", "ids")
    columns = to_columns(body.labels, classes, "labels")
    return names, columns, read_chosen(body.y_probability, columns)


def check_rows(n: int, settings: Settings, field: str) -> None:
    """Refuse too many rows."""
    if n > settings.max_rows:
        raise TooLargeError(f"{field} has {n:,} rows; this server allows {settings.max_rows:,} a request.", field)


def _positive(given: Label | None, classes: list[Label], default: int, field: str) -> int:
    if given is None:
        return default
    return int(to_columns([given], classes, field)[0])


def _rows(
    proba: list[list[float]] | None,
    scores: list[float] | None,
    positive: int,
    classes: list[Label],
    settings: Settings,
    where: str,
) -> FloatArray:
    """Return rows of probabilities, from themselves or from scores of one class of two."""
    if (proba is None) == (scores is None):
        raise InvalidError(f"give {where}proba, or {where}scores for a binary model: one of the two.", f"{where}proba")
    k = len(classes)
    if scores is not None:
        check_rows(len(scores), settings, f"{where}scores")
        return from_scores(np.array(scores, dtype=np.float64), positive, k, f"{where}scores")
    assert proba is not None
    check_rows(len(proba), settings, f"{where}proba")
    if not proba:
        return np.empty((0, k))
    try:
        rows = np.array(proba, dtype=np.float64)
    except ValueError:
        widths = {len(row) for row in proba}
        raise InvalidError(
            f"{where}proba has rows of {min(widths)} to {max(widths)} numbers; give {k} in each.", f"{where}proba"
        ) from None
    if rows.ndim != 2 or rows.shape[1] != k:
        raise InvalidError(
            f"{where}proba has {rows.shape[-1]} columns; expected {k}, one for each class.", f"{where}proba"
        )
    return rows


def from_scores(scores: FloatArray, positive: int, k: int, field: str) -> FloatArray:
    """Return both columns of a binary model that gives one score."""
    if k != 2:
        raise InvalidError(f"{field} is for models with 2 classes, here are {k}; give proba.", field)
    outside = ~((scores >= 0.0) & (scores <= 1.0))
    if outside.any():
        i = int(outside.argmax())
        raise InvalidError(
            f"{field}[{i}] is {scores[i]:.6g}; expected a probability from 0 to 1. Give the sigmoid of logits.", field
        )
    rows = np.empty((len(scores), 2))
    rows[:, positive], rows[:, 1 - positive] = scores, 1.0 - scores
    return rows
