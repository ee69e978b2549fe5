"""The route that takes batches: it needs nothing of a stream but its definition, and that it takes them."""

import asyncio
import time

import numpy as np

from baserate.service._web import Request, Response, Route, msgspec
from baserate.service.answers import labels_of, tell_answer
from baserate.service.bodies import AdaptBody, Batch, check_batch_id, check_name, decode, read_batch
from baserate.service.definitions import Definition, Label
from baserate.service.entries import Answer, floats, rows_entry
from baserate.service.exchange import JSON, answer, choice, kind_of, read_body, settings_of, takers_of, wrong_type
from baserate.service.tables import ARROW, ARROW_FILE, read_table_batch, write_table
from baserate.service.taking import TakingStream, as_defined


async def adapt(request: Request) -> Response:
    """Adapt a batch, and learn from it."""
    streams, name = takers_of(request), check_name(request.path_params["name"])
    stream, kind = await streams.get(name), kind_of(request)
    mode = choice(request, "mode", ("adapt", "predict", "learn"))
    if kind not in (JSON, ARROW, ARROW_FILE):
        raise wrong_type(kind, (JSON, ARROW, ARROW_FILE))
    data = await read_body(request)

    async def read_and_ask(stream: TakingStream, definition: Definition) -> tuple[Answer, list[Label]]:
        batch = await _batch(request, kind, data, definition)
        return await ask(stream, batch, definition, mode), definition.classes

    found, classes = await as_defined(stream, streams.renewed, read_and_ask)
    if kind == JSON or request.headers.get("accept") == JSON:
        return answer(tell_answer(found, classes))
    return await asyncio.to_thread(_tell_table, found, classes)


async def ask(stream: TakingStream, batch: Batch, definition: Definition, mode: str) -> Answer:
    """Ask a stream for an answer to a batch."""
    entry = rows_entry(time.time(), batch.proba, batch.labels, batch.ids, batch.chosen)
    return await stream.take(entry, mode, definition.fingerprint, batch.batch_id)


async def _batch(request: Request, kind: str, data: bytes, definition: Definition) -> Batch:
    settings = settings_of(request)
    if kind == JSON:
        batch = read_batch(decode(data, AdaptBody), definition.classes, definition.positive, settings)
    else:
        batch = await asyncio.to_thread(read_table_batch, data, kind, definition.classes, None, settings)
    if batch.batch_id is None:
        batch.batch_id = check_batch_id(request.query_params.get("batch_id") or request.headers.get("idempotency-key"))
    return batch


def _tell_table(found: Answer, classes: list[Label]) -> Response:
    proba = None if found.proba is None else floats(found.proba, found.n, len(classes))
    labels = [] if proba is None else labels_of(proba, classes)
    headers = {
        "baserate-round": str(found.round),
        "baserate-prior": msgspec.json.encode(np.frombuffer(found.prior).tolist()).decode(),
        "baserate-flags": msgspec.json.encode(found.flags).decode(),
    }
    return Response(write_table(proba, labels, classes), headers=headers, media_type=ARROW)


ROUTES = [Route("/v1/streams/{name}/adapt", adapt, methods=["POST"])]
