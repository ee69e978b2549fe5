"""RunningStream: a stream with one writer, which makes whatever is asked of it durable before it answers."""

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

from baserate.service._web import msgspec
from baserate.service.definitions import Definition, Holdout
from baserate.service.entries import (
    Answer,
    Entry,
    Event,
    Forgotten,
    Rows,
    floats,
    pack,
    pack_answer,
    unpack,
    unpack_answer,
)
from baserate.service.glance import Glance
from baserate.service.problems import ConflictError, NotKnownError, ProblemError, RenewedError, UnavailableError
from baserate.service.settings import Settings
from baserate.service.state import StreamState
from baserate.service.store import QuickTurn, SeenBatch, Store, StoredStream, Turn

_log = logging.getLogger("baserate.service")
T = TypeVar("T")
WORTH_A_SNAPSHOT = 100
"""Entries of a log from which on a stream that is put away gets a snapshot, so that it is quickly there again."""
LARGE = 2_000
"""Rows from which on a batch is adapted in a thread, so that others need not wait: a millisecond's work."""


class _Ask(NamedTuple):
    """Something that a request asks of a stream."""

    done: "asyncio.Future[Any]"
    entry: Entry | None = None
    batch_id: str | None = None
    body: bytes = b""
    answer: bool = False
    meant: str = ""
    holdout: Holdout | None = None
    packed: bytes | None = None
    snapshot: bool = False


