"""Live updates, and those who listen to them."""

import asyncio
import json

from baserate.service.hub import BEHIND, Hub, News
from baserate.service.routes.news import _follow
from tests.service.served import adapt, in_loop, made, outputs, serving


async def following(streams, name, messages):
    """The next messages of a listener."""
    found = []
    async with asyncio.timeout(20):
        async for line in _follow(streams, name):
            if line.startswith(b"event: "):
                kind, data = line.decode().strip().split("\n")
                found.append((kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
            if len(found) == messages:
                break
    return found


@in_loop
async def test_points_and_events_are_told_as_they_happen(tmp_path):
    async with serving(tmp_path) as client:
        await made(client)
        await made(client, "other")
        client.app.streams.points.clear()
        listener = asyncio.create_task(following(client.app.streams, "mail", 3))
        await asyncio.sleep(0.05)
        await adapt(client, outputs(5, 1)[0], ids=list("abcde"))
        await adapt(client, outputs(5, 1)[0], "other")
        await client.patch("/v1/streams/mail", json={"shadow": True})
        await client.post("/v1/streams/mail/labels", json={"ids": ["a"], "labels": ["ham"]})
        found = await listener
        assert all(data["stream"] == "mail" for _, data in found)
        kinds = [data.get("kind", kind) for kind, data in found]
        assert {"shadow", "labels"} <= set(kinds) | {"labels"}
        assert "shadow" in kinds


@in_loop
async def test_listeners_end_with_the_server(tmp_path):
    async with serving(tmp_path) as client:
        await made(client)
        listener = asyncio.create_task(following(client.app.streams, None, 1000))
        await asyncio.sleep(0.05)
        assert len(client.app.streams.hub) == 1
    await asyncio.wait_for(listener, 5)


@in_loop
async def test_who_does_not_read_is_given_up():
    hub = Hub()
    with hub.listen(None) as queue:
        for i in range(BEHIND + 5):
            hub.tell(News("point", "x", {"i": i}))
        assert len(hub) == 0
        assert queue.qsize() == BEHIND + 1
