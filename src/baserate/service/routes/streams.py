"""The routes of /v1/streams."""

import asyncio
import time

import numpy as np

from baserate.service._web import Request, Response, Route, msgspec
from baserate.service.bodies import (
    AdaptBody,
    Batch,
    ChangeBody,
    LabelsBody,
    StreamBody,
    as_ids,
    check_batch_id,
    check_name,
    decode,
    read_batch,
    read_labels,
    read_stream,
)
from baserate.service.entries import Answer, Forgotten, Labels, Shadow, floats, rows_entry
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
)
from baserate.service.points import thin, unpack_point
from baserate.service.problems import RenewedError, WrongTypeError
from baserate.service.readings import labels_of, tell_answer, tell_stream, tell_summary
from baserate.service.running import LARGE, RunningStream
from baserate.service.state import StreamState
from baserate.service.tables import ARROW, ARROW_FILE, TABLES, read_table_batch, read_table_stream, write_table


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
        raise _wrong_type(kind, (JSON, *TABLES))
    streams = streams_of(request)
    made = await streams.put(name, holdout, refit=refit)
    return answer(tell_stream(await streams.get(name)), 201 if made else 200)


def _wrong_type(kind: str, allowed: tuple[str, ...]) -> WrongTypeError:
    return WrongTypeError(f"the content type is {kind or 'missing'!r:.100}; send one of: {', '.join(allowed)}.")


async def get(request: Request) -> Response:
    """Everything that a stream says about itself."""
    stream = await _stream(request)
    await stream.catch_up()
    return answer(tell_stream(stream))


async def _stream(request: Request) -> RunningStream:
    return await streams_of(request).get(check_name(request.path_params["name"]))


async def patch(request: Request) -> Response:
    """Switch shadow mode."""
    stream = await _stream(request)
    body = decode(await read_json(request), ChangeBody)
    await stream.learn(Shadow(time.time(), body.shadow))
    return answer(tell_stream(stream))


async def delete(request: Request) -> Response:
    """Delete a stream."""
    await streams_of(request).delete(check_name(request.path_params["name"]))
    return Response(status_code=204)


async def adapt(request: Request) -> Response:
    """Adapt a batch, and learn from it."""
    stream, kind = await _stream(request), kind_of(request)
    mode = choice(request, "mode", ("adapt", "predict", "learn"))
    if kind not in (JSON, ARROW, ARROW_FILE):
        raise _wrong_type(kind, (JSON, ARROW, ARROW_FILE))
    data = await read_body(request)
    for last in (False, True):
        state = stream.state
        try:
            found = await ask(stream, await _batch(request, kind, data, state), state, mode)
            break
        except RenewedError:  # somebody defined the stream anew in between: read the body with its new classes
            if last:
                raise
    return _tell(found, state, in_arrow=kind != JSON and request.headers.get("accept") != JSON)


async def ask(stream: RunningStream, batch: Batch, state: StreamState, mode: str) -> Answer:
    """Ask a stream for an answer to a batch."""
    if mode != "predict":
        entry = rows_entry(time.time(), batch.proba, batch.labels, batch.ids)
        meant = state.definition.fingerprint
        found: Answer = await stream.learn(entry, meant=meant, batch_id=batch.batch_id, answer=mode == "adapt")
        return found
    await stream.catch_up()
    if stream.state.definition.fingerprint != state.definition.fingerprint:
        raise RenewedError("the stream was defined anew while the request was read; send it again.")
    if len(batch.proba) >= LARGE:
        return await asyncio.to_thread(stream.state.predict, batch.proba)
    return stream.state.predict(batch.proba)


async def _batch(request: Request, kind: str, data: bytes, state: StreamState) -> Batch:
    settings, definition = settings_of(request), state.definition
    if kind == JSON:
        batch = read_batch(decode(data, AdaptBody), definition.classes, definition.positive, settings)
    else:
        batch = await asyncio.to_thread(read_table_batch, data, kind, definition.classes, None, settings)
    if batch.batch_id is None:
        batch.batch_id = check_batch_id(request.query_params.get("batch_id") or request.headers.get("idempotency-key"))
    return batch


def _tell(found: Answer, state: StreamState, *, in_arrow: bool) -> Response:
    classes = state.definition.classes
    if not in_arrow:
        return answer(tell_answer(found, classes))
    proba = None if found.proba is None else floats(found.proba, found.n, len(classes))
    labels = [] if proba is None else labels_of(proba, classes)
    headers = {
        "baserate-round": str(found.round),
        "baserate-prior": msgspec.json.encode(np.frombuffer(found.prior).tolist()).decode(),
        "baserate-flags": msgspec.json.encode(found.flags).decode(),
    }
    return Response(write_table(proba, labels, classes), headers=headers, media_type=ARROW)


async def labels(request: Request) -> Response:
    """Take in labels that come late."""
    stream = await _stream(request)
    body = decode(await read_json(request), LabelsBody)
    for last in (False, True):
        definition = stream.state.definition
        ids, columns = read_labels(body, definition.classes, settings_of(request))
        try:
            entry = Labels(time.time(), ids, columns.tobytes())
            found = await stream.learn(entry, meant=definition.fingerprint)
            break
        except RenewedError:
            if last:
                raise
    return answer({"found": found, "unknown": int((columns >= 0).sum()) - found, "waiting": len(stream.state.waiting)})


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
    k = len(stream.state.definition.classes)
    kept = thin([point for point in points if len(point.prior) == k], at_most)
    events = await store.events(stream.number, begin, 500)
    return answer(
        {
            "name": stream.name,
            "classes": stream.state.definition.classes,
            "points": [point.plain() for point in kept],
            "events": [event.plain() for event in events],
        }
    )


async def requests(request: Request) -> Response:
    """The waiting rows whose labels would say most."""
    stream = await _stream(request)
    n = whole(request, "n", 20, 1, 1_000)
    await stream.catch_up()
    return answer({"requests": await asyncio.to_thread(worth_labelling, stream.state, n)})


def worth_labelling(state: StreamState, n: int) -> list[dict[str, object]]:
    """Return the waiting rows that are worth labelling."""
    ids, rows = state.waiting.rows()
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
            "since": state.waiting.since(ids[int(i)]),
        }
        for place, i in enumerate(found.indices)
    ]


ROUTES = [
    Route("/v1/streams/{name}/adapt", adapt, methods=["POST"]),
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
