"""SqliteStore: everything in one file of a folder, by the sqlite3 of the standard library."""

import asyncio
import contextlib
import fcntl
import itertools
import os
import secrets
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

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
from baserate.service.store.writer import ContradictionError, GroupWriter, Statement

FILE = "baserate.sqlite"
VERSION = 1
_SCHEMA = """
CREATE TABLE streams (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, fingerprint TEXT NOT NULL,
    snapshot BLOB NOT NULL, snapshot_at INTEGER NOT NULL, created REAL NOT NULL);
CREATE TABLE log (stream INTEGER NOT NULL, number INTEGER NOT NULL, entry BLOB NOT NULL, PRIMARY KEY (stream, number));
CREATE TABLE batches (stream INTEGER NOT NULL, batch_id TEXT NOT NULL, body BLOB NOT NULL, answer BLOB NOT NULL,
    at REAL NOT NULL, PRIMARY KEY (stream, batch_id));
CREATE INDEX batches_by_age ON batches (at);
CREATE TABLE points (stream INTEGER NOT NULL, at REAL NOT NULL, point BLOB NOT NULL, PRIMARY KEY (stream, at))
    WITHOUT ROWID;
CREATE TABLE events (id INTEGER PRIMARY KEY, stream INTEGER NOT NULL, at REAL NOT NULL, round INTEGER NOT NULL,
    kind TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX events_by_stream ON events (stream, at);
CREATE TABLE keys (name TEXT PRIMARY KEY, digest BLOB NOT NULL, scope TEXT NOT NULL, created REAL NOT NULL);
CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL);
"""
_EVENT = "INSERT INTO events (stream, at, round, kind, text) VALUES (?, ?, ?, ?, ?)"


class SqliteTurn:
    """A turn of one stream: this process is the only one that writes, so that nothing was missed."""

    renewed: StoredStream | None = None
    missed: Sequence[tuple[int, bytes]] = ()

    def __init__(self, store: "SqliteStore", number: int) -> None:
        self._store, self._number = store, number
        self._statements: list[Statement] = []
        self._fresh: dict[str, SeenBatch] = {}

    async def seen(self, batch_id: str) -> SeenBatch | None:
        return self.seen_at_once(batch_id)

    def seen_at_once(self, batch_id: str) -> SeenBatch | None:
        return self._fresh.get(batch_id) or self._store.seen(self._number, batch_id)

    def append(self, number: int, entry: bytes) -> None:
        self._statements.append(("INSERT INTO log VALUES (?, ?, ?)", (self._number, number, entry)))

    def remember(self, batch_id: str, seen: SeenBatch, at: float) -> None:
        self._fresh[batch_id] = seen
        values = (self._number, batch_id, seen.body, seen.answer, at)
        self._statements.append(("INSERT OR REPLACE INTO batches VALUES (?, ?, ?, ?, ?)", values))

    def note(self, events: Sequence[Event]) -> None:
        self._statements += [
            (_EVENT, (self._number, event.at, event.round, event.kind, event.text)) for event in events
        ]

    def replace(self, number: int, snapshot: bytes, fingerprint: str) -> None:
        self._statements += [
            (
                "UPDATE streams SET snapshot = ?, snapshot_at = ?, fingerprint = ? WHERE number = ?",
                (snapshot, number, fingerprint, self._number),
            ),
            ("DELETE FROM log WHERE stream = ? AND number <= ?", (self._number, number)),
        ]

    async def commit(self) -> None:
        if self._statements:
            await self._store.write(self._statements)

    def commit_at_once(self) -> "asyncio.Future[None]":
        return self._store.write(self._statements)

    async def drop(self) -> None:
        self._statements = []


