"""Taking: what a route that takes batches needs of streams, whichever process they are in."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from baserate.service.definitions import Definition
from baserate.service.entries import Answer, Rows
from baserate.service.problems import InvalidError, RenewedError


class TakingStream(Protocol):
    """A stream that takes batches."""

    name: str

    @property
    def definition(self) -> Definition:
        """The definition to read a batch with."""

    async def take(self, rows: Rows, mode: str, meant: str, batch_id: str | None) -> Answer:
        """Answer a batch when its effect is on disk.

        Parameters
        ----------
        rows : Rows
        mode : str
            ``"adapt"``, ``"predict"`` (without learning) or ``"learn"`` (without an answer to its rows).
        meant : str
            The fingerprint of the definition that the batch was read with; `RenewedError` if it is another one by now.
        batch_id : str or None
        """


class TakingStreams(Protocol):
    """Streams by name."""

    async def get(self, name: str) -> TakingStream:
        """Return a stream. Raises `NotKnownError` if there is none of that name."""

    async def renewed(self, name: str) -> TakingStream:
        """Return a stream with the definition that it has now, whatever is remembered of it."""


S = TypeVar("S", bound=TakingStream)
T = TypeVar("T")


async def as_defined(
    stream: S, renew: Callable[[str], Awaitable[S]], work: Callable[[S, Definition], Awaitable[T]]
) -> T:
    """Return what a request is answered that is read with the definition of a stream.

    What is known of the definition may be outdated: a request that it refuses is read once more with the one that the
    stream has now, if that is another one.
    """
    definition = stream.definition
    try:
        return await work(stream, definition)
    except (RenewedError, InvalidError) as error:
        stream = await renew(stream.name)
        if isinstance(error, InvalidError) and stream.definition.fingerprint == definition.fingerprint:
            raise
    return await work(stream, stream.definition)