class RunningStream:
    """A stream in memory, and its place in the store.

    Requests that come while the disk is busy are taken in together, in the order in which they came, and wait for one
    commit. A request that is refused changes nothing; one whose commit fails is forgotten, and the state is read again.

    Parameters
    ----------
    name : str
    store : Store
    settings : Settings
    tell : callable
        Called with this stream and its new events after each commit.
    """

    def __init__(
        self,
        name: str,
        store: Store,
        settings: Settings,
        tell: "Callable[[RunningStream, list[Event]], None]",
    ) -> None:
        self.name = name
        self.created = 0.0
        self.number = -1
        self.last_entry = 0
        self._store, self._settings, self._tell = store, settings, tell
        self._state: StreamState | None = None
        self._definition: Definition | None = None
        self._glance: Glance | None = None
        self._log_entries, self._log_bytes, self._snapshot_bytes = 0, 0, 0
        self._asked: list[_Ask] = []
        self._task: asyncio.Task[None] | None = None
        self._flight: asyncio.Future[None] | None = None
        self._retired = False

    @property
    def definition(self) -> Definition:
        """The definition that batches are read with."""
        return self._definition or self.state.definition

    @property
    def glance(self) -> Glance:
        """The stream at a glance: as it is, or as it was when it was put away."""
        return self._glance or Glance.of(self.state)

    @property
    def state(self) -> StreamState:
        """The state as it is in memory. Raises `UnavailableError` while it has to be read again: see `catch_up`."""
        if self._state is None:
            raise UnavailableError(f"the stream {self.name!r} is being read again; try again.")
        return self._state

    async def load(self) -> None:
        """Read the state from the store, and make again what came after its snapshot."""
        stored = None if self._retired else await self._store.load(self.name)
        if stored is None:
            self._state = self._definition = self._glance = None
            raise NotKnownError(f"there is no stream {self.name!r}; make it with PUT /v1/streams/{self.name}.")
        await self._restore(stored)

    async def _restore(self, stored: StoredStream) -> None:
        # Nobody sees it before it is complete.
        state = await asyncio.to_thread(StreamState.made_again, stored.snapshot, stored.log)
        self._log_entries, self._log_bytes = 0, 0
        self.number, self.created, self.last_entry = stored.number, stored.created, stored.snapshot_at
        self._snapshot_bytes = len(stored.snapshot)
        for number, data in stored.log:
            self._count(number, len(data))
        self._state, self._definition, self._glance = state, state.definition, None

    def _catch_up(self, log: Any) -> None:
        for number, data in log:
            self.state.apply(unpack(data), answer=False)
            self._count(number, len(data))
        self.state.events.clear()

    def _count(self, number: int, size: int) -> None:
        self.last_entry = number
        self._log_entries += 1
        self._log_bytes += size

    def learn(
        self,
        entry: Entry,
        *,
        meant: str = "",
        batch_id: str | None = None,
        answer: bool = True,
        packed: bytes | None = None,
    ) -> "asyncio.Future[Any]":
        """Take in an entry; the future has an `Answer` to rows, or how many ids were found, when it is on disk.

        Parameters
        ----------
        entry : Entry
        meant : str
            The fingerprint of the definition that the entry was read with; if the stream has another one by now,
            `RenewedError` is raised. Empty: any.
        batch_id : str, optional
            If it was used before, the entry is not taken in again, and the answer is the one from before.
        answer : bool
            Whether somebody waits for the adapted rows.
        packed : bytes, optional
            The entry as bytes, if it came so.
        """
        body = b"" if batch_id is None else hashlib.blake2b(_same(entry, answer, meant), digest_size=16).digest()
        return self._ask(entry=entry, batch_id=batch_id, body=body, answer=answer, meant=meant, packed=packed)

    async def take(self, rows: Rows, mode: str, meant: str, batch_id: str | None) -> Answer:
        """Answer a batch: see `TakingStream`."""
        if mode != "predict":
            found: Answer = await self.learn(rows, meant=meant, batch_id=batch_id, answer=mode == "adapt")
            return found
        await self.catch_up()
        state = await self.look(lambda stream: stream.state)
        if state.definition.fingerprint != meant:
            raise RenewedError("the stream was defined anew while the request was read; send it again.")
        proba = floats(rows.proba, rows.n, state.n_classes)
        return await asyncio.to_thread(state.predict, proba) if rows.n >= LARGE else state.predict(proba)

    async def refit(self, holdout: Holdout) -> None:
        """Go on with a redeployed model."""
        await self._ask(holdout=holdout)

    async def catch_up(self) -> None:
        """Take in what other servers have learned, and read the state again if the last commit failed."""
        if self._store.shared or self._state is None:
            await self._ask()

    async def look(self, read: "Callable[[RunningStream], T]") -> T:
        """Return what is read off the state, which may have been put away while the caller waited for something."""
        while self._state is None:
            await self._ask()
        return read(self)

    @property
    def is_read(self) -> bool:
        """True if the state is in memory: it is not after a commit that failed, and while the stream is put away."""
        return self._state is not None

    @property
    def is_away(self) -> bool:
        """True if the state was put away, and is on disk alone."""
        return self._state is None and self._glance is not None

    async def put_away(self) -> bool:
        """Let the state be on disk alone until somebody asks for it; False if somebody does already."""
        if not self._store.shared and self._log_entries >= WORTH_A_SNAPSHOT:
            await self._ask(snapshot=True)
            await asyncio.sleep(0)
        if self._task is not None or self._flight is not None or self._asked or self._state is None:
            return self._state is None
        self._glance, self._state = Glance.of(self._state), None
        return True

    def _ask(self, **what: Any) -> "asyncio.Future[Any]":
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        one = _Ask(done, **what)
        if self._is_quick(one) and (turn := self._store.begin_at_once(self.number)) is not None:
            self._take_at_once(one, turn)
        else:
            self._asked.append(one)
            self._begin()
        return done

    def _begin(self) -> None:
        if self._task is None and self._flight is None:
            self._task = asyncio.create_task(self._work())

    def _is_quick(self, one: _Ask) -> bool:
        """Tell whether a request has to wait for nothing but the disk, so that it needs no task."""
        waits = isinstance(one.entry, Rows) and one.entry.n >= LARGE
        free = self._task is None and self._flight is None and self._state is not None and self.number >= 0
        return free and one.entry is not None and not waits

    def _take_at_once(self, one: _Ask, turn: QuickTurn) -> None:
        """Take in an entry now, and settle it when it is on disk; what comes meanwhile waits for that."""
        try:
            assert one.entry is not None
            if one.batch_id is not None and (seen := turn.seen_at_once(one.batch_id)) is not None:
                one.done.set_result(_same_answer(one, seen))
                return
            self._check_meant(one)
            packed = one.packed or pack(one.entry)
            found = self.state.apply(one.entry, answer=one.answer)
            self._record(one, turn, packed, found)
            events = self._conclude(turn)
            self._flight = turn.commit_at_once()
        except ProblemError as problem:
            one.done.set_exception(problem)
        except Exception as error:
            self._lose(error)
            one.done.set_exception(UnavailableError("the stream failed, and nothing was counted; try again."))
        else:
            self._flight.add_done_callback(partial(self._land, one, found, events))

    def _land(self, one: _Ask, found: Any, events: list[Event], flight: "asyncio.Future[None]") -> None:
        self._flight = None
        error = flight.exception()
        if error is None:
            _settle([(one, found)])
            self._tell(self, events)
        else:
            _settle([(one, self._lose(error))])
        if self._asked:
            self._begin()

    def _lose(self, error: BaseException) -> ProblemError:
        """Let the state be read again, because what is in memory may be ahead of the disk."""
        self._state = self._definition = None
        if isinstance(error, ProblemError):
            return error
        _log.error("the stream %s failed", self.name, exc_info=error)
        return UnavailableError("the stream failed, and nothing was counted; try again.")

    async def idle(self) -> None:
        """Return when nothing is under way."""
        while under_way := [one for one in (self._task, self._flight) if one is not None]:
            await asyncio.wait(under_way)
            await asyncio.sleep(0)  # so that what waits for the same has its turn

    async def retire(self) -> int:
        """Take in nothing any more, and return the number under which the store has the stream."""
        await self.idle()
        number, self.number, self._retired = self.number, -1, True
        return number

    async def _work(self) -> None:
        try:
            while self._asked:
                asked, self._asked = self._asked, []
                await self._take_turn(asked)
        finally:
            self._task = None

    async def _take_turn(self, asked: list[_Ask]) -> None:
        results: list[tuple[_Ask, Any]] = []
        try:
            if self._state is None:
                await self.load()
            turn = await self._store.begin(self.name, self.number, self.last_entry)
            try:
                if turn.renewed is not None:
                    await self._restore(turn.renewed)
                self._catch_up(turn.missed)
                for one in asked:
                    try:
                        results.append((one, await self._perform(one, turn)))
                    except ProblemError as problem:
                        results.append((one, problem))
                events = self._conclude(turn)
                await turn.commit()
            finally:
                await turn.drop()
        except Exception as error:
            lost = self._lose(error)
            results, events = [(one, lost) for one in asked], []
        _settle(results)
        if self._state is not None:
            self._tell(self, events)

    def _conclude(self, turn: Turn) -> list[Event]:
        """Keep what happened, and compact the log if it is time; return what happened."""
        events, self.state.events = self.state.events, []
        if events:
            turn.note(events)
        if self._is_due():
            self._compact(turn)
        return events

    def _check_meant(self, one: _Ask) -> None:
        if one.meant not in ("", self.state.definition.fingerprint):
            raise RenewedError(f"the stream {self.name!r} was defined anew while the request was read; send it again.")

    def _record(self, one: _Ask, turn: Turn, packed: bytes, found: Any) -> None:
        """Put an entry that was taken in into the log, and its answer where a retry finds it."""
        if isinstance(one.entry, Forgotten):
            self._compact(turn, self.last_entry + 1)  # so that the ids are no longer in the log
            return
        self._count(self.last_entry + 1, len(packed))
        turn.append(self.last_entry, packed)
        if one.batch_id is not None:
            assert isinstance(found, Answer)
            turn.remember(one.batch_id, SeenBatch(one.body, pack_answer(found)), time.time())

    async def _perform(self, one: _Ask, turn: Turn) -> Any:
        if one.holdout is not None:
            self._state = await asyncio.to_thread(self.state.refit, one.holdout, time.time())
            self._definition = self._state.definition
            self._compact(turn, self.last_entry + 1)
            return None
        if one.entry is None:
            if one.snapshot and self._log_entries >= WORTH_A_SNAPSHOT:
                self._compact(turn)
            return None
        if one.batch_id is not None:
            seen = await turn.seen(one.batch_id)
            if seen is not None:
                return _same_answer(one, seen)
        self._check_meant(one)
        packed = one.packed or pack(one.entry)  # before it is applied: a round that is collected may change its entry
        if isinstance(one.entry, Rows) and one.entry.n >= LARGE:
            found = await asyncio.to_thread(self.state.apply, one.entry, answer=one.answer)
        else:
            found = self.state.apply(one.entry, answer=one.answer)
        self._record(one, turn, packed, found)
        return found

    def _is_due(self) -> bool:
        """Tell whether the log has grown so long that a snapshot pays."""
        if self._log_entries >= self._settings.snapshot_entries:
            return self._log_bytes >= self._snapshot_bytes or self._log_entries >= 10 * self._settings.snapshot_entries
        return self._log_bytes >= 8 * max(self._snapshot_bytes, 1 << 20)

    def _compact(self, turn: Turn, number: int | None = None) -> None:
        snapshot = self.state.dumps()
        self.last_entry = self.last_entry if number is None else number
        turn.replace(self.last_entry, snapshot, self.state.definition.fingerprint)
        self._log_entries, self._log_bytes, self._snapshot_bytes = 0, 0, len(snapshot)


def _same_answer(one: _Ask, seen: SeenBatch) -> Answer:
    """Return the answer of a batch that was answered before. Raises `ConflictError` if it was another one."""
    if seen.body != one.body:
        raise ConflictError(
            f"batch_id {one.batch_id!r:.100} was used for another body, or before a refit; give each batch its own.",
            "batch_id",
        )
    return unpack_answer(seen.answer)


def _same(entry: Entry, answer: bool, meant: str) -> bytes:
    """Return what makes two requests the same: everything but the time, and the definition that they were read with."""
    return msgspec.msgpack.encode([answer, meant, *msgspec.structs.astuple(entry)[1:]])


def _settle(results: list[tuple[_Ask, Any]]) -> None:
    for one, result in results:
        if one.done.done():  # whoever asked has gone
            continue
        if isinstance(result, BaseException):
            one.done.set_exception(result)
        else:
            one.done.set_result(result)
