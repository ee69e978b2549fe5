"""serve: the application behind a socket, and its end; the only import of uvicorn."""

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from baserate._version import __version__
from baserate.service.app import App
from baserate.service.problems import ProblemError
from baserate.service.security import is_loopback
from baserate.service.settings import Settings
from baserate.service.store import open_store
from baserate.service.warm import warm_up

try:
    import uvicorn
except ModuleNotFoundError as error:
    if error.name != "uvicorn":
        raise
    raise ModuleNotFoundError(
        "the service needs uvicorn; run: pip install 'baserate[service]'", name=error.name
    ) from error

_log = logging.getLogger("baserate.service")
GRACE = 20
"""Seconds that requests under way have when the server ends."""


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
    """

    data: Path
    store: str | None = None
    host: str = "127.0.0.1"
    port: int = 8787
    hosts: Sequence[str] = ()
    demo: bool = False
    settings: Settings = field(default_factory=Settings)


class _Server(uvicorn.Server):
    """A server of uvicorn that leaves signals to us: it would end with the signal's status instead of 0."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve(place: Place) -> None:
    """Serve until a signal comes; return when everything that was under way is finished."""
    with contextlib.suppress(ModuleNotFoundError):
        import uvloop

        uvloop.run(_serve(place))
        return
    asyncio.run(_serve(place))


async def _serve(place: Place) -> None:
    app = App(open_store(place.data, place.store), place.settings, place.hosts)
    async with app.running(load=False) as asgi:
        if not is_loopback(place.host) and not await app.keys.refresh():
            raise RefusedError(
                f"--host {place.host} can be reached from other machines, and there is no API key yet; make one first: "
                "baserate serve keys create --scope admin --data DIR"
            )
        bound = _bind(place.host, place.port)
        config = uvicorn.Config(
            asgi,
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=GRACE,
            timeout_keep_alive=30,
            h11_max_incomplete_event_size=64 * 1024,
            backlog=1024,
        )
        server = _Server(config)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, _end, server, app)
        async with _warm(app, place):
            shown = f"[{place.host}]" if ":" in place.host else place.host
            url = f"http://{shown}:{bound.getsockname()[1]}/"
            _log.info("listening on %s", url, extra={"fields": {"url": url, "version": __version__}})
            await server.serve(sockets=[bound])
    _log.info("ended")


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise RefusedError(f"--host {host} --port {port}: {error.strerror}.") from error
    bound.setblocking(False)
    return bound


def _end(server: uvicorn.Server, app: App) -> None:
    _log.info("ending")
    app.streams.ending = True
    app.streams.hub.close()
    server.should_exit = True


@asynccontextmanager
async def _warm(app: App, place: Place) -> AsyncIterator[None]:
    """Load and compile beside the server, which says that it is not ready until then; and feed the demo."""

    async def begin() -> None:
        try:
            await asyncio.to_thread(warm_up)
            await app.streams.start()
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
