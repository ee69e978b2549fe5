"""Taking: what a route that takes batches needs of streams, whichever process they are in."""

from typing import Protocol

from baserate.service.definitions import Definition
from baserate.service.entries import Answer, Rows


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
