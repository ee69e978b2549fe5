"""Points of history: a stream at a moment, small enough to keep many."""

import math
from typing import Any

import numpy as np

from baserate.service._web import msgspec
from baserate.service.state import StreamState


class Point(msgspec.Struct, array_like=True):
    """A stream at a moment.

    Attributes
    ----------
    at : float
        In seconds since 1970.
    round, rows, labels, waiting : int
        Rounds, rows and labels so far, and rows that wait for a label.
    prior, low, high : list of float
        The class mix, and its band.
    weight, evidence : float
        The part of the correction that is used; the evidence against label shift.
    alarm, shadow : bool
    accuracy : (float or None, float, float)
        The estimated accuracy and its limits.
    rate : float
        Rows a second since the point before.
    """

    at: float
    round: int
    rows: int
    labels: int
    waiting: int
    prior: list[float]
    low: list[float]
    high: list[float]
    weight: float
    evidence: float
    alarm: bool
    shadow: bool
    accuracy: tuple[float | None, float, float]
    rate: float

    def plain(self) -> dict[str, Any]:
        """Return the point as plain data."""
        found = msgspec.structs.asdict(self)
        value, low, high = self.accuracy
        found["accuracy"] = {"value": value, "low": low, "high": high}
        return found


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Point)


def pack_point(point: Point) -> bytes:
    """Return a point as bytes."""
    return _encoder.encode(point)


def unpack_point(data: bytes) -> Point:
    """Return a point from its bytes."""
    found: Point = _decoder.decode(data)
    return found


def read_point(state: StreamState, at: float, before: Point | None) -> Point:
    """Read off where a stream is. Takes two milliseconds or so, most of it for the band."""
    adapter = state.adapter
    band = adapter.prior_interval()
    accuracy = adapter.estimated_accuracy()
    rate = 0.0
    if before is not None and at > before.at:
        rate = max(0.0, (state.rows_seen - before.rows) / (at - before.at))
    return Point(
        at,
        adapter.rounds_,
        state.rows_seen,
        state.labels_seen,
        len(state.waiting),
        adapter.prior_.tolist(),
        np.clip(band[:, 0], 0.0, 1.0).tolist(),
        np.clip(band[:, 1], 0.0, 1.0).tolist(),
        finite(adapter.correction_weight_, 1.0),
        finite(adapter.assumption_evidence_, 1e308),
        adapter.assumption_alarm_,
        state.shadow,
        (None if math.isnan(accuracy.value) else float(accuracy.value), float(accuracy.low), float(accuracy.high)),
        rate,
    )


def finite(value: float, instead: float) -> float:
    """Return a number that JSON can say."""
    return float(value) if math.isfinite(value) else instead


def thin(points: list[Point], at_most: int) -> list[Point]:
    """Return at most so many points, evenly spread, the first and the last among them."""
    if len(points) <= at_most:
        return points
    if at_most == 1:
        return points[-1:]
    places = np.unique(np.linspace(0, len(points) - 1, at_most).round().astype(int))
    return [points[i] for i in places]
