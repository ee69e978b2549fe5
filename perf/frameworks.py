"""The choice of a web framework: processor time of a request that decodes a 10 x 10 batch and answers one.

``pip install fastapi litestar`` beside the extra ``service``, then ``python perf/frameworks.py``. Sockets are left
out: they are the same for all.
"""

import asyncio
import json
import time

import msgspec
import numpy as np
from fastapi import FastAPI
from litestar import Litestar, post
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

BODY = json.dumps({"proba": np.random.default_rng(0).dirichlet(np.ones(10), 10).tolist(), "batch_id": "a"}).encode()


class Strict(msgspec.Struct, forbid_unknown_fields=True):
    """A batch, for msgspec."""

    proba: list[list[float]]
    batch_id: str | None = None


class Model(BaseModel, extra="forbid"):
    """The same, for pydantic."""

    proba: list[list[float]]
    batch_id: str | None = None


def starlette():
    async def adapt(request):
        batch = msgspec.json.decode(await request.body(), type=Strict)
        return Response(msgspec.json.encode({"proba": batch.proba}), media_type="application/json")

    return Starlette(routes=[Route("/adapt", adapt, methods=["POST"])])


def fastapi():
    app = FastAPI()

    @app.post("/adapt")
    async def adapt(batch: Model) -> dict[str, list[list[float]]]:
        return {"proba": batch.proba}

    return app


def litestar():
    @post("/adapt")
    async def adapt(data: Strict) -> dict[str, list[list[float]]]:
        return {"proba": data.proba}

    return Litestar([adapt])


async def call(app):
    sent = [{"type": "http.request", "body": BODY, "more_body": False}]
    told = []

    async def receive():
        return sent.pop() if sent else {"type": "http.disconnect"}

    async def send(message):
        told.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))]
    scope = {
        "type": "http", "method": "POST", "path": "/adapt", "raw_path": b"/adapt", "query_string": b"",
        "headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "scheme": "http",
        "http_version": "1.1", "root_path": "", "asgi": {"version": "3.0"}, "extensions": {},
    }  # fmt: skip
    await app(scope, receive, send)
    assert told[0]["status"] in (200, 201), told


async def main(rounds=5, calls=2000):
    apps = {"starlette + msgspec": starlette(), "litestar": litestar(), "fastapi": fastapi()}
    times = {name: [] for name in apps}
    for _ in range(rounds):
        for name, app in apps.items():
            begun = time.process_time()
            for _ in range(calls):
                await call(app)
            times[name].append((time.process_time() - begun) / calls * 1e6)
    for name, found in times.items():
        print(f"{name}: {min(found):.0f} to {max(found):.0f} microseconds a request")


if __name__ == "__main__":
    asyncio.run(main())
