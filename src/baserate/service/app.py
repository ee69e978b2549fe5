"""make_app: the ASGI application, put together."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from baserate.service._web import ASGIApp, Starlette
from baserate.service.keys import Keys
from baserate.service.metrics import Meter, RequestMetrics, StreamMetrics
from baserate.service.refusing import HANDLERS
from baserate.service.routes import batches, dashboard, health, inference, news, streams
from baserate.service.routes.dashboard import Assets
from baserate.service.security import Gatekeeper
from baserate.service.settings import Settings
from baserate.service.store import Store
from baserate.service.streams import Streams

ROUTES = [
    *batches.ROUTES, *streams.ROUTES, *health.ROUTES, *news.ROUTES, *inference.ROUTES, *dashboard.ROUTES
]  # fmt: skip
"""All routes, the more special and the busier ones first: they are tried in this order."""


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
    asgi, inner : ASGIApp
        The application, and what of it is behind the checks of keys and origins and the counting of requests.
    metrics : StreamMetrics
    ready : bool
        Whether ``/readyz`` says so; set it when everything is compiled.
    """

    def __init__(self, store: Store, settings: Settings | None = None, hosts: Sequence[str] = ()) -> None:
        self.settings = settings or Settings()
        self.store, self.streams = store, Streams(store, self.settings)
        self.keys = Keys(store, self.settings.session_seconds)
        inner = Starlette(routes=list(ROUTES), exception_handlers=HANDLERS)
        metrics, self.metrics = RequestMetrics(), StreamMetrics(self.streams)
        self._state = inner.state
        inner.state.streams, inner.state.settings, inner.state.keys = self.streams, self.settings, self.keys
        inner.state.metrics, inner.state.assets, inner.state.ready = (metrics, self.metrics), Assets(), False
        self.inner: ASGIApp = inner
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
