"""Parquet files: read and written by row groups."""

from collections.abc import Collection, Iterator
from typing import IO, Any

from baserate.files.errors import FileProblemError
from baserate.files.formats._column_types import parts_of
from baserate.files.formats._parquet_footer import (
    footer_of,
    group_ends,
    group_rows,
    part_of_footer,
    read_footer,
    take_footer,
)
from baserate.files.formats._sinks import FileSink
from baserate.files.formats.format import CELLS, Chunk, Format, SinkMark, check_columns
from baserate.files.source import Source
from baserate.frames import disk_errors, no_panic, polars

_LONG_FOOTER = 1 << 20


class ParquetReader:
    """A reader of a Parquet file; a row group at a time where it is not too large."""

    def __init__(self, source: Source) -> None:
        self._source = source
        pl = polars()
        try:
            with no_panic():
                self._types = dict(pl.read_parquet_schema(source.path))
            self.columns = check_columns(list(self._types), source.name)
            self._groups = self._read_groups()
        except FileProblemError:
            raise
        except Exception as error:  # a damaged file can trip any part of the reader
            raise FileProblemError(
                source.name, f"is not a Parquet file, or is truncated or damaged ({str(error).splitlines()[0]})"
            ) from error
        self.n_rows: int | None = sum(n for n, _ in self._groups)
        if not self.n_rows:
            raise FileProblemError(
                source.name, "is empty; it has columns, but no rows. Check the program that writes it"
            )

    def _read_groups(self) -> list[tuple[int, int]]:
        """Rows of each row group, and where it ends: to read them whole is quicker. A long footer is not worth it."""
        footer = read_footer(self._source.path, _LONG_FOOTER)
        if footer is not None:
            return list(zip(group_rows(footer), group_ends(footer), strict=True))
        pl = polars()
        n_rows = pl.scan_parquet(self._source.path, glob=False).select(pl.len()).collect().item()
        return [(n_rows, self._source.path.stat().st_size)]

    def close(self) -> None:
        pass

    def chunks(
        self, numbers: Collection[str], *, of_one_type: str | None = None, row: int = 0, mark: int = 0
    ) -> Iterator[Chunk]:
        pl = polars()
        for column in self.columns:
            if column in numbers and not (self._types[column].is_numeric() or self._types[column] == pl.Null):
                raise FileProblemError(
                    self._source.name,
                    f"holds values of the type {self._types[column]}; expected probabilities, which are numbers",
                    row=0,
                    column=column,
                )
        most = max(CELLS // len(self.columns), 1024)
        begin = 0
        for n, place in self._groups:
            end = begin + n
            if self._source.content is not None and end > row:
                self._source.content.read_to(place)  # while polars reads the same, which is then in memory
            for start in range(max(begin, row), end, most):
                try:
                    with no_panic():
                        part = (
                            pl.scan_parquet(self._source.path, glob=False)
                            .slice(start, min(most, end - start))
                            .collect()
                        )
                except Exception as error:
                    raise FileProblemError(
                        self._source.name, f"cannot be read; it is damaged ({str(error).splitlines()[0]})", row=start
                    ) from error
                yield Chunk(part, start, start, start)
            begin = end


class ParquetSink(FileSink):
    """A Parquet file that grows by a row group for each frame; the footers are kept and joined at the end."""

    def __init__(self, file: IO[bytes], mark: SinkMark | None = None) -> None:
        super().__init__(file, mark)
        self._groups: list[bytes] = []
        self._n_rows = 0
        self._frame = b""
        if mark is not None and mark.footer:
            try:
                self._groups, self._n_rows, self._frame = part_of_footer(mark.footer)
            except Exception as error:  # bytes out of a state file, which may be anything
                file.close()
                raise ValueError(
                    "the state does not know the end of the output that was begun; use --restart."
                ) from error

    def append(self, frame: Any) -> None:
        # Probabilities hardly compress: zstd takes twice as long to make the file a twentieth smaller.
        with disk_errors():
            frame.write_parquet(self._file, compression="snappy", row_group_size=max(len(frame), 1))
        part = take_footer(self._file, self._size, len(self._groups))
        self._size = self._file.tell()
        if self._frame and part.frame != self._frame:
            raise ValueError("the columns have changed their types since the file was begun.")
        self._groups += part.groups
        self._n_rows += part.n_rows
        self._frame = part.frame

    def mark(self) -> SinkMark:
        return mark_of_parts(self._size, self._groups, self._n_rows, self._frame)

    def finish(self, *, settled: bool = False) -> None:
        self._write(footer_of(self._frame, self._groups, self._n_rows))
        super().finish(settled=settled)


def mark_of_parts(size: int, groups: list[bytes], n_rows: int, frame: bytes) -> SinkMark:
    """The mark of a file of some size, from its row groups, how many rows they have, and the rest of the footer."""
    return SinkMark(size, footer_of(frame, groups, n_rows) if frame else b"")


def _can_hold(kind: Any) -> bool:
    return all(part != polars().Struct or part.fields for part in parts_of(kind))


FORMATS = (
    Format(
        "parquet",
        "Parquet",
        (".parquet", ".pq"),
        ParquetReader,
        ParquetSink,
        _can_hold,
        instead="CSV or JSON lines",
        fixed_types=True,
        no_pipe="its end comes first",
        packable=False,
    ),
)
