"""The front: the process that speaks HTTP, reads bodies and writes answers; the other one has time for streams.

It keeps nothing. Batches go over the link as rows of doubles, everything else as it came. When the link breaks, it
ends.
"""

import asyncio
import gc
import os
import signal
import socket
import sys
from typing import Any

from baserate.service._web import (
    Message,
    Receive,
    Request,
    Response,
    Route,
    Scope,
    Send,
    Starlette,
    msgspec,
)
from baserate.service.definitions import Definition
from baserate.service.entries import Answer, Rows, pack
from baserate.service.exchange import read_body
from baserate.service.keys import Keys
from baserate.service.link import Calls, Link, heard_problem
from baserate.service.logs import set_up_logs
from baserate.service.metrics import Meter, RequestMetrics
from baserate.service.problems import NotKnownError, RenewedError
from baserate.service.refusing import HANDLERS
from baserate.service.routes import batches, inference
from baserate.service.security import Gatekeeper
from baserate.service.settings import Settings
from baserate.service.sockets import WebServer, run
from baserate.service.store.protocol import StoredKey


class Briefing(msgspec.Struct):
    """The words with which a front is started."""

    settings: Settings
    hosts: tuple[str, ...]
    log_level: str


class Front:
    """State of the front, and its end of the link."""

    def __init__(self, briefing: Briefing) -> None:
        self.calls = Calls()
        self.link = Link(self._hear, self._end)
        self.begun, self.ended, self.over = asyncio.Event(), asyncio.Event(), False
        self._parts: dict[int, asyncio.Queue[list[Any]]] = {}
        self._number = 0
        settings, metrics = briefing.settings, RequestMetrics()
        self.metrics = metrics
        routes = [*batches.ROUTES, *_INFER, Route("/metrics", _tell_metrics, methods=["GET"])]
        inner = Starlette(routes=[*routes, Route("/{path:path}", _Others(self))], exception_handlers=HANDLERS)
        inner.state.streams, inner.state.settings, inner.state.front = _Streams(self, settings), settings, self
        gatekeeper = Gatekeeper(inner, Keys(_KeyStore(self), settings.session_seconds), settings, briefing.hosts)
        self.asgi = Meter(gatekeeper, metrics)

    def _hear(self, frame: list[Any]) -> None:
        kind, number, *rest = frame
        if kind == "answer":
            self.calls.answer(number, rest[0])
        elif kind == "refuse":
            self.calls.refuse(number, heard_problem(*rest))
        elif kind in ("start", "body", "over"):
            if number in self._parts:
                self._parts[number].put_nowait([kind, *rest])
        elif kind == "go":
            self.begun.set()
        else:
            self.ended.set()

    def _end(self) -> None:
        if not self.over:
            os._exit(1)  # the other process was killed: there is nothing to finish, and the next one needs the port

    def call(self, what: str, *rest: Any) -> "asyncio.Future[Any]":
        """Ask the other process."""
        number, done = self.calls.begin()
        self.link.say(what, number, *rest)
        return done

    async def pass_on(self, scope: Scope, receive: Receive, send: Send, body: bytes) -> None:
        """Let the other process answer a request."""
        self._number += 1
        number, parts = self._number, asyncio.Queue[list[Any]]()
        self._parts[number] = parts
        kept = {name: scope[name] for name in ("method", "path", "query_string", "headers", "scheme", "http_version")}
        kept |= {"client": scope.get("client"), "server": scope.get("server"), "root_path": ""}
        self.link.say("request", number, kept, tuple(scope["caller"]), body)
        leaving = asyncio.create_task(self._watch(number, receive))
        try:
            while (part := await parts.get())[0] != "over":
                message: Message = {"type": "http.response.start", "status": part[1], "headers": part[-1]}
                if part[0] == "body":
                    message = {"type": "http.response.body", "body": part[1], "more_body": part[2]}
                await send(message)
                if part[0] == "body" and part[2]:
                    self.link.say("more", number)
        finally:
            del self._parts[number]
            leaving.cancel()

    async def _watch(self, number: int, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.link.say("gone", number)


class _Others:
    """Every request that is no batch."""

    def __init__(self, front: Front) -> None:
        self._front = front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        if scope["method"] not in ("GET", "HEAD", "OPTIONS"):
            body = await read_body(Request(scope, receive))
        await self._front.pass_on(scope, receive, send, body)


async def _tell_metrics(request: Request) -> Response:
    front: Front = request.app.state.front
    own, kind = front.metrics.text()
    return Response(own + await front.call("metrics"), media_type=kind)


_INFER = [route for route in inference.ROUTES if route.path.endswith("/infer")]


class _Stream:
    """A stream in the other process."""

    def __init__(self, streams: "_Streams", name: str, definition: Definition) -> None:
        self.name, self.definition, self._streams = name, definition, streams

    async def take(self, rows: Rows, mode: str, meant: str, batch_id: str | None) -> Answer:
        """Answer a batch: see `TakingStream`."""
        try:
            told = await self._streams.front.call("take", self.name, mode, meant, batch_id, pack(rows))
        except (NotKnownError, RenewedError):
            self._streams.forget(self.name)
            raise
        return Answer(*told)


class _Streams:
    """The streams of the other process, as far as they take batches: their definitions are remembered."""

    def __init__(self, front: Front, settings: Settings) -> None:
        self.front, self._at_most = front, settings.max_streams
        self._known: dict[str, _Stream] = {}

    async def get(self, name: str) -> _Stream:
        """Return a stream."""
        found = self._known.get(name)
        if found is None:
            told = await self.front.call("definition", name)
            found = _Stream(self, name, msgspec.convert(told, Definition))
            if len(self._known) >= self._at_most:
                self._known.clear()
            self._known[name] = found
        return found

    async def renewed(self, name: str) -> _Stream:
        """Return a stream with the definition that it has now."""
        self.forget(name)
        return await self.get(name)

    def forget(self, name: str) -> None:
        """Ask for the definition anew the next time."""
        self._known.pop(name, None)


class _KeyStore:
    """The API keys of the other process."""

    def __init__(self, front: Front) -> None:
        self._front = front

    async def keys(self) -> list[StoredKey]:
        """Return all API keys."""
        return [StoredKey(*key) for key in await self._front.call("keys")]

    async def secret(self) -> bytes:
        """Return the secret that signs logins."""
        found: bytes = await self._front.call("secret")
        return found


async def _run(link: socket.socket, bound: socket.socket, briefing: Briefing) -> None:
    loop, front = asyncio.get_running_loop(), Front(briefing)
    for number in (signal.SIGTERM, signal.SIGINT):  # the other process says when to end
        loop.add_signal_handler(number, int)
    await loop.create_connection(lambda: front.link, sock=link)
    await front.begun.wait()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    server = WebServer(front.asgi)
    serving = asyncio.create_task(server.serve(sockets=[bound]))
    ended = asyncio.create_task(front.ended.wait())
    await asyncio.wait([serving, ended], return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    await serving  # raises what ended it, if the other process did not
    front.over = True
    front.link.close()
    await asyncio.sleep(0)


def main() -> None:
    """Serve: the link and the socket to listen on are open files, whose numbers are given, and so is the briefing."""
    link, bound, told = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    briefing = msgspec.json.decode(told, type=Briefing)
    set_up_logs(briefing.log_level)
    work = _run(socket.socket(fileno=link), socket.socket(fileno=bound), briefing)
    run(work)


if __name__ == "__main__":
    main()
