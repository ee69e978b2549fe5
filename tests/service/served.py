"""A server in this process, and what it is asked."""

import asyncio
import functools
from contextlib import asynccontextmanager

import httpx
import numpy as np

from baserate.service.app import App
from baserate.service.settings import Settings
from baserate.service.store.sqlite import SqliteStore

CLASSES = ["ham", "spam", "news"]


def outputs(n, seed, share=None, k=3):
    """Probabilities and labels of a model that is right more often than not."""
    rng = np.random.default_rng(seed)
    y = rng.choice(k, size=n, p=share)
    odds = np.exp(rng.normal(2.5 * np.eye(k)[y], 1.0))
    return odds / odds.sum(axis=1, keepdims=True), y


HELD, HELD_Y = outputs(300, 0)


def named(y):
    return [CLASSES[c] for c in y]


def body(options=None, proba=HELD, y=HELD_Y, classes=CLASSES):
    labels = [classes[c] for c in y]
    return {"classes": classes, "holdout": {"proba": proba.tolist(), "labels": labels}, "options": options or {}}


def in_loop(test):
    """Run a test that is a coroutine."""

    @functools.wraps(test)
    def run(*args, **kwargs):
        return asyncio.run(test(*args, **kwargs))

    return run


@asynccontextmanager
async def serving(folder, hosts=(), headers=None, store=None, **settings):
    """Serve a folder; yield a client, which has the application as `app`."""
    app = App(store or SqliteStore(folder), Settings(**settings), hosts)
    async with app.running() as asgi:
        app.ready = True
        transport = httpx.ASGITransport(asgi, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8787", headers=headers) as client:
            client.app = app
            yield client


async def made(client, name="mail", options=None, **given):
    """Make a stream."""
    response = await client.put(f"/v1/streams/{name}", json=body(options, **given))
    assert response.status_code == 201, response.text
    return client.app.streams._running[name]


async def adapt(client, proba, name="mail", mode=None, **more):
    return await client.post(
        f"/v1/streams/{name}/adapt", json={"proba": proba.tolist(), **more}, params={"mode": mode} if mode else None
    )


def state_of(client, name="mail"):
    """The state of a stream, as bytes."""
    return client.app.streams._running[name].state.dumps()
