"""PostgresStore: the same in PostgreSQL, for several servers; the only import of psycopg."""

import asyncio
import itertools
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from baserate.service.entries import Event
from baserate.service.problems import NotKnownError, UnavailableError
from baserate.service.store.protocol import (
    EVENTS_KEPT,
    REVOKED,
    THINNING,
    SeenBatch,
    StoredKey,
    StoredStream,
)

try:
    import psycopg
except ModuleNotFoundError as error:
    if error.name != "psycopg":
        raise
    raise ModuleNotFoundError(
        "PostgreSQL needs psycopg; run: pip install 'baserate[service]'", name=error.name
    ) from error

VERSION = 1
CONNECTIONS = 16
"""Connections of a server: as many streams may commit at once."""
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS baserate_streams (number BIGSERIAL PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
    "fingerprint TEXT NOT NULL, snapshot BYTEA NOT NULL, snapshot_at BIGINT NOT NULL, last BIGINT NOT NULL, "
    "created DOUBLE PRECISION NOT NULL)",
    "CREATE TABLE IF NOT EXISTS baserate_log (stream BIGINT NOT NULL REFERENCES baserate_streams ON DELETE CASCADE, "
    "number BIGINT NOT NULL, entry BYTEA NOT NULL, PRIMARY KEY (stream, number))",
    "CREATE TABLE IF NOT EXISTS baserate_batches "
    "(stream BIGINT NOT NULL REFERENCES baserate_streams ON DELETE CASCADE, "
    "batch_id TEXT NOT NULL, body BYTEA NOT NULL, answer BYTEA NOT NULL, at DOUBLE PRECISION NOT NULL, "
    "PRIMARY KEY (stream, batch_id))",
    "CREATE INDEX IF NOT EXISTS baserate_batches_by_age ON baserate_batches (at)",
    "CREATE TABLE IF NOT EXISTS baserate_points (stream BIGINT NOT NULL REFERENCES baserate_streams ON DELETE CASCADE, "
    "at DOUBLE PRECISION NOT NULL, point BYTEA NOT NULL, PRIMARY KEY (stream, at))",
    "CREATE TABLE IF NOT EXISTS baserate_events (id BIGSERIAL PRIMARY KEY, "
    "stream BIGINT NOT NULL REFERENCES baserate_streams ON DELETE CASCADE, at DOUBLE PRECISION NOT NULL, "
    "round BIGINT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS baserate_events_by_stream ON baserate_events (stream, at)",
    "CREATE TABLE IF NOT EXISTS baserate_keys (name TEXT PRIMARY KEY, digest BYTEA NOT NULL, scope TEXT NOT NULL, "
    "created DOUBLE PRECISION NOT NULL)",
    "CREATE TABLE IF NOT EXISTS baserate_settings (name TEXT PRIMARY KEY, value BYTEA NOT NULL)",
)
_EVENT = "INSERT INTO baserate_events (stream, at, round, kind, text) VALUES (%s, %s, %s, %s, %s)"
_LOCK = 4_207_849_484
"""Number of the lock under which tables are made, so that servers that start at once do not trip over each other."""
Statement = tuple[str, Sequence[Any]]


class PostgresTurn:
    """A turn of one stream: its row is locked, so that no other server moves it."""

    def __init__(
        self,
        store: "PostgresStore",
        connection: "psycopg.AsyncConnection[Any]",
        number: int,
        renewed: StoredStream | None,
        missed: Sequence[tuple[int, bytes]],
    ) -> None:
        self.renewed, self.missed = renewed, missed
        self._store, self._connection, self._number = store, connection, number
        self._statements: list[Statement] = []
        self._fresh: dict[str, SeenBatch] = {}
        self._last: int | None = None
        self._over = False

    async def seen(self, batch_id: str) -> SeenBatch | None:
        if batch_id in self._fresh:
            return self._fresh[batch_id]
        with _unavailable():
            found = await self._connection.execute(
                "SELECT body, answer FROM baserate_batches WHERE stream = %s AND batch_id = %s",
                (self._number, batch_id),
            )
            row = await found.fetchone()
        return None if row is None else SeenBatch(bytes(row[0]), bytes(row[1]))

    def append(self, number: int, entry: bytes) -> None:
        self._last = number
        self._statements.append(("INSERT INTO baserate_log VALUES (%s, %s, %s)", (self._number, number, entry)))

    def remember(self, batch_id: str, seen: SeenBatch, at: float) -> None:
        self._fresh[batch_id] = seen
        self._statements.append(
            (
                "INSERT INTO baserate_batches VALUES (%s, %s, %s, %s, %s)",
                (self._number, batch_id, seen.body, seen.answer, at),
            )
        )

    def note(self, events: Sequence[Event]) -> None:
        self._statements += [
            (_EVENT, (self._number, event.at, event.round, event.kind, event.text)) for event in events
        ]

    def replace(self, number: int, snapshot: bytes, fingerprint: str) -> None:
        self._last = number
        self._statements += [
            (
                "UPDATE baserate_streams SET snapshot = %s, snapshot_at = %s, fingerprint = %s WHERE number = %s",
                (snapshot, number, fingerprint, self._number),
            ),
            ("DELETE FROM baserate_log WHERE stream = %s AND number <= %s", (self._number, number)),
        ]

    async def commit(self) -> None:
        if self._last is not None:
            self._statements.append(
                ("UPDATE baserate_streams SET last = %s WHERE number = %s", (self._last, self._number))
            )
        with _unavailable():
            if self._statements:
                async with self._connection.pipeline():
                    for text, values in self._statements:
                        await self._connection.execute(text, values, binary=True)
            await self._connection.commit()
        self._over = True
        self._store.give_back(self._connection)

    async def drop(self) -> None:
        if self._over:
            return
        self._over = True
        try:
            await self._connection.rollback()
        except psycopg.Error:
            await self._connection.close()
        self._store.give_back(self._connection)


