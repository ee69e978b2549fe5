"""Link: frames of plain data between the two processes of a server, over a pair of sockets."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from baserate.service import problems
from baserate.service._web import msgspec
from baserate.service.problems import ProblemError

_HEAD = 4
"""Bytes of a frame's length."""
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder()


class Link(asyncio.Protocol):
    """One end of the pair. A frame is a list: its kind, then whatever belongs to it.

    What is said while the loop goes round once is written at once, so that under load many frames share a system call.

    Parameters
    ----------
    heard : callable
        Called with each frame.
    lost : callable
        Called when the other process has gone.
    """

    def __init__(self, heard: Callable[[list[Any]], None], lost: Callable[[], None]) -> None:
        self._heard, self._lost = heard, lost
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._said: list[bytes] = []
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast(asyncio.WriteTransport, transport)  # uvloop's are no subclasses of it

    def connection_lost(self, _: BaseException | None) -> None:
        """End."""
        self._transport = None
        self._lost()

    def data_received(self, data: bytes) -> None:
        """Take in what has come."""
        buffer = self._buffer
        buffer += data
        begin, end = 0, len(buffer)
        while end - begin >= _HEAD:
            until = begin + _HEAD + int.from_bytes(buffer[begin : begin + _HEAD], "little")
            if until > end:
                break
            frame = _decoder.decode(bytes(buffer[begin + _HEAD : until]))
            begin = until
            self._heard(frame)
        del buffer[:begin]

    def say(self, *frame: Any) -> None:
        """Send a frame."""
        data = _encoder.encode(frame)
        if not self._said:
            self._loop.call_soon(self._flush)
        self._said += (len(data).to_bytes(_HEAD, "little"), data)

    def _flush(self) -> None:
        said, self._said = self._said, []
        if self._transport is not None:
            self._transport.write(b"".join(said))

    def close(self) -> None:
        """Send what is left, and end."""
        self._flush()
        if self._transport is not None:
            self._transport.close()


class Calls:
    """Questions that wait for their answers, by number."""

    def __init__(self) -> None:
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._number = 0

    def begin(self) -> "tuple[int, asyncio.Future[Any]]":
        """Return a number for a question, and the future of its answer."""
        self._number += 1
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[self._number] = done
        return self._number, done

    def answer(self, number: int, result: Any) -> None:
        """Take in an answer."""
        done = self._waiting.pop(number, None)
        if done is not None and not done.done():
            done.set_result(result)

    def refuse(self, number: int, problem: ProblemError) -> None:
        """Take in that there is none."""
        done = self._waiting.pop(number, None)
        if done is not None and not done.done():
            done.set_exception(problem)


def told_problem(problem: ProblemError) -> tuple[str, str, str]:
    """Return a problem as plain data."""
    return type(problem).__name__, str(problem), problem.field


def heard_problem(kind: str, message: str, field: str) -> ProblemError:
    """Return a problem from plain data."""
    found: ProblemError = getattr(problems, kind)(message, field)
    return found
