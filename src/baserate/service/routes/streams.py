"""The routes of /v1/streams."""

import asyncio
import time

from baserate.service._web import Request, Response, Route
from baserate.service.bodies import (
    ChangeBody,
    LabelsBody,
    StreamBody,
    as_ids,
    check_name,
    decode,
    read_labels,
    read_stream,
)
from baserate.service.definitions import Definition
from baserate.service.entries import Forgotten, Labels, Shadow
from baserate.service.exchange import (
    JSON,
    answer,
    choice,
    kind_of,
    read_body,
    read_json,
    settings_of,
    streams_of,
    whole,
    wrong_type,
)
from baserate.service.points import thin, unpack_point
from baserate.service.readings import tell_stream, tell_summary
from baserate.service.running import RunningStream
from baserate.service.state import StreamState
from baserate.service.tables import TABLES, read_table_stream
from baserate.service.taking import as_defined


async def get_all(request: Request) -> Response:
    """All streams at a glance."""
    streams = streams_of(request)
    return answer({"streams": [tell_summary(one, streams.points.get(one.name)) for one in await streams.all()]})


async def put(request: Request) -> Response:
    """Make a stream, or refit it."""
    name, settings = check_name(request.path_params["name"]), settings_of(request)
    refit = choice(request, "refit", ("false", "true")) == "true"
    kind = kind_of(request)
    if kind in TABLES:
        told = request.query_params
        data = await read_body(request)
        holdout = await asyncio.to_thread(
            read_table_stream,
            data,
            kind,
            told.get("classes"),
            told.get("label", "label"),
            told.get("options"),
            settings,
        )
    elif kind == JSON:
        holdout = read_stream(decode(await read_body(request), StreamBody), settings)
    else:
        raise wrong_type(kind, (JSON, *TABLES))
    streams = streams_of(request)
    made = await streams.put(name, holdout, refit=refit)
    return answer(await (await streams.get(name)).look(tell_stream), 201 if made else 200)


async def get(request: Request) -> Response:
    """Everything that a stream says about itself."""
    stream = await _stream(request)
    await stream.catch_up()
    return answer(await stream.look(tell_stream))


async def _stream(request: Request) -> RunningStream:
    return await streams_of(request).get(check_name(request.path_params["name"]))


async def patch(request: Request) -> Response:
    """Switch shadow mode."""
    stream = await _stream(request)
    body = decode(await read_json(request), ChangeBody)
    await stream.learn(Shadow(time.time(), body.shadow))
    return answer(await stream.look(tell_stream))


async def delete(request: Request) -> Response:
    """Delete a stream."""
    await streams_of(request).delete(check_name(request.path_params["name"]))
    return Response(status_code=204)


async def labels(request: Request) -> Response:
    """Take in labels that come late."""
    stream = await _stream(request)
    body = decode(await read_json(request), LabelsBody)

    async def read_and_ask(stream: RunningStream, definition: Definition) -> dict[str, int]:
        ids, columns, chosen = read_labels(body, definition.classes, settings_of(request))
        entry = Labels(time.time(), ids, columns.tobytes(), None if chosen is None else chosen.tobytes())
        found = await stream.learn(entry, meant=definition.fingerprint)
        waiting = await stream.look(lambda stream: len(stream.state.waiting))
        return {"found": found, "unknown": int((columns >= 0).sum()) - found, "waiting": waiting}

    return answer(await as_defined(stream, streams_of(request).renewed, read_and_ask))


async def forget(request: Request) -> Response:
    """Delete the id of a sample."""
    stream = await _stream(request)
    ids = [name for name in as_ids([request.path_params["id"]]) if name is not None]
    return answer({"found": await stream.learn(Forgotten(time.time(), ids))})


async def history(request: Request) -> Response:
    """The path of a stream, thinned, and what happened on it."""
    stream = await _stream(request)
    at_most = whole(request, "points", 500, 1, 10_000)
    since = float(whole(request, "seconds", 0, 0, 999_999_999))
    begin = 0.0 if since == 0.0 else time.time() - since
    store = streams_of(request).store
    points = [unpack_point(data) for _, data in await store.history(stream.number, begin)]
    k = len(stream.definition.classes)
    kept = thin([point for point in points if len(point.prior) == k], at_most)
    events = await store.events(stream.number, begin, 500)
    return answer(
        {
            "name": stream.name,
            "classes": stream.definition.classes,
            "points": [point.plain() for point in kept],
            "events": [event.plain() for event in events],
        }
    )


async def requests(request: Request) -> Response:
    """The waiting rows whose labels would say most."""
    stream = await _stream(request)
    n = whole(request, "n", 20, 1, 1_000)
    await stream.catch_up()
    state = await stream.look(lambda stream: stream.state)
    return answer({"requests": await asyncio.to_thread(worth_labelling, state, n)})


def worth_labelling(state: StreamState, n: int) -> list[dict[str, object]]:
    """Return the waiting rows that are worth labelling."""
    ids, since, rows = state.waiting.rows()
    if not ids:
        return []
    found = state.adapter.label_requests(rows, min(n, len(ids)), state.adapter.rounds_)
    return [
        {
            "id": ids[int(i)],
            "proba": rows[int(i)].tolist(),
            "label": state.definition.classes[int(rows[int(i)].argmax())],
            "probability": float(found.probabilities[place]),
            "reason": str(found.reasons[place]),
            "since": since[int(i)],
        }
        for place, i in enumerate(found.indices)
    ]


ROUTES = [
    Route("/v1/streams", get_all, methods=["GET"]),
    Route("/v1/streams/{name}/labels", labels, methods=["POST"]),
    Route("/v1/streams/{name}/history", history, methods=["GET"]),
    Route("/v1/streams/{name}/requests", requests, methods=["GET"]),
    Route("/v1/streams/{name}/samples/{id}", forget, methods=["DELETE"]),
    Route("/v1/streams/{name}", get, methods=["GET"]),
    Route("/v1/streams/{name}", put, methods=["PUT"]),
    Route("/v1/streams/{name}", patch, methods=["PATCH"]),
    Route("/v1/streams/{name}", delete, methods=["DELETE"]),
]
