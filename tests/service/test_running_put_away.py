"""Streams that nobody asks for are on disk alone, and go on as if they had never left."""

import asyncio

import pytest

from baserate.service.entries import Shadow
from baserate.service.problems import NotKnownError, UnavailableError
from baserate.service.running import WORTH_A_SNAPSHOT
from tests.service.served import adapt, in_loop, made, outputs, serving, state_of

BATCHES = [outputs(10, seed, [0.7, 0.2, 0.1])[0] for seed in range(12)]
NAMES = ["a", "b", "c", "d", "e"]


async def answers(folder, options=None, **settings):
    """The answers of five streams that take turns, and their summaries at the end."""
    async with serving(folder, **settings) as client:
        for name in NAMES:
            await made(client, name, options)
        found = []
        for i, batch in enumerate(BATCHES):
            told = await adapt(client, batch, NAMES[i % 5 if i < 8 else 0], batch_id=f"batch {i}")
            assert told.status_code == 200
            found.append(told.json())
        running = client.app.streams._running
        in_memory = [name for name in NAMES if running[name].is_read]
        summaries = (await client.get("/v1/streams")).json()["streams"]
        kept = [{k: v for k, v in one.items() if k not in ("created", "at", "rate", "accuracy")} for one in summaries]
        assert [name for name in NAMES if running[name].is_read] == in_memory  # a glance at all wakes nobody
        return found, kept, in_memory


@pytest.mark.parametrize("options", [None, {"round_rows": 25}])
@in_loop
async def test_a_stream_goes_on_as_if_it_had_stayed(tmp_path, options):
    stayed, summaries, everyone = await answers(tmp_path / "stayed", options)
    left, same, few = await answers(tmp_path / "left", options, max_loaded=2)
    assert everyone == NAMES
    assert len(few) == 2
    assert "a" in few
    assert left == stayed
    assert same == summaries


@in_loop
async def test_the_one_that_rested_longest_goes_first(tmp_path):
    async with serving(tmp_path, max_loaded=3) as client:
        for name in NAMES[:3]:
            await made(client, name)
        await adapt(client, BATCHES[0], "a")
        await made(client, "d")
        running = client.app.streams._running
        assert [name for name in NAMES[:4] if running[name].is_read] == ["a", "c", "d"]


@in_loop
async def test_after_a_restart_no_more_are_in_memory(tmp_path):
    async with serving(tmp_path) as client:
        for name in NAMES:
            await made(client, name)
            await adapt(client, BATCHES[0], name)
    async with serving(tmp_path, max_loaded=2) as client:
        running = client.app.streams._running
        assert sum(running[name].is_read for name in NAMES) == 2
        told = (await client.get("/v1/streams")).json()["streams"]
        assert [(one["name"], one["round"]) for one in told] == [(name, 1) for name in NAMES]
        text = (await client.get("/metrics")).text
        assert all(f'baserate_rounds_total{{stream="{name}"}} 1.0' in text for name in NAMES if name in
                   client.app.streams.points)  # fmt: skip


@in_loop
async def test_a_long_log_becomes_a_snapshot(tmp_path):
    async with serving(tmp_path, max_loaded=1) as client:
        stream = await made(client, "a")
        for i in range(WORTH_A_SNAPSHOT + 1):
            await adapt(client, BATCHES[i % 12], "a")
        before = state_of(client, "a")
        await made(client, "b")
        assert stream.is_away
        with pytest.raises(UnavailableError):
            _ = stream.state
        stored = await client.app.store.load("a")
        assert (stored.snapshot_at, stored.log) == (WORTH_A_SNAPSHOT + 1, [])
        await client.get("/v1/streams/a")
        assert state_of(client, "a") == before


@in_loop
async def test_many_requests_at_once_to_more_streams_than_fit(tmp_path):
    async with serving(tmp_path, max_loaded=2) as client:
        for name in NAMES:
            await made(client, name)
        told = await asyncio.gather(*[adapt(client, BATCHES[i % 12], NAMES[i % 5]) for i in range(100)])
        assert {one.status_code for one in told} == {200}
        rounds = {name: sorted(told[i].json()["round"] for i in range(100) if NAMES[i % 5] == name) for name in NAMES}
        assert rounds == {name: list(range(1, 21)) for name in NAMES}


@in_loop
async def test_nobody_sees_a_stream_before_it_is_complete(tmp_path):
    async with serving(tmp_path, max_loaded=1) as client:
        stream = await made(client, "a")
        for i in range(60):
            await adapt(client, BATCHES[i % 12], "a")
        await made(client, "b")
        assert stream.is_away
        waking, rounds = asyncio.create_task(stream.catch_up()), []
        while not waking.done():
            rounds += [client.app.streams._running[name].glance.round for name in ["a"]]
            await asyncio.sleep(0)
        assert len(rounds) > 3
        assert set(rounds) == {60}


@in_loop
async def test_what_is_read_off_a_stream_wakes_it(tmp_path):
    async with serving(tmp_path) as client:
        stream = await made(client, "a")
        assert await stream.put_away()
        assert await stream.look(lambda one: one.state.rows_seen) == 0
        assert stream.is_read


@in_loop
async def test_a_stream_that_somebody_follows_stays(tmp_path):
    async with serving(tmp_path, max_loaded=1) as client:
        followed = await made(client, "a")
        with client.app.streams.hub.listen("a"), client.app.streams.hub.listen(None):
            other = await made(client, "b")
            await made(client, "c")
            assert followed.is_read
            assert other.is_away
        await made(client, "d")
        await made(client, "e")
        assert followed.is_away


@in_loop
async def test_a_stream_that_a_batch_has_woken_is_put_away_in_its_turn(tmp_path):
    async with serving(tmp_path, max_loaded=1) as client:
        stream, streams = await made(client, "a"), client.app.streams
        await made(client, "b")
        assert stream.is_away
        await stream.learn(Shadow(0.0, True))  # by somebody who had found it before
        assert streams.at_hand("a") is stream
        await made(client, "c")
        assert stream.is_away


@in_loop
async def test_a_stream_that_could_not_be_deleted_is_there_still(tmp_path, monkeypatch):
    async with serving(tmp_path) as client:
        await made(client, "a")
        before = (await adapt(client, BATCHES[0], "a")).json()

        async def fail(name, number):
            raise UnavailableError("the disk is full")

        with monkeypatch.context() as failing:
            failing.setattr(client.app.store, "delete", fail)
            assert (await client.delete("/v1/streams/a")).status_code == 503
        told = await adapt(client, BATCHES[1], "a")
        assert (told.status_code, told.json()["round"]) == (200, before["round"] + 1)
        assert (await client.delete("/v1/streams/a")).status_code == 204


@in_loop
async def test_a_stream_that_was_deleted_never_wakes(tmp_path):
    async with serving(tmp_path) as client:
        gone = await made(client, "a")
        assert (await client.delete("/v1/streams/a")).status_code == 204
        renewed = await made(client, "a")
        for _ in range(2):  # the first time it forgets its state
            with pytest.raises(NotKnownError):
                await gone.learn(Shadow(0.0, True))
        await client.app.streams._use(gone)
        assert client.app.streams._recent["a"] is renewed
