"""make_app: the ASGI application, put together."""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from baserate.service._web import ASGIApp, HTTPException, Request, Response, Starlette
from baserate.service.exchange import answer, refusal
from baserate.service.keys import Keys
from baserate.service.metrics import Meter, Metrics
from baserate.service.problems import ProblemError
from baserate.service.routes import ROUTES
from baserate.service.routes.dashboard import Assets
from baserate.service.security import Gatekeeper
from baserate.service.settings import Settings
from baserate.service.store import Store
from baserate.service.streams import Streams

_log = logging.getLogger("baserate.service")


class App:
    """The application: a server of streams without the sockets.

    Parameters
    ----------
    store : Store
        Not open yet.
    settings : Settings, optional
    hosts : sequence of str
        Names under which the server may be called, besides those of this machine.

    Attributes
    ----------
    streams : Streams
    ready : bool
        Whether ``/readyz`` says so; set it when everything is compiled.
    """

    def __init__(self, store: Store, settings: Settings | None = None, hosts: Sequence[str] = ()) -> None:
        self.settings = settings or Settings()
        self.store, self.streams = store, Streams(store, self.settings)
        self.keys = Keys(store, self.settings.session_seconds)
        handlers = {ProblemError: _refuse, HTTPException: _refuse_path, Exception: _fail}
        inner = Starlette(routes=list(ROUTES), exception_handlers=handlers)
        metrics = Metrics(self.streams)
        self._state = inner.state
        inner.state.streams, inner.state.settings, inner.state.keys = self.streams, self.settings, self.keys
        inner.state.metrics, inner.state.assets, inner.state.ready = metrics, Assets(), False
        self.asgi: ASGIApp = Meter(Gatekeeper(inner, self.keys, self.settings, tuple(hosts)), metrics)

    @property
    def ready(self) -> bool:
        """True if ``/readyz`` says so."""
        return bool(self._state.ready)

    @ready.setter
    def ready(self, value: bool) -> None:
        self._state.ready = value

    @asynccontextmanager
    async def running(self, *, load: bool = True) -> AsyncIterator[ASGIApp]:
        """Open the store, load the streams (or leave that to the caller), and close everything at the end."""
        await self.store.open()
        try:
            if load:
                await self.streams.start()
            try:
                yield self.asgi
            finally:
                await self.streams.stop()
        finally:
            await self.store.close()


async def _refuse(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, ProblemError)
    return refusal(problem)


async def _refuse_path(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = {404: "there is nothing at this path", 405: f"{request.method:.20} is not possible here"}
    message = said.get(error.status_code, str(error.detail))
    return answer({"error": f"{message}; see /openapi.json."}, error.status_code, dict(error.headers or {}))


async def _fail(_: Request, error: Exception) -> Response:
    _log.error("a request failed", exc_info=error)
    return answer({"error": "the server failed; its log says why."}, 500)
