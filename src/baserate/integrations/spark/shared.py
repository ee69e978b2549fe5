"""Bytes that all workers need, such as the fitted adapter: as a broadcast variable of Spark, not in each task."""

import pickle
from contextlib import suppress
from typing import Any


class Shared:
    """Bytes that are sent to each worker once.

    They must not be a part of the processor: Spark starts a process for each streaming query that only asks which
    states the processor has, and cannot send it a processor of more than a megabyte. There, the bytes are missing.

    Parameters
    ----------
    data : bytes
    frame : DataFrame
        A frame of the session that they are sent through. If it has no context of its own, as with Spark Connect, they
        go with each task.
    """

    def __init__(self, data: bytes, frame: Any) -> None:
        context = getattr(frame.sparkSession, "sparkContext", None)
        self._data: bytes | None = data if context is None else None
        self._sent: Any = None if context is None else context.broadcast(data)

    @property
    def value(self) -> bytes:
        """The bytes."""
        found: bytes = self._sent.value if self._data is None else self._data
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        # To pickle a broadcast variable tells Spark which ones a task needs.
        return _received, (self._data, None if self._sent is None else pickle.dumps(self._sent))


def _received(data: bytes | None, sent: bytes | None) -> Shared:
    shared = Shared.__new__(Shared)
    shared._data, shared._sent = data, None
    if sent is not None:
        with suppress(RuntimeError):  # of the process that has no broadcast variables, and needs none
            shared._sent = pickle.loads(sent)
    return shared
