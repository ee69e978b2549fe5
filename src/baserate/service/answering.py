"""Answering: the end of the link in the process that has the streams."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from baserate.service._web import ASGIApp, Message
from baserate.service.entries import Answer, Rows, unpack
from baserate.service.keys import Caller
from baserate.service.link import Link, told_problem
from baserate.service.problems import ProblemError, UnavailableError
from baserate.service.store import Store
from baserate.service.streams import Streams

_log = logging.getLogger("baserate.service")


class Answering:
    """Answers the process that speaks HTTP: batches, other requests as they are, and what it needs to know itself.

    Parameters
    ----------
    app : ASGIApp
        Answers the requests that are not batches.
    store : Store
    streams : Streams
    metrics : callable
        Returns the metrics of the streams as text.
    lost : callable
        Called when the other process has gone.
    """

    def __init__(
        self,
        app: ASGIApp,
        store: Store,
        streams: Streams,
        metrics: Callable[[], bytes],
        lost: Callable[[], None],
    ) -> None:
        self._app, self._store, self._streams, self._metrics, self._lost = app, store, streams, metrics, lost
        self._requests: dict[int, _Tunnelled] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.link = Link(self._hear, self._end)

    def _hear(self, frame: list[Any]) -> None:
        kind, number, *rest = frame
        if kind == "take":
            self._take(number, *rest)
        elif kind == "request":
            self._requests[number] = request = _Tunnelled(self.link, number, *rest)
            self._begin(self._answer(number, request))
        elif kind in ("more", "gone"):
            if number in self._requests:
                self._requests[number].hear(kind)
        else:
            self._begin(self._tell(number, kind, *rest))

    def _begin(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _take(self, number: int, name: str, mode: str, meant: str, batch_id: str | None, packed: bytes) -> None:
        stream = self._streams.at_hand(name)
        if stream is None or mode == "predict":
            self._begin(self._take_slowly(number, name, mode, meant, batch_id, packed))
            return
        try:
            done = stream.learn(unpack(packed), meant=meant, batch_id=batch_id, answer=mode == "adapt", packed=packed)
        except Exception as error:  # it would break the link
            self._refuse(number, error)
            return
        done.add_done_callback(partial(self._taken, number))

    def _taken(self, number: int, done: "asyncio.Future[Answer]") -> None:
        error = done.exception()
        if error is None:
            self.link.say("answer", number, done.result())
        else:
            self._refuse(number, error)

    async def _take_slowly(
        self, number: int, name: str, mode: str, meant: str, batch_id: str | None, packed: bytes
    ) -> None:
        try:
            rows = unpack(packed)
            assert isinstance(rows, Rows)
            stream = await self._streams.get(name)
            self.link.say("answer", number, await stream.take(rows, mode, meant, batch_id))
        except Exception as error:
            self._refuse(number, error)

    def _refuse(self, number: int, error: BaseException) -> None:
        if not isinstance(error, ProblemError):
            _log.error("a request failed", exc_info=error)
            error = UnavailableError("the server failed; its log says why.")
        self.link.say("refuse", number, *told_problem(error))

    async def _tell(self, number: int, what: str, *rest: Any) -> None:
        """Tell what the other process needs to know itself."""
        try:
            found: Any
            if what == "definition":
                found = (await self._streams.renewed(rest[0])).definition
            elif what == "keys":
                found = await self._store.keys()
            elif what == "secret":
                found = await self._store.secret()
            else:
                found = self._metrics()
            self.link.say("answer", number, found)
        except Exception as error:
            self._refuse(number, error)

    async def _answer(self, number: int, request: "_Tunnelled") -> None:
        try:
            await self._app(request.scope, request.receive, request.send)
        except Exception:  # the application has logged it, and answered 500 if it still could
            _log.debug("a request failed", exc_info=True)
        finally:
            del self._requests[number]
            self.link.say("over", number)

    def _end(self) -> None:
        for request in self._requests.values():
            request.hear("gone")
        self._lost()

    async def finish(self) -> None:
        """Return when everything that was asked has been answered."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))


class _Tunnelled:
    """A request that came over the link, with its body, as an ASGI application sees it."""

    def __init__(self, link: Link, number: int, scope: dict[str, Any], caller: tuple[str, str], body: bytes) -> None:
        headers = [(name, value) for name, value in scope["headers"]]
        raw = scope["path"].encode()
        self.scope = {**scope, "headers": headers, "raw_path": raw, "caller": Caller(*caller), "type": "http"}
        self._link, self._number, self._body = link, number, body
        self._read = False
        self._gone = asyncio.Event()
        self._more = asyncio.Event()

    def hear(self, kind: str) -> None:
        """Hear that the client wants more, or has gone."""
        if kind == "gone":
            self._gone.set()
        self._more.set()

    async def receive(self) -> Message:
        """Return the body, then that the client has gone when it has."""
        if not self._read:
            self._read = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Send a part of the answer; if there will be more, wait until it is with the client: nothing piles up."""
        if message["type"] == "http.response.start":
            self._link.say("start", self._number, message["status"], list(message.get("headers", [])))
            return
        more = bool(message.get("more_body", False))
        self._more.clear()
        self._link.say("body", self._number, bytes(message.get("body", b"")), more)
        if more and not self._gone.is_set():
            await self._more.wait()
