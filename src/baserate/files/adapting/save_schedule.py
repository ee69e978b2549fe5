"""The moments at which a run saves its state."""

import contextlib
import time
from collections.abc import Iterator
from concurrent.futures import Future

import numpy as np

PIECES = 32
"""The number of saves of a long file: a killed run has to do less than one part in so many again."""
SPENT, SHARE = 1.0, 0.1
"""The time that saving may take: so many seconds over a file, and this share of the run. A state that takes long to
save, such as one of very many keys, is saved less often."""
_SECONDS = 30.0  # between saves, at the most


class SaveSchedule:
    """Decides when to save: after a small part of the file, or after some time; less often, where that takes long.

    Parameters
    ----------
    n_rows : int or None
        Rows of the file, if known.
    row : int
        The row that the run starts at.
    """

    def __init__(self, n_rows: int | None, row: int) -> None:
        self._n_rows = np.inf if n_rows is None else max(n_rows, 1)
        self._first = self._last = row
        self._begun = self._since = time.monotonic()
        self._spent = 0.0

    def is_due(self, row: int, last: Future[None]) -> bool:
        """Tell whether to save after so many rows; waits until the `last` save is over."""
        now = time.monotonic()
        if row - self._last < self._n_rows / PIECES and now - self._since < _SECONDS:
            return False
        last.result()
        if self._spent > SPENT * (row - self._first) / self._n_rows + SHARE * (now - self._begun):
            return False
        self._last, self._since = row, now
        return True

    @contextlib.contextmanager
    def saving(self) -> Iterator[None]:
        """Count the time that is spent inside as time of saving."""
        begun = time.monotonic()
        yield
        self._spent += time.monotonic() - begun
