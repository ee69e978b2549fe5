"""The clients, against the application."""

import asyncio

import httpx
import numpy as np
import pytest

import baserate.service
from baserate.service.client import ServiceError, _may_repeat
from tests.service.served import CLASSES, HELD, HELD_Y, in_loop, named, outputs, serving

BATCH = outputs(5, 1)[0]


@in_loop
async def test_the_async_client(tmp_path):
    async with (
        serving(tmp_path) as http,
        baserate.service.AsyncClient("http://localhost:8787", transport=http._transport) as client,
    ):
        told = await client.put("mail", CLASSES, HELD, named(HELD_Y), options={"max_waiting": 50})
        assert told["options"] == {"max_waiting": 50}
        answer = await client.adapt("mail", BATCH, ids=np.arange(5), batch_id="a")
        assert answer["proba"].shape == (5, 3)
        again = await client.adapt("mail", BATCH, ids=np.arange(5), batch_id="a")
        np.testing.assert_array_equal(again["proba"], answer["proba"])
        assert await client.labels("mail", [0, 1], ["ham", "spam"]) == 2
        assert await client.forget("mail", "2") == 1
        assert (await client.shadow("mail", True))["shadow"] is True
        assert [stream["name"] for stream in await client.streams()] == ["mail"]
        assert (await client.history("mail"))["classes"] == CLASSES
        with pytest.raises(ServiceError, match="sums to") as refused:
            await client.adapt("mail", BATCH * 2.0)
        assert (refused.value.status, refused.value.field) == (422, "proba")
        await client.delete("mail")
        with pytest.raises(ServiceError, match="no stream"):
            await client.stream("mail")


class _Flaky(httpx.BaseTransport):
    """Fails in several ways before it answers."""

    def __init__(self, *ways):
        self.ways, self.requests = list(ways), []

    def handle_request(self, request):
        self.requests.append(request)
        way = self.ways.pop(0)
        if way == "gone":
            raise httpx.ConnectError("gone")
        return httpx.Response(way, json={"error": "x"} if way >= 400 else {"found": 1, "prior": [1.0], "round": 1})


def test_what_may_be_repeated_is(monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    transport = _Flaky("gone", 503, 200)
    with baserate.service.Client("http://x", "br_key", transport=transport) as client:
        assert client.adapt("mail", BATCH, batch_id="a")["round"] == 1
    assert len(transport.requests) == 3
    assert len({request.content for request in transport.requests}) == 1
    assert transport.requests[0].headers["authorization"] == "Bearer br_key"
    transport = _Flaky("gone")
    with baserate.service.Client("http://x", transport=transport) as client, pytest.raises(httpx.ConnectError):
        client.adapt("mail", BATCH)
    transport = _Flaky(503, 503, 503, 503)
    with baserate.service.Client("http://x", transport=transport) as client, pytest.raises(ServiceError):
        client.stream("mail")


def test_a_batch_may_be_repeated_by_its_id_only():
    with_id = httpx.Request("POST", "http://x", json={"proba": [], "batch_id": "a"})
    assert _may_repeat(with_id)
    assert not _may_repeat(httpx.Request("POST", "http://x", json={"proba": []}))


def test_both_clients_have_the_same_methods():
    assert asyncio.iscoroutinefunction(baserate.service.AsyncClient._run)
    public = {name for name in dir(baserate.service.Client) if not name.startswith("_")}
    assert public == {name for name in dir(baserate.service.AsyncClient) if not name.startswith("_")}
