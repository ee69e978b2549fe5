"""The threads of a run: reading, adapting and writing go on at the same time."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

from baserate.files.adapting.pieces import AdaptedPiece, CheckedPiece
from baserate.files.adapting.state import StreamState


class Stages(Protocol):
    """The work that a `Pipeline` shares out; each method is called in one thread, as its diagram shows."""

    def pieces(self) -> Iterator[CheckedPiece]:
        """Read the stream."""
        ...

    def step(self, piece: CheckedPiece) -> AdaptedPiece:
        """Adapt a piece."""
        ...

    def write(self, adapted: AdaptedPiece) -> None:
        """Append a piece to the output."""
        ...

    def should_save(self, last: Future[None]) -> bool:
        """Tell whether to save now; may wait until the `last` save is over."""
        ...

    def snapshot(self) -> StreamState:
        """Copy the state after the last step."""
        ...

    def save(self, state: StreamState) -> None:
        """Save such a copy, after the last piece that it counts was written."""
        ...

    def settle(self) -> None:
        """Force what was written so far to the disk."""
        ...


class Pipeline:
    """The loop over the pieces of a file.

    A piece passes from left to right, and each thread takes pieces in their order::

        reading thread          calling thread            writing thread            settling thread
        --------------          --------------            --------------            ---------------
        pieces() -- CheckedPiece --> step() -- AdaptedPiece --> write() --> output
                                      |                           |                 settle(): output
                                      |                           v                 to the disk, now
                                 snapshot() -- StreamState --> save() --> state     and then

    One piece is read ahead, and at most two wait to be written. A snapshot is saved after the piece that it was taken
    at has been written, so that a state never counts rows that the output does not have. What fails in a thread is
    raised in the calling one, and nothing is written after it.

    Parameters
    ----------
    stages : Stages
        The work.
    read_ahead : bool
        False for a pipe: pieces are then read in the calling thread, because one that waits for a pipe could not be
        stopped.
    """

    def __init__(self, stages: Stages, *, read_ahead: bool) -> None:
        self._stages, self._read_ahead = stages, read_ahead

    def run(self) -> None:
        """Take every piece through all stages."""
        stages = self._stages
        pieces = stages.pieces()
        with ThreadPoolExecutor(1) as reading, ThreadPoolExecutor(1) as writing, ThreadPoolExecutor(1) as settling:
            coming = self._next(reading, pieces)
            before_last = written = saved = settled = DONE
            while (piece := coming.result()) is not None:
                coming = self._next(reading, pieces)
                adapted = stages.step(piece)
                before_last.result()
                before_last, written = written, writing.submit(_after, written, stages.write, adapted)
                if stages.should_save(saved):
                    saved = writing.submit(_after, written, stages.save, stages.snapshot())
                    if settled.done():  # bit by bit, so that little is left to wait for at the end
                        settled = settling.submit(stages.settle)
            for last in (written, saved, settled):
                last.result()

    def _next(
        self, reading: ThreadPoolExecutor, pieces: Iterator[CheckedPiece]
    ) -> "Future[CheckedPiece | None] | _ReadWhenAsked":
        return reading.submit(next, pieces, None) if self._read_ahead else _ReadWhenAsked(pieces)


DONE: Future[None] = Future()
"""The future of work that is done already."""
DONE.set_result(None)


class _ReadWhenAsked(NamedTuple):
    """A piece that is read in the thread that asks for it."""

    pieces: Iterator[CheckedPiece]

    def result(self) -> CheckedPiece | None:
        return next(self.pieces, None)


def _after(before: Future[None], work: Callable[[Any], None], argument: Any) -> None:
    """Do some work in the writing thread, but not where the work `before` it has failed."""
    before.result()
    work(argument)
