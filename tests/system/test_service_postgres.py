"""Several servers on one PostgreSQL, against a real server."""

import asyncio

import numpy as np
import pytest

from baserate.service.checking import check_store
from tests.service.served import adapt, made, outputs, serving

from ..proving.kills import replicas_killed
from ..proving.postgres import Postgres, programs
from ..proving.process import ServerProcess

pytest.importorskip("psycopg")
pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(programs() is None, reason="needs PostgreSQL: apt-get install postgresql"),
]


@pytest.fixture(scope="module")
def database():
    server = Postgres().create()
    yield server
    server.remove()


@pytest.fixture
def address(database):
    """An empty database."""
    import psycopg

    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    return database.url


def store(address):
    from baserate.service.store.postgres import PostgresStore

    return PostgresStore(address)


def test_two_servers_move_one_stream_without_losing_an_update(address, tmp_path):
    async def run():
        async with (
            serving(tmp_path, store=store(address), snapshot_entries=7) as one,
            serving(tmp_path, store=store(address), snapshot_entries=7) as other,
            serving(tmp_path / "alone") as alone,
        ):
            await made(one)
            batches = [outputs(10, seed)[0] for seed in range(40)]
            sent = [adapt((one, other)[i % 2], batch, batch_id=str(i)) for i, batch in enumerate(batches)]
            answers = [answer.json() for answer in await asyncio.gather(*sent)]
            order = sorted(range(40), key=lambda i: answers[i]["round"])
            assert [answers[i]["round"] for i in order] == list(range(1, 41))
            await made(alone)
            for i in order:
                assert (await adapt(alone, batches[i])).json() == answers[i]
            told = [(await client.get("/v1/streams/mail")).json() for client in (one, other, alone)]
            assert told[0]["prior"] == told[1]["prior"] == told[2]["prior"]
            again = await adapt(other, batches[0], batch_id="0")
            assert again.json() == answers[0]
            assert (await adapt(other, batches[1], batch_id="0")).status_code == 409
            await other.patch("/v1/streams/mail", json={"shadow": True})
            assert (await one.get("/v1/streams/mail")).json()["shadow"] is True
            assert (await one.delete("/v1/streams/mail")).status_code == 204
            assert (await adapt(other, batches[1])).status_code == 404
            assert (await other.get("/v1/streams")).json() == {"streams": []}

    asyncio.run(run())


def test_a_refit_by_one_server_is_seen_by_the_other(address, tmp_path):
    async def run():
        from tests.service.served import body

        async with serving(tmp_path, store=store(address)) as one, serving(tmp_path, store=store(address)) as other:
            await made(one)
            batch = outputs(10, 1)[0]
            await adapt(other, batch, labels=["ham"] * 10)
            proba, y = outputs(300, 5, k=3)
            turned = ["news", "ham", "spam"]
            assert (
                await one.put("/v1/streams/mail?refit=true", json=body(proba=proba, y=y, classes=turned))
            ).is_success
            answer = (await adapt(other, batch, labels=["ham"] * 10)).json()
            assert answer["labels"] == [turned[c] for c in np.argmax(answer["proba"], axis=1)]
            assert (await client_classes(one)) == (await client_classes(other)) == turned

    async def client_classes(client):
        return (await client.get("/v1/streams/mail")).json()["classes"]

    asyncio.run(run())


def test_killed_servers_and_a_restarted_database(database, address, tmp_path):
    first = ServerProcess(tmp_path / "one", "--store", address, "--snapshot-entries", "50")
    second = ServerProcess(tmp_path / "two", "--store", address, "--snapshot-entries", "50")
    with first, second:
        load, counted = replicas_killed([first, second], database, kills=2)
        assert counted > 50
        assert load.retried > 0
        assert first.stop() == 0
        assert second.stop() == 0

    async def problems():
        opened = store(address)
        await opened.open()
        try:
            return await check_store(opened)
        finally:
            await opened.close()

    assert asyncio.run(problems()) == ([], 3)


def test_keys_and_history_are_kept(address, tmp_path):
    async def run():
        from baserate.service.keys import create_key

        async with serving(tmp_path, store=store(address)) as client:
            await made(client)
            await adapt(client, outputs(10, 1)[0])
            client.app.streams.points.clear()
            await client.app.streams._look_around()
            told = (await client.get("/v1/streams/mail/history")).json()
            assert told["points"][-1]["rows"] == 10
            assert told["events"][0]["kind"] == "created"
            await client.app.store.tidy(1e12, 1.0)
            assert (await client.get("/v1/streams/mail/history")).json()["points"] == []
            name, secret = await create_key(client.app.store, "read")
            client.app.keys._read_at = -1e9
            headers = {"authorization": f"Bearer {secret}"}
            assert (await client.get("/v1/streams")).status_code == 401
            assert (await client.get("/v1/streams", headers=headers)).status_code == 200
            assert await client.app.store.remove_key(name)
            assert not await client.app.store.remove_key(name)

    asyncio.run(run())
