"""Answers are on disk, once; requests that were refused or failed have changed nothing."""

import asyncio
import sqlite3
import time

import numpy as np
import pytest

from baserate.service.checking import check_store
from baserate.service.entries import rows_entry
from baserate.service.problems import NotKnownError, UnavailableError
from baserate.service.store.sqlite import FILE, SqliteStore
from tests.service.served import CLASSES, adapt, body, in_loop, made, outputs, serving, state_of

BATCHES = [outputs(10, seed, [0.2, 0.7, 0.1])[0] for seed in range(1, 25)]


@pytest.mark.parametrize("round_rows", [None, 15])
@pytest.mark.parametrize("snapshot_entries", [3, 1000])
@in_loop
async def test_a_stream_goes_on_bit_for_bit_after_each_restart(tmp_path, round_rows, snapshot_entries):
    options, settings = {"round_rows": round_rows}, {"snapshot_entries": snapshot_entries}
    async with serving(tmp_path / "whole", **settings) as whole:
        await made(whole, options=options)
        for place, batch in enumerate(BATCHES):
            async with serving(tmp_path / "stopped", **settings) as stopped:
                if place == 0:
                    await made(stopped, options=options)
                answers = []
                for client in (whole, stopped):
                    ids = [f"{place}-{i}" for i in range(10)]
                    answers.append((await adapt(client, batch, ids=ids)).json())
                    late = {"ids": [f"{place // 2}-{place % 10}"], "labels": ["spam"]}
                    await client.post("/v1/streams/mail/labels", json=late)
                assert answers[0] == answers[1]
                one, other = (client.app.streams._running["mail"].state for client in (whole, stopped))
                assert _without_times(one) == _without_times(other)


def _without_times(state):
    """All of a state but the times at which rows came, which differ between two servers."""
    from baserate import dumps

    rows = {name: row for name, (_, row) in state.waiting.samples.items()}
    buffered = [(each.n, each.proba, each.labels, each.ids) for each in state._buffered]
    return dumps(state.adapter), rows, buffered, state.rows_seen, state.labels_seen


@in_loop
async def test_a_batch_id_makes_a_retry_count_once(tmp_path):
    async with serving(tmp_path) as client:
        await made(client)
        first = await adapt(client, BATCHES[0], batch_id="a", ids=list("0123456789"))
        before = state_of(client)
        again = await adapt(client, BATCHES[0], batch_id="a", ids=list("0123456789"))
        assert (again.status_code, again.json()) == (200, first.json())
        assert state_of(client) == before
        other = await adapt(client, BATCHES[1], batch_id="a")
        assert other.status_code == 409
        assert other.json()["field"] == "batch_id"
        assert (await adapt(client, BATCHES[0], batch_id="a", mode="learn")).status_code == 409
        assert state_of(client) == before
    async with serving(tmp_path) as client:
        again = await adapt(client, BATCHES[0], batch_id="a", ids=list("0123456789"))
        assert again.json() == first.json()
        assert again.json()["round"] == 1


@in_loop
async def test_retries_at_the_same_moment_count_once(tmp_path):
    async with serving(tmp_path) as client:
        await made(client)
        answers = await asyncio.gather(*[adapt(client, BATCHES[0], batch_id="a") for _ in range(20)])
        assert len({answer.text for answer in answers}) == 1
        assert (await client.get("/v1/streams/mail")).json()["round"] == 1


@in_loop
async def test_batch_ids_are_forgotten_after_the_stated_time(tmp_path):
    async with serving(tmp_path, keep_batches=100.0) as client:
        await made(client)
        await adapt(client, BATCHES[0], batch_id="a")
        await client.app.store.tidy(time.time() + 50.0, 100.0)
        assert (await adapt(client, BATCHES[0], batch_id="a")).json()["round"] == 1
        await client.app.store.tidy(time.time() + 150.0, 100.0)
        assert (await adapt(client, BATCHES[0], batch_id="a")).json()["round"] == 2


@in_loop
async def test_requests_at_the_same_moment_share_an_fsync(tmp_path):
    async with serving(tmp_path) as client:
        for name in ("a", "b", "c"):
            await made(client, name)
        before = client.app.store.commits
        answers = await asyncio.gather(*[adapt(client, BATCHES[0], "abc"[i % 3]) for i in range(60)])
        assert all(answer.status_code == 200 for answer in answers)
        assert client.app.store.commits - before <= 12
        rounds = [(await client.get(f"/v1/streams/{name}")).json()["round"] for name in "abc"]
        assert rounds == [20, 20, 20]
        assert sorted(a.json()["round"] for a in answers) == sorted(list(range(1, 21)) * 3)


