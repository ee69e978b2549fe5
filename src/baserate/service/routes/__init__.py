"""Routes: what the server does for each path. They read a request, ask a stream, and tell its answer."""

from baserate.service._web import Route
from baserate.service.routes import dashboard, health, inference, news, streams

ROUTES: list[Route] = [*streams.ROUTES, *health.ROUTES, *news.ROUTES, *inference.ROUTES, *dashboard.ROUTES]
"""All routes, the more special and the busier ones first: they are tried in this order."""
