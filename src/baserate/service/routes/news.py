"""Live updates as server-sent events, of one stream or of all."""

import asyncio
from collections.abc import AsyncIterator

from baserate.service._web import Request, Response, Route, StreamingResponse, msgspec
from baserate.service.bodies import check_name
from baserate.service.exchange import streams_of
from baserate.service.hub import News
from baserate.service.streams import Streams

BEAT = 15.0
"""Seconds after which a line is sent even if nothing has happened, so that nobody in between hangs up."""


async def events(request: Request) -> Response:
    """Events, as they happen."""
    streams = streams_of(request)
    name = request.path_params.get("name")
    if name is not None:
        await streams.get(check_name(name))
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(_follow(streams, name), headers=headers, media_type="text/event-stream")


async def _follow(streams: Streams, name: str | None) -> AsyncIterator[bytes]:
    with streams.hub.listen(name) as queue:
        yield b"retry: 2000\n\n"
        for stream in streams.loaded():
            point = streams.points.get(stream.name)
            if point is not None and name in (None, stream.name):
                yield _line(News("point", stream.name, point.plain()))
        while True:
            try:
                news = await asyncio.wait_for(queue.get(), BEAT)
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if news is None:
                return
            yield _line(news)


def _line(news: News) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (news.kind.encode(), msgspec.json.encode({"stream": news.stream, **news.data}))


ROUTES = [
    Route("/v1/events", events, methods=["GET"]),
    Route("/v1/streams/{name}/events", events, methods=["GET"]),
]
