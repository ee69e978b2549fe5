"""Hub: tells everybody who listens what happens, without waiting for anybody."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

BEHIND = 1_000
"""Messages after which a listener that does not read is given up."""


class News(NamedTuple):
    """Something to tell: its kind (point, event, stream), the stream, and plain data."""

    kind: str
    stream: str
    data: dict[str, Any]


class Hub:
    """Listeners, each with a queue of its own; None in a queue ends it."""

    def __init__(self) -> None:
        self._queues: dict[asyncio.Queue[News | None], str | None] = {}

    def __len__(self) -> int:
        return len(self._queues)

    def watched(self, stream: str) -> bool:
        """Tell whether anybody listens to a stream."""
        return any(name in (None, stream) for name in self._queues.values())

    def followed(self, stream: str) -> bool:
        """Tell whether anybody listens to just that stream."""
        return stream in self._queues.values()

    @contextmanager
    def listen(self, stream: str | None) -> "Iterator[asyncio.Queue[News | None]]":
        """Listen to one stream, or to all."""
        queue: asyncio.Queue[News | None] = asyncio.Queue()
        self._queues[queue] = stream
        try:
            yield queue
        finally:
            self._queues.pop(queue, None)

    def tell(self, news: News) -> None:
        """Tell everybody who listens."""
        for queue, stream in list(self._queues.items()):
            if stream in (None, news.stream):
                if queue.qsize() >= BEHIND:
                    self._queues.pop(queue)
                    queue.put_nowait(None)
                else:
                    queue.put_nowait(news)

    def close(self) -> None:
        """End all listening."""
        for queue in list(self._queues):
            queue.put_nowait(None)
        self._queues.clear()
