"""Results of a grid in one tidy Parquet file: a row per cell that was run."""

import io
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from baserate.frames import polars as _polars
from baserate.state import write_atomically

_SECONDS_BETWEEN_WRITES = 2.0


class StoreError(ValueError):
    """Error: the file holds no results, or is damaged. The message says what to do."""


class Store:
    """Results by cell, in memory and in a Parquet file.

    A cell and its result are named tuples that share no field name. The columns of the file are the fields of both,
    the protocol and `made_by`. Rows of another `protocol` stay in the file and are otherwise ignored, so that results
    from before and after a change of a method are never mixed.

    Parameters
    ----------
    path : path
        The file; it is created with the first result.
    cell, result : types
        Named tuples with defaults of plain types.
    protocol : int
        Version of the experiment: raise it whenever the same cell would give another result.
    made_by : dict of str
        Written with each new row, for example the version of the package.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        cell: type[Any],
        result: type[Any],
        *,
        protocol: int,
        made_by: dict[str, str] | None = None,
    ) -> None:
        self.path = Path(path)
        self._cell, self._result, self._protocol = cell, result, protocol
        self._made_by = made_by or {}
        self._rows: list[dict[str, Any]] = []
        self._found: dict[Any, Any] = {}
        self._written = time.monotonic()
        self._dirty = False
        self._seen: tuple[int, int] | None = None
        _polars()  # fail now if it is missing, not when there are results to lose
        if self.path.is_dir():
            raise StoreError(f"{self.path} is a folder; name a file in it, such as {self.path / 'results.parquet'}.")
        if self.path.exists():
            self._read()

    @property
    def results(self) -> Mapping[Any, Any]:
        """Results by cell."""
        return MappingProxyType(self._found)

    def missing(self, cells: Iterable[Any]) -> list[Any]:
        """Cells that have no result yet, without repetitions, in the given order."""
        return [cell for cell in dict.fromkeys(cells) if cell not in self._found]

    def keep(self, cell: Any, result: Any) -> None:
        """Add a result; the file is written every few seconds, and at the latest by `flush`."""
        self._found[cell] = result
        self._rows.append(
            {**cell._asdict(), **result._asdict(), "protocol": self._protocol, **self._made_by},
        )
        self._dirty = True
        if time.monotonic() - self._written > _SECONDS_BETWEEN_WRITES:
            self.flush()

    def flush(self) -> None:
        """Write the file atomically."""
        if not self._dirty:
            return
        if self._stamp() != self._seen:
            self._take_in_others()
        polars = _polars()
        buffer = io.BytesIO()
        polars.DataFrame(self._rows, infer_schema_length=None).write_parquet(buffer)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path, buffer.getvalue())
        self._written, self._dirty, self._seen = time.monotonic(), False, self._stamp()

    def _stamp(self) -> tuple[int, int] | None:
        """A stamp that changes whenever the file is written."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        return found.st_mtime_ns, found.st_ino

    def _take_in_others(self) -> None:
        """Merge the rows that another process has written into the file in the meantime."""
        mine, rows = dict(self._found), self._rows
        if self._stamp() is not None:
            self._read()
            known = {self._key(row) for row in self._rows}
            rows = [*self._rows, *(row for row in rows if self._key(row) not in known)]
        self._rows, self._found = rows, {**self._found, **mine}

    def _key(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name in (*self._cell._fields, "protocol"))

    def _read(self) -> None:
        polars = _polars()
        try:
            table = polars.read_parquet(self.path)
            known = {*self._cell._fields, *self._result._fields, "protocol"}
            later = self._result._field_defaults  # fields that results of earlier versions lack
            if missing := known - set(table.columns) - set(later):
                raise ValueError(f"it has no column {', '.join(sorted(missing))}")
            rows: list[dict[str, Any]] = [{**later, **row} for row in table.to_dicts()]
            found = {
                self._cell(*(row[name] for name in self._cell._fields)): self._result(
                    *(row[name] for name in self._result._fields)
                )
                for row in rows
                if row["protocol"] == self._protocol
            }
        except Exception as error:  # a damaged file can raise anything
            raise StoreError(
                f"{self.path} is not a file of results, or is damaged ({error}); name another, or delete it."
            ) from error
        self._rows, self._found, self._seen = rows, found, self._stamp()
