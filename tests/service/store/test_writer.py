"""Many commits with one fsync; each group completely or not at all."""

import asyncio
import sqlite3

import pytest

from baserate.service.problems import UnavailableError
from baserate.service.store.writer import ContradictionError, GroupWriter
from tests.service.served import in_loop


def opened(folder):
    base = sqlite3.connect(folder / "x.sqlite", isolation_level=None, check_same_thread=False, timeout=0.1)
    base.execute("PRAGMA journal_mode = WAL")
    base.execute("CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY)")
    return base


def insert(*numbers):
    return [("INSERT INTO t VALUES (?)", (n,)) for n in numbers]


def kept(folder):
    with sqlite3.connect(folder / "x.sqlite") as base:
        return [n for (n,) in base.execute("SELECT n FROM t ORDER BY n")]


@in_loop
async def test_what_comes_while_the_disk_is_busy_shares_a_commit(tmp_path):
    writer = GroupWriter(lambda: opened(tmp_path), asyncio.get_running_loop())
    await asyncio.gather(*[writer.write(insert(n)) for n in range(100)])
    assert kept(tmp_path) == list(range(100))
    assert writer.commits <= 2
    await writer.close()
    with pytest.raises(UnavailableError, match="ending"):
        await writer.write(insert(200))


@in_loop
async def test_what_is_done_is_on_disk(tmp_path):
    writer = GroupWriter(lambda: opened(tmp_path), asyncio.get_running_loop())
    for n in range(5):
        await writer.write(insert(n))
        assert kept(tmp_path) == list(range(n + 1))
    await writer.close()


@in_loop
async def test_a_group_that_contradicts_is_undone_alone(tmp_path):
    writer = GroupWriter(lambda: opened(tmp_path), asyncio.get_running_loop())

    def refuse(connection):
        connection.execute("INSERT INTO t VALUES (77)")
        raise ContradictionError

    found = await asyncio.gather(
        writer.write(insert(1)), writer.write(insert(2), refuse), writer.write(insert(3)), return_exceptions=True
    )
    assert [type(outcome) for outcome in found] == [type(None), ContradictionError, type(None)]
    assert kept(tmp_path) == [1, 3]
    await writer.close()


@in_loop
async def test_a_commit_that_fails_fails_all_of_it_and_nothing_after(tmp_path):
    writer = GroupWriter(lambda: opened(tmp_path), asyncio.get_running_loop())
    await writer.write(insert(1))
    found = await asyncio.gather(writer.write(insert(2)), writer.write(insert(1)), return_exceptions=True)
    assert all(isinstance(outcome, UnavailableError) for outcome in found)
    assert kept(tmp_path) == [1]
    with sqlite3.connect(tmp_path / "x.sqlite", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UnavailableError, match="locked"):
            await writer.write(insert(3))
        other.execute("ROLLBACK")
    await writer.write(insert(4))
    assert kept(tmp_path) == [1, 4]
    await writer.close()


@in_loop
async def test_whatever_goes_wrong_those_who_wait_hear_of_it(tmp_path):
    writer = GroupWriter(lambda: opened(tmp_path), asyncio.get_running_loop())
    with pytest.raises(UnavailableError, match="too large"):
        await asyncio.wait_for(writer.write(insert(1, 2**70)), 5)
    await writer.write(insert(2))
    assert kept(tmp_path) == [2]
    await writer.close()