class SqliteStore:
    """A store in a folder, for one server: WAL, synchronous=FULL, one writing thread.

    Parameters
    ----------
    folder : path
        Is made if it does not exist.
    alone : bool
        Whether to refuse the folder while a server has it. Commands about API keys do not need to be alone.
    """

    shared = False

    def __init__(self, folder: Path, *, alone: bool = True) -> None:
        self.folder, self._alone = Path(folder), alone
        self._lock: IO[bytes] | None = None

    async def open(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if self._alone:
                self._take_folder()
            self._make_file()
        except OSError as error:
            raise UnavailableError(f"--data {self.folder}: {error.strerror or error}.") from error
        self._reader = self._connect()
        self._make_tables(self._reader)
        self._writer = GroupWriter(self._connect, asyncio.get_running_loop())

    def _take_folder(self) -> None:
        self._lock = (self.folder / "lock").open("ab")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise UnavailableError(
                f"--data {self.folder} is in use by another server; end it, or name another folder."
            ) from None

    def _make_file(self) -> None:
        """Make the file, which nobody else may read, if there is none.

        An existing one must not be opened and closed here. With the first descriptor of a file that it closes, a
        process gives up all its locks on it, those of SQLite's other connections, too: another process would then take
        itself for the last one, and remove the log that this one goes on writing to.
        """
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self.folder / FILE, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))

    def _connect(self) -> sqlite3.Connection:
        path = self.folder / FILE
        try:
            found = sqlite3.connect(path, timeout=10.0, isolation_level=None, check_same_thread=False)
            found.execute("PRAGMA journal_mode = WAL")
            found.execute("PRAGMA synchronous = FULL")
            found.execute("PRAGMA secure_delete = ON")
            found.execute("PRAGMA wal_autocheckpoint = 4000")
        except (sqlite3.Error, OSError) as error:
            raise UnavailableError(f"{path} cannot be opened ({error}).") from error
        return found

    def _make_tables(self, connection: sqlite3.Connection) -> None:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            raise UnavailableError(
                f"{self.folder / FILE} was written by a newer version of baserate (layout {version}, this one knows "
                f"{VERSION}); upgrade."
            )
        if version == 0:
            connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")

    async def close(self) -> None:
        await self._writer.close()
        self._reader.close()
        if self._lock is not None:
            self._lock.close()

    def write(self, statements: Sequence[Statement]) -> "asyncio.Future[None]":
        """Hand over statements; the future is done when they are on disk."""
        return self._writer.write(statements)

    @property
    def commits(self) -> int:
        """The number of transactions so far."""
        return self._writer.commits

    def seen(self, number: int, batch_id: str) -> SeenBatch | None:
        """Return a batch that was answered before."""
        found = self._reader.execute(
            "SELECT body, answer FROM batches WHERE stream = ? AND batch_id = ?", (number, batch_id)
        ).fetchone()
        return None if found is None else SeenBatch(*found)

    async def names(self) -> list[str]:
        return [name for (name,) in self._reader.execute("SELECT name FROM streams ORDER BY name")]

    async def load(self, name: str) -> StoredStream | None:
        found = self._reader.execute(
            "SELECT number, fingerprint, snapshot, snapshot_at, created FROM streams WHERE name = ?", (name,)
        ).fetchone()
        if found is None:
            return None
        number, fingerprint, snapshot, snapshot_at, created = found
        log = self._reader.execute(
            "SELECT number, entry FROM log WHERE stream = ? AND number > ? ORDER BY number", (number, snapshot_at)
        ).fetchall()
        return StoredStream(number, fingerprint, snapshot, snapshot_at, log, created)

    async def create(self, name: str, snapshot: bytes, fingerprint: str, events: Sequence[Event]) -> bool:
        def check(connection: sqlite3.Connection) -> None:
            if connection.execute("SELECT 1 FROM streams WHERE name = ?", (name,)).fetchone():
                raise ContradictionError

        statements: list[Statement] = [
            (
                "INSERT INTO streams (name, fingerprint, snapshot, snapshot_at, created) VALUES (?, ?, ?, 0, ?)",
                (name, fingerprint, snapshot, time.time()),
            )
        ]
        statements += [
            (
                "INSERT INTO events (stream, at, round, kind, text) "
                "SELECT number, ?, ?, ?, ? FROM streams WHERE name = ?",
                (event.at, event.round, event.kind, event.text, name),
            )
            for event in events
        ]
        try:
            await self._writer.write(statements, check)
        except ContradictionError:
            return False
        return True

    async def delete(self, name: str, number: int) -> None:
        statements: list[Statement] = [("DELETE FROM streams WHERE number = ?", (number,))]
        for table in ("log", "batches", "points", "events"):
            statements.append((f"DELETE FROM {table} WHERE stream = ?", (number,)))
        await self._writer.write(statements)

    async def begin(self, name: str, number: int, after: int) -> SqliteTurn:
        if number < 0:
            raise NotKnownError(f"there is no stream {name!r}.")
        return SqliteTurn(self, number)

    def begin_at_once(self, number: int) -> SqliteTurn:
        return SqliteTurn(self, number)

    async def add_points(self, points: Sequence[tuple[int, float, bytes]]) -> None:
        await self._writer.write([("INSERT OR REPLACE INTO points VALUES (?, ?, ?)", point) for point in points])

    async def history(self, number: int, since: float) -> list[tuple[float, bytes]]:
        return self._reader.execute(
            "SELECT at, point FROM points WHERE stream = ? AND at >= ? ORDER BY at", (number, since)
        ).fetchall()

    async def events(self, number: int, since: float, at_most: int) -> list[Event]:
        found = self._reader.execute(
            "SELECT at, round, kind, text FROM events WHERE stream = ? AND at >= ? ORDER BY at DESC, id DESC LIMIT ?",
            (number, since, at_most),
        ).fetchall()
        return [Event(*row) for row in reversed(found)]

    async def tidy(self, now: float, keep_batches: float) -> None:
        statements: list[Statement] = [
            ("DELETE FROM batches WHERE at < ?", (now - keep_batches,)),
            ("DELETE FROM events WHERE at < ?", (now - EVENTS_KEPT,)),
            ("DELETE FROM points WHERE at < ?", (now - THINNING[-1][0],)),
        ]
        for (age, _), (_, apart) in itertools.pairwise(THINNING):
            statements.append(
                (
                    "DELETE FROM points WHERE at < ? AND at >= ? AND EXISTS (SELECT 1 FROM points AS later WHERE "
                    "later.stream = points.stream AND later.at > points.at AND later.at < "
                    "(CAST(points.at / ? AS INTEGER) + 1) * ?)",
                    (now - age, now - age - 2 * max(apart, 3600.0), apart, apart),
                )
            )
        await self._writer.write(statements)

    async def keys(self) -> list[StoredKey]:
        found = self._reader.execute("SELECT name, digest, scope, created FROM keys ORDER BY created, name").fetchall()
        return [StoredKey(*row) for row in found]

    async def add_key(self, key: StoredKey) -> None:
        await self._writer.write([("INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?)", key)])

    async def remove_key(self, name: str) -> bool:
        found = any(key.name == name and key.scope != REVOKED for key in await self.keys())
        await self._writer.write([("UPDATE keys SET digest = x'', scope = ? WHERE name = ?", (REVOKED, name))])
        return found

    async def secret(self) -> bytes:
        fresh = ("INSERT OR IGNORE INTO settings VALUES ('secret', ?)", (secrets.token_bytes(32),))
        await self._writer.write([fresh])
        (value,) = self._reader.execute("SELECT value FROM settings WHERE name = 'secret'").fetchone()
        return bytes(value)

    async def ping(self) -> None:
        self._reader.execute("SELECT 1").fetchone()

    async def check(self) -> list[str]:
        found = [row[0] for row in self._reader.execute("PRAGMA integrity_check") if row[0] != "ok"]
        orphans = self._reader.execute(
            "SELECT COUNT(*) FROM log WHERE stream NOT IN (SELECT number FROM streams)"
        ).fetchone()[0]
        if orphans:
            found.append(f"{orphans} entries of streams that do not exist")
        return found