class _unavailable:  # noqa: N801  # a context manager, used like a function
    """Turn errors of the database into one that a client may retry."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, psycopg.Error | OSError):
            said = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise UnavailableError(f"the database cannot be used ({said:.200}); nothing was counted.") from error


class PostgresStore:
    """A store in PostgreSQL that several servers share; a stream's rounds are serialised by a lock of its row.

    Parameters
    ----------
    address : str
        ``postgresql://user@host/database``.
    """

    shared = True

    def __init__(self, address: str) -> None:
        self._address = address
        self._free: asyncio.LifoQueue[psycopg.AsyncConnection[Any] | None] = asyncio.LifoQueue()

    async def open(self) -> None:
        for _ in range(CONNECTIONS):
            self._free.put_nowait(None)
        async with self._transaction() as connection:
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            for statement in _SCHEMA:
                await connection.execute(statement)
            await connection.execute(
                "INSERT INTO baserate_settings VALUES ('version', %s) ON CONFLICT DO NOTHING", (b"%d" % VERSION,)
            )
            found = await connection.execute("SELECT value FROM baserate_settings WHERE name = 'version'")
            row = await found.fetchone()
            if row is not None and int(bytes(row[0])) > VERSION:
                raise UnavailableError("the database was written by a newer version of baserate; upgrade.")

    async def close(self) -> None:
        while not self._free.empty():
            connection = self._free.get_nowait()
            if connection is not None:
                await connection.close()

    async def _take(self) -> "psycopg.AsyncConnection[Any]":
        connection = await self._free.get()
        if connection is not None and not connection.closed:
            return connection
        try:
            with _unavailable():
                return await psycopg.AsyncConnection.connect(self._address, connect_timeout=5)
        except BaseException:
            self._free.put_nowait(None)
            raise

    def give_back(self, connection: "psycopg.AsyncConnection[Any]") -> None:
        """Let others use a connection, or a new one in its place if it broke."""
        self._free.put_nowait(None if connection.closed else connection)

    @asynccontextmanager
    async def _transaction(self) -> "AsyncIterator[psycopg.AsyncConnection[Any]]":
        connection = await self._take()
        try:
            with _unavailable():
                async with connection.transaction():
                    yield connection
                await connection.commit()
        finally:
            self.give_back(connection)

    async def _rows(self, text: str, values: Sequence[Any] = ()) -> list[Any]:
        async with self._transaction() as connection:
            found = await connection.execute(text, values)
            return await found.fetchall()

    async def _do(self, *statements: Statement) -> None:
        async with self._transaction() as connection:
            for text, values in statements:
                await connection.execute(text, values)

    async def names(self) -> list[str]:
        return sorted(name for (name,) in await self._rows("SELECT name FROM baserate_streams"))

    async def load(self, name: str) -> StoredStream | None:
        async with self._transaction() as connection:
            await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            return await _read(connection, name)

    async def create(self, name: str, snapshot: bytes, fingerprint: str, events: Sequence[Event]) -> bool:
        async with self._transaction() as connection:
            found = await connection.execute(
                "INSERT INTO baserate_streams (name, fingerprint, snapshot, snapshot_at, last, created) "
                "VALUES (%s, %s, %s, 0, 0, %s) ON CONFLICT DO NOTHING RETURNING number",
                (name, fingerprint, snapshot, time.time()),
            )
            row = await found.fetchone()
            if row is None:
                return False
            for event in events:
                await connection.execute(_EVENT, (row[0], event.at, event.round, event.kind, event.text))
        return True

    async def delete(self, name: str, number: int) -> None:
        await self._do(("DELETE FROM baserate_streams WHERE number = %s AND name = %s", (number, name)))

    async def begin(self, name: str, number: int, after: int) -> PostgresTurn:
        connection = await self._take()
        try:
            with _unavailable():
                found = await connection.execute(
                    "SELECT number, snapshot_at, last FROM baserate_streams WHERE name = %s FOR UPDATE", (name,)
                )
                row = await found.fetchone()
                if row is None:
                    raise NotKnownError(f"there is no stream {name!r}; make it with PUT /v1/streams/{name}.")
                renewed, missed = None, []
                if row[0] != number or row[1] > after:
                    renewed = await _read(connection, name)
                elif row[2] > after:
                    missed = await _entries(connection, number, after)
                return PostgresTurn(self, connection, row[0], renewed, missed)
        except BaseException:
            if not connection.closed:
                try:
                    await connection.rollback()
                except psycopg.Error:
                    await connection.close()
            self.give_back(connection)
            raise

    def begin_at_once(self, number: int) -> None:
        return None

    async def add_points(self, points: Sequence[tuple[int, float, bytes]]) -> None:
        # A stream may have been deleted by another server meanwhile.
        text = (
            "INSERT INTO baserate_points SELECT number, %s, %s FROM baserate_streams WHERE number = %s "
            "ON CONFLICT DO NOTHING"
        )
        await self._do(*[(text, (at, point, number)) for number, at, point in points])

    async def history(self, number: int, since: float) -> list[tuple[float, bytes]]:
        rows = await self._rows(
            "SELECT at, point FROM baserate_points WHERE stream = %s AND at >= %s ORDER BY at", (number, since)
        )
        return [(at, bytes(point)) for at, point in rows]

    async def events(self, number: int, since: float, at_most: int) -> list[Event]:
        rows = await self._rows(
            "SELECT at, round, kind, text FROM baserate_events WHERE stream = %s AND at >= %s "
            "ORDER BY at DESC, id DESC LIMIT %s",
            (number, since, at_most),
        )
        return [Event(*row) for row in reversed(rows)]

    async def tidy(self, now: float, keep_batches: float) -> None:
        statements: list[Statement] = [
            ("DELETE FROM baserate_batches WHERE at < %s", (now - keep_batches,)),
            ("DELETE FROM baserate_events WHERE at < %s", (now - EVENTS_KEPT,)),
            ("DELETE FROM baserate_points WHERE at < %s", (now - THINNING[-1][0],)),
        ]
        for (age, _), (_, apart) in itertools.pairwise(THINNING):
            statements.append(
                (
                    "DELETE FROM baserate_points AS p WHERE p.at < %s AND p.at >= %s AND EXISTS (SELECT 1 FROM "
                    "baserate_points AS later WHERE later.stream = p.stream AND later.at > p.at AND later.at < "
                    "(floor(p.at / %s) + 1) * %s)",
                    (now - age, now - age - 2 * max(apart, 3600.0), apart, apart),
                )
            )
        await self._do(*statements)

    async def keys(self) -> list[StoredKey]:
        rows = await self._rows("SELECT name, digest, scope, created FROM baserate_keys ORDER BY created, name")
        return [StoredKey(name, bytes(digest), scope, created) for name, digest, scope, created in rows]

    async def add_key(self, key: StoredKey) -> None:
        await self._do(
            (
                "INSERT INTO baserate_keys VALUES (%s, %s, %s, %s) ON CONFLICT (name) DO UPDATE SET "
                "digest = excluded.digest, scope = excluded.scope, created = excluded.created",
                key,
            )
        )

    async def remove_key(self, name: str) -> bool:
        text = "UPDATE baserate_keys SET digest = '', scope = %s WHERE name = %s AND scope <> %s RETURNING name"
        return bool(await self._rows(text, (REVOKED, name, REVOKED)))

    async def secret(self) -> bytes:
        fresh = (
            "INSERT INTO baserate_settings VALUES ('secret', %s) ON CONFLICT DO NOTHING",
            (secrets.token_bytes(32),),
        )
        await self._do(fresh)
        ((value,),) = await self._rows("SELECT value FROM baserate_settings WHERE name = 'secret'")
        return bytes(value)

    async def ping(self) -> None:
        await self._rows("SELECT 1")

    async def check(self) -> list[str]:
        rows = await self._rows(
            "SELECT s.name, s.last, MAX(l.number), COUNT(l.number), s.snapshot_at FROM baserate_streams s "
            "LEFT JOIN baserate_log l ON l.stream = s.number AND l.number > s.snapshot_at GROUP BY s.number"
        )
        return [
            f"the log of the stream {name!r} has gaps"
            for name, last, newest, count, snapshot_at in rows
            if (newest or snapshot_at) != last or count != last - snapshot_at
        ]


async def _read(connection: "psycopg.AsyncConnection[Any]", name: str) -> StoredStream | None:
    found = await connection.execute(
        "SELECT number, fingerprint, snapshot, snapshot_at, created FROM baserate_streams WHERE name = %s", (name,)
    )
    row = await found.fetchone()
    if row is None:
        return None
    log = await _entries(connection, row[0], row[3])
    return StoredStream(row[0], row[1], bytes(row[2]), row[3], log, row[4])


async def _entries(connection: "psycopg.AsyncConnection[Any]", number: int, after: int) -> list[tuple[int, bytes]]:
    found = await connection.execute(
        "SELECT number, entry FROM baserate_log WHERE stream = %s AND number > %s ORDER BY number", (number, after)
    )
    return [(place, bytes(entry)) for place, entry in await found.fetchall()]
