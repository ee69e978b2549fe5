"""serve: the application behind a socket, in one process or two, and its end."""

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from baserate._version import __version__
from baserate.service._web import ASGIApp, msgspec
from baserate.service.answering import Answering
from baserate.service.app import App
from baserate.service.front import Briefing
from baserate.service.problems import ProblemError
from baserate.service.security import is_loopback
from baserate.service.settings import Settings
from baserate.service.sockets import GRACE, WebServer, bind, run
from baserate.service.store import open_store
from baserate.service.warm import warm_up

_log = logging.getLogger("baserate.service")


class RefusedError(Exception):
    """A server that must not be started like this."""


@dataclass(frozen=True)
class Place:
    """Where a server listens, and where it keeps things.

    Parameters
    ----------
    data : path
    store : str, optional
        The address of a database; None: the folder.
    host, port : str, int
        Port 0 takes any that is free.
    hosts : sequence of str
        Names under which the server may be called.
    demo : bool
        Whether to feed streams of digits.
    settings : Settings
    processes : int
        2: one process speaks HTTP, reads bodies and writes answers, the other one has the streams. 1: one does both.
    """

    data: Path
    store: str | None = None
    host: str = "127.0.0.1"
    port: int = 8787
    hosts: Sequence[str] = ()
    demo: bool = False
    settings: Settings = field(default_factory=Settings)
    processes: int = 2


def serve(place: Place) -> None:
    """Serve until a signal comes; return when everything that was under way is finished."""
    run(_serve(place))


async def _serve(place: Place) -> None:
    app = App(open_store(place.data, place.store), place.settings, place.hosts)
    async with app.running(load=False) as asgi:
        if not is_loopback(place.host) and not await app.keys.refresh():
            raise RefusedError(
                f"--host {place.host} can be reached from other machines, and there is no API key yet; make one first: "
                "baserate serve keys create --scope admin --data DIR"
            )
        try:
            bound = bind(place.host, place.port)
        except OSError as error:
            raise RefusedError(f"--host {place.host} --port {place.port}: {error.strerror}.") from error
        ending = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, _end, app, ending)
        async with _warm(app, place):
            shown = f"[{place.host}]" if ":" in place.host else place.host
            url = f"http://{shown}:{bound.getsockname()[1]}/"
            _log.info("listening on %s", url, extra={"fields": {"url": url, "version": __version__}})
            await (
                _serve_alone(asgi, bound, ending) if place.processes == 1 else _serve_behind(app, place, bound, ending)
            )
    _log.info("ended")


async def _serve_alone(asgi: ASGIApp, bound: socket.socket, ending: asyncio.Event) -> None:
    server = WebServer(asgi)
    serving = asyncio.create_task(server.serve(sockets=[bound]))
    await asyncio.wait([serving, asyncio.ensure_future(ending.wait())], return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    await serving


async def _serve_behind(app: App, place: Place, bound: socket.socket, ending: asyncio.Event) -> None:
    """Let another process speak HTTP, and answer what it asks."""
    ours, theirs = socket.socketpair()
    level = logging.getLevelName(_log.getEffectiveLevel()).lower()
    told = msgspec.json.encode(Briefing(place.settings, tuple(place.hosts), level))
    numbers = [str(theirs.fileno()), str(bound.fileno())]
    # Modules are found where this process finds them: with -m alone, they would be looked for in the working folder.
    words = [sys.executable, "-P", "-m", "baserate.service.front", *numbers, told.decode()]
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(str(Path(path).absolute()) for path in sys.path)}
    front = await asyncio.create_subprocess_exec(*words, pass_fds=[theirs.fileno(), bound.fileno()], env=where)
    theirs.close()
    bound.close()
    lost = asyncio.Event()
    answering = Answering(app.inner, app.store, app.streams, app.metrics.text, lost.set)
    loop = asyncio.get_running_loop()
    await loop.create_connection(lambda: answering.link, sock=ours)
    answering.link.say("go", 0)
    waits = [asyncio.ensure_future(event.wait()) for event in (ending, lost)]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    broken = lost.is_set() and not ending.is_set()
    answering.link.say("end", 0)
    try:
        await asyncio.wait_for(front.wait(), 2 * GRACE)
    except TimeoutError:
        front.kill()
    for wait in waits:
        wait.cancel()
    await answering.finish()
    answering.link.close()
    if broken:
        raise RefusedError("the process that speaks HTTP ended; its log says why.")


def _end(app: App, ending: asyncio.Event) -> None:
    _log.info("ending")
    app.streams.ending = True
    app.streams.hub.close()
    ending.set()


@asynccontextmanager
async def _warm(app: App, place: Place) -> AsyncIterator[None]:
    """Load and compile beside the server, which says that it is not ready until then; and feed the demo."""

    async def begin() -> None:
        try:
            await asyncio.to_thread(warm_up)
            await app.streams.start()
            # What is there by now stays: looking for garbage among it again and again would take a tenth of the time.
            gc.collect()
            gc.freeze()
            gc.set_threshold(20_000, 20, 20)
            app.ready = True
            _log.info("ready", extra={"fields": {"streams": len(app.streams)}})
            if place.demo:
                from baserate.service.demo_streams import feed

                await feed(app.streams)
        except ProblemError as problem:
            _log.error("could not start: %s", problem)
            signal.raise_signal(signal.SIGTERM)
        except Exception:
            _log.exception("could not start")
            signal.raise_signal(signal.SIGTERM)

    task = asyncio.create_task(begin())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
