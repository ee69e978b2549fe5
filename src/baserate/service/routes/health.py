"""Routes that tell whether the server is alive, whether it is ready, and its metrics."""

from baserate._version import __version__
from baserate.service._web import Request, Response, Route
from baserate.service.exchange import answer, streams_of
from baserate.service.openapi import openapi
from baserate.service.problems import ProblemError


async def alive(_: Request) -> Response:
    """The process answers."""
    return answer({"alive": True, "version": __version__})


async def ready(request: Request) -> Response:
    """The store can be reached, all streams are loaded, and the code is compiled."""
    state = request.app.state
    if not state.ready or streams_of(request).ending:
        return answer({"ready": False, "reason": "starting" if not state.ready else "ending"}, 503)
    try:
        await streams_of(request).store.ping()
    except ProblemError as problem:
        return answer({"ready": False, "reason": str(problem)}, 503)
    return answer({"ready": True, "streams": len(streams_of(request))})


async def metrics(request: Request) -> Response:
    """Metrics for Prometheus."""
    requests, streams = request.app.state.metrics
    text, kind = requests.text()
    return Response(text + streams.text(), media_type=kind)


async def described(_: Request) -> Response:
    """The API, as OpenAPI 3.1."""
    return answer(openapi())


ROUTES = [
    Route("/healthz", alive, methods=["GET"]),
    Route("/readyz", ready, methods=["GET"]),
    Route("/metrics", metrics, methods=["GET"]),
    Route("/openapi.json", described, methods=["GET"]),
    Route("/v2/health/live", alive, methods=["GET"]),
    Route("/v2/health/ready", ready, methods=["GET"]),
]
