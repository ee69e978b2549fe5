"""Parquet files, by row groups."""

from collections.abc import Collection, Iterator

from baserate.files.parquet_parts import group_rows, read_footer
from baserate.files.problem import FileProblemError
from baserate.files.reading import CELLS, Chunk, check_columns
from baserate.files.source import Source
from baserate.frames import no_panic, polars

_LONG_FOOTER = 1 << 20


class ParquetReader:
    """Reads a Parquet file; a row group at a time where it is not too large."""

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
        self.n_rows: int | None = sum(self._groups)
        if not self.n_rows:
            raise FileProblemError(source.name, "is empty; it has columns, but no rows")

    def _read_groups(self) -> list[int]:
        """Rows of each row group: it is quicker to read them whole. A long footer is not worth the look."""
        footer = read_footer(self._source.path, _LONG_FOOTER)
        if footer is not None:
            return group_rows(footer)
        pl = polars()
        return [pl.scan_parquet(self._source.path, glob=False).select(pl.len()).collect().item()]

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
        for n in self._groups:
            end = begin + n
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
