"""The contract of a store: streams as a snapshot and a log, turns that are on disk when they are over."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from baserate.service.entries import Event


class StoredStream(NamedTuple):
    """A stream as it is kept: a snapshot, and the log of what came after it.

    Attributes
    ----------
    number : int
        Identifies the stream; a stream that is deleted and made again has another.
    fingerprint : str
        The hash of its definition.
    snapshot : bytes
    snapshot_at : int
        The number of the entry that the snapshot was made after.
    log : list of (int, bytes)
        The entries after it, with their numbers.
    created : float
    """

    number: int
    fingerprint: str
    snapshot: bytes
    snapshot_at: int
    log: list[tuple[int, bytes]]
    created: float


class SeenBatch(NamedTuple):
    """A batch that was answered before: a hash of its body, and the answer."""

    body: bytes
    answer: bytes


class StoredKey(NamedTuple):
    """An API key, as it is kept: not the key itself, but a hash of it."""

    name: str
    digest: bytes
    scope: str
    created: float


class Turn(Protocol):
    """The right to move one stream: nobody else does until it is committed or dropped."""

    renewed: StoredStream | None
    """The stream, if another server has replaced its snapshot since; None if not."""
    missed: Sequence[tuple[int, bytes]]
    """The entries that other servers have appended since."""

    async def seen(self, batch_id: str) -> SeenBatch | None:
        """Return the batch of that id, if there was one."""

    def append(self, number: int, entry: bytes) -> None:
        """Append an entry to the log."""

    def remember(self, batch_id: str, seen: SeenBatch, at: float) -> None:
        """Remember an answer."""

    def note(self, events: Sequence[Event]) -> None:
        """Keep events."""

    def replace(self, number: int, snapshot: bytes, fingerprint: str) -> None:
        """Replace the snapshot by one made after an entry, and drop the log up to there."""

    async def commit(self) -> None:
        """Return when everything is on disk. Raises `UnavailableError` if it is not."""

    async def drop(self) -> None:
        """End without changing anything; does nothing after a commit."""


class QuickTurn(Turn, Protocol):
    """A turn in which nothing has to be waited for, but the disk."""

    def seen_at_once(self, batch_id: str) -> SeenBatch | None:
        """Return the batch of that id, if there was one."""

    def commit_at_once(self) -> "asyncio.Future[None]":
        """Hand everything over without waiting; the future is done when it is on disk."""


class KeyStore(Protocol):
    """Where API keys are found."""

    async def keys(self) -> list[StoredKey]:
        """Return all API keys, those that are revoked among them: once there was a key, one is needed."""

    async def secret(self) -> bytes:
        """Return the secret that signs logins, made when it is first asked for."""


class Store(KeyStore, Protocol):
    """Where streams, their history and API keys are kept."""

    shared: bool
    """True if other servers may move the same streams."""

    async def open(self) -> None:
        """Connect, and make the tables if there are none."""

    async def close(self) -> None:
        """Finish what is under way."""

    async def names(self) -> list[str]:
        """Return the names of all streams."""

    async def load(self, name: str) -> StoredStream | None:
        """Return a stream, or None if there is none of that name."""

    async def create(self, name: str, snapshot: bytes, fingerprint: str, events: Sequence[Event]) -> bool:
        """Make a stream; False if there is one of that name."""

    async def delete(self, name: str, number: int) -> None:
        """Delete a stream with everything that belongs to it."""

    async def begin(self, name: str, number: int, after: int) -> Turn:
        """Take a turn of a stream whose entries are known up to `after`. Raises `NotKnownError` if it is gone."""

    def begin_at_once(self, number: int) -> QuickTurn | None:
        """Take a turn without waiting, where nobody else moves streams; None where others do."""

    async def add_points(self, points: Sequence[tuple[int, float, bytes]]) -> None:
        """Keep points of history: the number of the stream, the time, the point."""

    async def history(self, number: int, since: float) -> list[tuple[float, bytes]]:
        """Return the points of a stream since a time, oldest first."""

    async def events(self, number: int, since: float, at_most: int) -> list[Event]:
        """Return the last events of a stream, oldest first."""

    async def tidy(self, now: float, keep_batches: float) -> None:
        """Forget old batch ids, and thin the history by its age."""

    async def add_key(self, key: StoredKey) -> None:
        """Keep an API key."""

    async def remove_key(self, name: str) -> bool:
        """Revoke an API key; False if there is none of that name."""

    async def ping(self) -> None:
        """Raise `UnavailableError` if the store cannot be reached."""

    async def check(self) -> list[str]:
        """Verify what is kept, and return what is wrong with it."""


REVOKED = "revoked"
"""The scope of a key that has been revoked."""
THINNING = ((15 * 60.0, 1.0), (24 * 3600.0, 60.0), (30 * 86400.0, 3600.0), (3650 * 86400.0, 86400.0))
"""History by age: up to so many seconds old, at most one point in so many seconds."""
EVENTS_KEPT = 90 * 86400.0
"""Seconds for which events are kept."""
