"""Entries of a stream's log: everything that moves its state, as bytes that give the same bits when made again."""

from typing import Any

import numpy as np

from baserate.protocols import FloatArray, IntArray
from baserate.service._web import msgspec


class Rows(msgspec.Struct, array_like=True, tag="rows"):
    """A batch that is learned from.

    Attributes
    ----------
    at : float
        When it came, in seconds since 1970.
    n, proba : int, bytes
        The number of rows, and the rows as doubles.
    labels : bytes or None
        The columns of the labels, -1 where there is none.
    ids : list or None
        The id of each row, None where it has none.
    chosen : bytes or None
        The probability with which each labelled row was chosen, as doubles; None: alike for all.
    """

    at: float
    n: int
    proba: bytes
    labels: bytes | None = None
    ids: list[str | None] | None = None
    chosen: bytes | None = None


class Labels(msgspec.Struct, array_like=True, tag="labels"):
    """Labels that came late."""

    at: float
    ids: list[str]
    labels: bytes
    chosen: bytes | None = None


class Shadow(msgspec.Struct, array_like=True, tag="shadow"):
    """Shadow mode, switched on or off."""

    at: float
    on: bool


class Forgotten(msgspec.Struct, array_like=True, tag="forgotten"):
    """Ids of samples that were deleted."""

    at: float
    ids: list[str]


Entry = Rows | Labels | Shadow | Forgotten

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Entry)


def pack(entry: Entry) -> bytes:
    """Return an entry as bytes."""
    return _encoder.encode(entry)


def unpack(data: bytes) -> Entry:
    """Return an entry from its bytes."""
    found: Entry = _decoder.decode(data)
    return found


def rows_entry(
    at: float,
    proba: FloatArray,
    labels: IntArray | None = None,
    ids: list[str | None] | None = None,
    chosen: FloatArray | None = None,
) -> Rows:
    """Return the entry of a batch."""
    told = None if labels is None else labels.tobytes()
    return Rows(at, len(proba), proba.tobytes(), told, ids, None if chosen is None else chosen.tobytes())


def floats(data: bytes, *shape: int) -> FloatArray:
    """Return doubles from their bytes, in an array that may be written to."""
    return np.frombuffer(data, dtype=np.float64).reshape(shape).copy()


def integers(data: bytes) -> IntArray:
    """Return whole numbers from their bytes."""
    return np.frombuffer(data, dtype=np.int64).copy()


class Answer(msgspec.Struct, array_like=True):
    """An answer to a batch, as it is kept for a retry.

    Attributes
    ----------
    proba : bytes or None
        The adapted rows as doubles; None where only learning was asked for.
    n : int
    prior : bytes
    round : int
    flags : dict
    """

    proba: bytes | None
    n: int
    prior: bytes
    round: int
    flags: dict[str, bool]


_answers = msgspec.msgpack.Decoder(Answer)


def pack_answer(answer: Answer) -> bytes:
    """Return an answer as bytes."""
    return _encoder.encode(answer)


def unpack_answer(data: bytes) -> Answer:
    """Return an answer from its bytes."""
    found: Answer = _answers.decode(data)
    return found


class Event(msgspec.Struct):
    """Something that happened to a stream, for its chart.

    Attributes
    ----------
    at : float
    round : int
    kind : str
        One of created, refit, alarm, alarm_over, fallback, fallback_over, labels, shadow, shadow_over, forgotten.
    text : str
    """

    at: float
    round: int
    kind: str
    text: str

    def plain(self) -> dict[str, Any]:
        """Return the event as plain data."""
        return {"at": self.at, "round": self.round, "kind": self.kind, "text": self.text}