@in_loop
async def test_a_commit_that_fails_counts_nothing(tmp_path, monkeypatch):
    async with serving(tmp_path) as client:
        await made(client)
        await adapt(client, BATCHES[0])
        before = state_of(client)

        def fail(self, statements):
            failed = asyncio.get_running_loop().create_future()
            failed.set_exception(UnavailableError("the disk is full"))
            return failed

        with monkeypatch.context() as broken:
            broken.setattr(SqliteStore, "write", fail)
            together = [adapt(client, BATCHES[1], batch_id="a"), adapt(client, BATCHES[2]), adapt(client, BATCHES[3])]
            for answer in await asyncio.gather(*together):  # one at once, others that wait for it
                assert answer.status_code == 503
                assert answer.headers["retry-after"] == "1"
        again = await adapt(client, BATCHES[1], batch_id="a")
        assert again.json()["round"] == 2
    async with serving(tmp_path / "other") as other:
        await made(other)
        await adapt(other, BATCHES[0])
        assert _without_times(other.app.streams._running["mail"].state)[0] in before
        answer = await adapt(other, BATCHES[1])
        assert answer.json() == again.json()


@in_loop
async def test_the_log_is_compacted(tmp_path):
    async with serving(tmp_path, snapshot_entries=5) as client:
        await made(client)
        for batch in BATCHES:
            await adapt(client, np.tile(batch, (300, 1)))  # large enough for a snapshot to pay
    with sqlite3.connect(tmp_path / FILE) as base:
        (entries,) = base.execute("SELECT COUNT(*) FROM log").fetchone()
        ((snapshot_at,),) = base.execute("SELECT snapshot_at FROM streams")
    assert entries < 12
    assert snapshot_at == len(BATCHES) - entries


@in_loop
async def test_a_folder_has_one_server(tmp_path):
    async with serving(tmp_path):
        with pytest.raises(UnavailableError, match="in use by another server"):
            await SqliteStore(tmp_path).open()


@in_loop
async def test_check_finds_what_is_damaged(tmp_path):
    async with serving(tmp_path) as client:
        await made(client)
        await made(client, "other")
        for batch in BATCHES[:4]:
            await adapt(client, batch)

    async def problems():
        store = SqliteStore(tmp_path)
        await store.open()
        try:
            return await check_store(store)
        finally:
            await store.close()

    assert await problems() == ([], 2)
    with sqlite3.connect(tmp_path / FILE) as base:
        base.execute("DELETE FROM log WHERE number = 2")
        base.execute("UPDATE streams SET snapshot = substr(snapshot, 1, 5000) WHERE name = 'other'")
    found, n = await problems()
    assert n == 2
    assert "entry 2 of its log is missing" in found[0]
    assert "'other' is damaged" in found[1]


@in_loop
async def test_a_batch_meant_for_other_classes_is_not_taken_in(tmp_path):
    async with serving(tmp_path) as client:
        stream = await made(client)
        proba, y = outputs(300, 9, k=3)
        turned = [CLASSES[2], CLASSES[0], CLASSES[1]]
        requests = [adapt(client, BATCHES[0], labels=["ham"] * 10) for _ in range(5)]
        refit = client.put("/v1/streams/mail?refit=true", json=body(proba=proba, y=y, classes=turned))
        *answers, last = await asyncio.gather(*requests, refit, *[])
        assert last.status_code == 200
        assert {answer.status_code for answer in answers} == {200}
        after = await adapt(client, BATCHES[0], labels=["ham"] * 10)
        assert after.json()["labels"] == [turned[int(row.argmax())] for row in np.array(after.json()["proba"])]
        assert stream.state.definition.classes == turned


@in_loop
async def test_a_batch_id_from_before_a_refit_is_not_answered_with_other_columns(tmp_path):
    async with serving(tmp_path) as client:
        await made(client)
        await adapt(client, BATCHES[0], batch_id="a")
        proba, y = outputs(300, 9, k=4)
        classes = [*CLASSES, "scam"]
        await client.put("/v1/streams/mail?refit=true", json=body(proba=proba, y=y, classes=classes))
        again = await adapt(client, outputs(10, 1, k=4)[0], batch_id="a")
        assert again.status_code == 409
        assert "before a refit" in again.json()["error"]


@in_loop
async def test_requests_that_meet_a_deletion_are_counted_before_it_or_not_at_all(tmp_path):
    async with serving(tmp_path) as client:
        stream = await made(client)
        requests = [adapt(client, BATCHES[0]) for _ in range(20)]
        deletion = client.delete("/v1/streams/mail")
        *answers, last = await asyncio.gather(*requests, deletion)
        assert last.status_code == 204
        assert {answer.status_code for answer in answers} <= {200, 404}
        with pytest.raises(NotKnownError):
            await stream.learn(rows_entry(0.0, BATCHES[0]))
    with sqlite3.connect(tmp_path / FILE) as base:
        assert base.execute("SELECT COUNT(*) FROM log").fetchone() == (0,)
