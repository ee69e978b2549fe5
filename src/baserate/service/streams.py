"""Streams: all streams of a server, made, found and deleted by name; their history is taken down now and then."""

import asyncio
import contextlib
import logging
import time
from collections import OrderedDict

from baserate.service.definitions import Holdout
from baserate.service.entries import Event
from baserate.service.hub import Hub, News
from baserate.service.points import Point, pack_point, read_point
from baserate.service.problems import ConflictError, NotKnownError, ProblemError, TooLargeError, UnavailableError
from baserate.service.running import RunningStream
from baserate.service.settings import Settings
from baserate.service.state import StreamState
from baserate.service.store import Store

_log = logging.getLogger("baserate.service")
APART = 1.0
"""Least seconds between two points of a stream's history."""
SHARE = 0.05
"""Share of the server's time for history."""
PAUSE = 0.5
"""Most seconds between the points of two streams."""
TIDYING = 60.0
"""Seconds between two times of tidying up."""


class Streams:
    """All streams of a server.

    Parameters
    ----------
    store : Store
        Open.
    settings : Settings
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.settings, self.hub = store, settings, Hub()
        self.points: dict[str, Point] = {}
        self._running: dict[str, RunningStream] = {}
        self._recent: OrderedDict[str, RunningStream] = OrderedDict()
        self._putting_away = asyncio.Lock()
        self._moved: dict[str, float] = {}
        self._costs: dict[str, float] = {}
        self._fitting = asyncio.Lock()
        self._looking = asyncio.Lock()
        self._caught_up = 0.0
        self._tasks: list[asyncio.Task[None]] = []
        self.starting, self.ending = True, False

    async def start(self) -> None:
        """Load all streams, and begin to take down their history."""
        for name in await self.store.names():
            await self._load(name)
        self.starting = False
        self._tasks = [asyncio.create_task(self._observe()), asyncio.create_task(self._tidy())]

    async def stop(self) -> None:
        """Finish what is under way."""
        self.ending = True
        self.hub.close()
        for task in self._tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        for stream in list(self._running.values()):
            await stream.idle()

    async def _load(self, name: str) -> RunningStream:
        stream = RunningStream(name, self.store, self.settings, self._tell)
        await stream.load()
        self._moved.setdefault(name, time.time())
        found = self._running.setdefault(name, stream)
        await self._use(found)
        return found

    async def _use(self, stream: RunningStream) -> None:
        """Take down that a stream is in memory, and put others away if there are too many."""
        if self._running.get(stream.name) is not stream:  # it was deleted while it was read
            return
        self._recent[stream.name] = stream
        self._recent.move_to_end(stream.name)
        if len(self._recent) <= self.settings.max_loaded:
            return
        async with self._putting_away:
            for _ in range(len(self._recent) - self.settings.max_loaded):
                name, oldest = next(iter(self._recent.items()))
                self._recent.move_to_end(name)
                if self.hub.followed(name):
                    continue
                with contextlib.suppress(ProblemError):
                    if await oldest.put_away():
                        self._recent.pop(name, None)

    def __len__(self) -> int:
        return len(self._running)

    async def all(self) -> list[RunningStream]:
        """Return all streams, by name."""
        if self.store.shared:
            names = await self.store.names()
            for name in set(self._running) - set(names):
                self._drop(name)
            for name in names:
                if name not in self._running:
                    with contextlib.suppress(NotKnownError):
                        await self._load(name)
        for stream in list(self._running.values()):
            if not stream.is_read and not stream.is_away:
                with contextlib.suppress(NotKnownError):
                    await stream.catch_up()
        return self.loaded()

    def loaded(self) -> list[RunningStream]:
        """Return the streams whose readings are in memory, by name."""
        found = [self._running[name] for name in sorted(self._running)]
        return [stream for stream in found if stream.is_read or stream.is_away]

    def at_hand(self, name: str) -> RunningStream | None:
        """Return a stream if nothing has to be waited for."""
        found = self._running.get(name)
        if found is None or self.ending or self.starting or not found.is_read:
            return None
        self._recent[name] = found
        self._recent.move_to_end(name)
        return found

    async def get(self, name: str) -> RunningStream:
        """Return a stream. Raises `NotKnownError` if there is none of that name."""
        if self.ending or self.starting:
            raise UnavailableError(f"the server is {'ending' if self.ending else 'starting'}; try again.")
        found = self._running.get(name)
        if found is None:
            if not self.store.shared:
                raise NotKnownError(f"there is no stream {name!r}; make it with PUT /v1/streams/{name}.", "name")
            found = await self._load(name)
        if not found.is_read:
            await found.catch_up()
        await self._use(found)
        return found

    async def renewed(self, name: str) -> RunningStream:
        """Return a stream with the definition that it has now, which another server may have changed."""
        found = await self.get(name)
        await found.catch_up()
        return found

    async def put(self, name: str, holdout: Holdout, *, refit: bool) -> bool:
        """Make a stream, or go on with a redeployed model; True if it is new.

        The same definition again changes nothing; another one without `refit` is a conflict.
        """
        async with self._fitting:  # one at a time: warnings are collected, which threads must not do at once
            for _ in range(2):
                try:
                    stream = await self.renewed(name)
                except NotKnownError:
                    self._drop(name)
                    if await self._create(name, holdout):
                        return True
                    continue  # another server was faster
                if stream.definition.fingerprint == holdout.definition.fingerprint:
                    return False
                if not refit:
                    raise ConflictError(
                        f"there is a stream {name!r} with another definition. To go on with a redeployed model and "
                        "keep the class mix, say ?refit=true; to start anew, DELETE it first."
                    )
                await stream.refit(holdout)
                self.hub.tell(News("stream", name, {"change": "refit"}))
                return False
        raise UnavailableError("the stream was made and deleted at once; try again.")

    async def _create(self, name: str, holdout: Holdout) -> bool:
        if len(self._running) >= self.settings.max_streams:
            raise TooLargeError(
                f"there are {len(self._running):,} streams, as many as this server allows; delete some."
            )
        state = await asyncio.to_thread(StreamState.fit, holdout, time.time())
        events, state.events = state.events, []
        made = await self.store.create(name, state.dumps(), holdout.definition.fingerprint, events)
        if made:
            await self._load(name)
            self.hub.tell(News("stream", name, {"change": "created"}))
            self._moved[name] = time.time()
        return made

    async def delete(self, name: str) -> None:
        """Delete a stream with everything that belongs to it."""
        stream = await self.get(name)
        self._running.pop(name, None)
        self._recent.pop(name, None)
        try:
            await self.store.delete(name, await stream.retire())
        except ProblemError:
            await self._load(name)  # it is there still
            raise
        self._drop(name)
        self.hub.tell(News("stream", name, {"change": "deleted"}))

    def _drop(self, name: str) -> None:
        self._running.pop(name, None)
        self._recent.pop(name, None)
        self.points.pop(name, None)
        self._moved.pop(name, None)
        self._costs.pop(name, None)

    def _tell(self, stream: RunningStream, events: list[Event]) -> None:
        self._moved.setdefault(stream.name, time.time())
        for event in events:
            self.hub.tell(News("event", stream.name, event.plain()))

    async def _observe(self) -> None:
        """Take down points of streams that moved, with a bounded share of the time."""
        while True:
            await asyncio.sleep(0.1)
            try:
                await self._look_around()
            except ProblemError as problem:
                _log.warning("history: %s", problem)
            except Exception:
                _log.exception("history")

    async def _look_around(self) -> None:
        async with self._looking:  # once it is over, the points of all that had moved are stored
            await self._take_points()

    async def _take_points(self) -> None:
        found = []
        if self.store.shared and time.monotonic() - self._caught_up > APART:
            self._caught_up = time.monotonic()
            for stream in self.loaded():
                if stream.is_read and self.hub.watched(stream.name):
                    with contextlib.suppress(ProblemError):
                        await stream.catch_up()
        for name in list(self._moved):
            moved, before, begun = self._running.get(name), self.points.get(name), time.perf_counter()
            now = time.time()
            if moved is None:
                self._moved.pop(name, None)
                continue
            if before is not None and now - before.at < self._apart(name):
                continue
            self._moved.pop(name, None)
            try:
                point = read_point(moved.state, now, before)
            except ProblemError:
                continue
            self.points[name] = point
            found.append((moved.number, point.at, pack_point(point)))
            self.hub.tell(News("point", name, point.plain()))
            self._costs[name] = time.perf_counter() - begun
            if self._moved:
                if len(found) >= 10:
                    await self.store.add_points(found)
                    found = []
                await asyncio.sleep(min(PAUSE, self._costs[name] * (1.0 / SHARE - 1.0)))
        if found:
            await self.store.add_points(found)

    def _apart(self, name: str) -> float:
        """Seconds between two points of a stream: more if reading one takes long, so that others do not wait for it."""
        return max(APART, self._costs.get(name, 0.0) * len(self._running) / SHARE)

    async def _tidy(self) -> None:
        while True:
            try:
                await self.store.tidy(time.time(), self.settings.keep_batches)
            except ProblemError as problem:
                _log.warning("tidying: %s", problem)
            await asyncio.sleep(TIDYING)
