"""WebServer: the settings with which sockets are served; the only import of uvicorn."""

import asyncio
import contextlib
import socket
from collections.abc import Coroutine, Iterator
from typing import Any

from baserate.service._web import ASGIApp

try:
    import uvicorn
except ModuleNotFoundError as error:
    if error.name != "uvicorn":
        raise
    raise ModuleNotFoundError(
        "the service needs uvicorn; run: pip install 'baserate[service]'", name=error.name
    ) from error

GRACE = 20
"""Seconds that requests under way have when the server ends."""
BACKLOG = 1024
"""Connections that may wait to be taken."""


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end, in uvloop where that is installed."""
    with contextlib.suppress(ModuleNotFoundError):
        import uvloop

        uvloop.run(work)
        return
    asyncio.run(work)


class WebServer(uvicorn.Server):
    """A server of uvicorn that leaves signals to us: it would end with the signal's status instead of 0."""

    def __init__(self, asgi: ASGIApp) -> None:
        super().__init__(
            uvicorn.Config(
                asgi,
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                date_header=False,
                timeout_graceful_shutdown=GRACE,
                timeout_keep_alive=30,
                h11_max_incomplete_event_size=64 * 1024,
                backlog=BACKLOG,
            )
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address. Raises `OSError` if it cannot be had.

    It listens at once: two sockets may have the same address as long as neither does, and uvloop keeps silent about
    the one that comes too late.
    """
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen(BACKLOG)
    except OSError:
        bound.close()
        raise
    bound.setblocking(False)
    return bound
