"""The check that the ids of a file are unique, each time their number has doubled, and at the end; 8 bytes a row."""

from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baserate.files.errors import FileProblemError, shortened
from baserate.frames import unnamed


class UniqueIds:
    """Hashes of the ids seen so far, which must be unique.

    Parameters
    ----------
    column : str
        Their column.
    file : str
        The file's name in messages.
    hashes : (n,) array, optional
        The hashes of rows from before.
    otherwise : str
        The end of the advice in messages: what else can be done.
    """

    def __init__(
        self,
        column: str,
        file: str,
        hashes: NDArray[np.uint64] | None = None,
        *,
        otherwise: str = ", or leave --id out",
    ) -> None:
        self.column, self._file, self._otherwise = column, file, otherwise
        self._parts = [] if hashes is None or not len(hashes) else [hashes]
        self._n = sum(map(len, self._parts))
        self._newest: Any = ()  # none, in a run that goes on where no rows are left
        self._next = max(2 * self._n, 1 << 16)
        self._lock = Lock()  # one thread reads on while another saves what there is

    def add(self, values: Any) -> None:
        """Take in the ids of the next rows."""
        values = unnamed(values)
        if values.null_count():
            bad = int(values.is_null().arg_max() or 0)
            raise FileProblemError(
                self._file,
                f"the id is missing; fill it in{self._otherwise}",
                row=self._n + bad,
                column=self.column,
            )
        with self._lock:
            self._parts.append(values.hash(1).to_numpy())
        self._n += len(values)
        self._newest = values
        if self._n >= self._next:
            self.check()

    @property
    def hashes(self) -> NDArray[np.uint64]:
        """The hashes of all rows so far, in their order."""
        with self._lock:
            if len(self._parts) > 1:
                self._parts = [np.concatenate(self._parts)]
            return self._parts[0] if self._parts else np.empty(0, dtype=np.uint64)

    def check(self) -> None:
        """Raise if an id came twice."""
        hashes = self.hashes
        order = np.argsort(hashes, kind="stable")
        twice = np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]])
        if len(twice):
            # Of all that came twice, the first that did.
            at = twice[np.argmin(order[twice + 1])]
            before, again = int(order[at]), int(order[at + 1])
            start = self._n - len(self._newest)
            value = f" {shortened(repr(self._newest[again - start]), 30)}" if again >= start else ""
            raise FileProblemError(
                self._file,
                f"the id{value} stands in row {before + 1:,} already; ids must be unique. Drop the row that is there "
                f"twice{self._otherwise}",
                row=again,
                column=self.column,
            )
        self._next = 2 * self._n
