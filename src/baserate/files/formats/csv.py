"""CSV and tab-separated files, in blocks of lines. Columns that are not needed as numbers stay text, unchanged."""

import csv
import io
import re
from collections.abc import Collection, Iterator
from typing import IO, Any, NoReturn

from baserate.files.errors import FileProblemError, shortened
from baserate.files.formats._lines import BOM, Block, blocks, check_text
from baserate.files.formats._sinks import TextSink
from baserate.files.formats.format import CELLS, Chunk, Format, Sink, SinkMark, check_columns
from baserate.files.source import Source
from baserate.frames import no_panic, polars

_QUOTED = re.compile(rb'"[^"]*"')


class CsvReader:
    """A reader of text with a header, fields separated by one character, and quotes as in CSV."""

    def __init__(self, source: Source, separator: str = ",") -> None:
        self._source = source
        self._separator = separator
        self._file = source.open()
        try:
            self._begin(source)
        except BaseException:
            self.close()
            raise

    def _begin(self, source: Source) -> None:
        """Read the header."""
        self._blocks = blocks(self._file, 0, source.shown, quoted=True, content=source.content)
        first = next(self._blocks, None)
        if first is None:
            raise FileProblemError(source.shown, "is empty; expected a header and at least one row")
        check_text(first.data, source.shown)
        bom = len(BOM) if first.data.startswith(BOM) else 0
        header, end = self._header(first.data, bom)
        self.columns = check_columns(header, source.shown)
        self._first = Block(first.data[end:], end)
        self.n_rows: int | None = None
        if not source.is_stream and self._first.data:
            lines = self._first.data.count(b"\n")
            self.n_rows = int(source.path.stat().st_size / len(self._first.data) * lines)

    def close(self) -> None:
        if not self._source.is_stream:
            self._file.close()

    def _header(self, data: bytes, start: int) -> tuple[list[str], int]:
        """The names of the columns, and where the next line starts."""
        end = data.find(b"\n", start) + 1
        while end and data.count(b'"', start, end) % 2:
            end = data.find(b"\n", end) + 1
        end = end or len(data)
        try:
            csv.field_size_limit(1 << 24)
            names = next(csv.reader(io.StringIO(data[start:end].decode(), newline=""), delimiter=self._separator), [])
        except (UnicodeDecodeError, csv.Error) as error:
            raise FileProblemError(
                self._source.shown, f"the header cannot be read ({error}); expected UTF-8 text"
            ) from error
        return names, end

    def chunks(
        self, numbers: Collection[str], *, of_one_type: str | None = None, row: int = 0, mark: int = 0
    ) -> Iterator[Chunk]:
        if row or mark:
            self._file.seek(mark)
            found: Iterator[Block] = blocks(
                self._file, mark, self._source.shown, quoted=True, content=self._source.content
            )
        else:
            found = self._all_blocks()
        width = len(self.columns)
        none = True
        for block in found:
            frame = self._parsed(block.data, numbers, row)
            none = none and row == 0 and len(frame) == 0
            # A block of short lines may hold more values than is good for what comes after.
            most = max(CELLS // width, 1024)
            for start in range(0, len(frame), most):
                yield Chunk(frame.slice(start, most), row + start, block.start, row)
            row += len(frame)
        if none:
            raise FileProblemError(self._source.shown, "is empty; it has a header, but no rows")

    def _all_blocks(self) -> Iterator[Block]:
        if self._first.data.strip(b"\r\n"):
            yield self._first
        yield from self._blocks

    def _parsed(self, data: bytes, numbers: Collection[str], row: int) -> Any:
        pl = polars()
        schema = {name: pl.Float64 if name in numbers else pl.String for name in self.columns}
        try:
            with no_panic():
                frame = pl.read_csv(
                    data, has_header=False, schema=schema, separator=self._separator, raise_if_empty=False
                )
        except Exception as error:
            self._diagnose(data, numbers, row, error)
        if self._has_short_rows(frame, data):
            self._check_rows(data.decode(), numbers, row, None)
        return frame

    def _has_short_rows(self, frame: Any, data: bytes) -> bool:
        """Tell whether fields seem to be missing at the ends of rows, which polars fills up without a word."""
        if not frame.get_columns()[-1].null_count():
            return False
        bare = _QUOTED.sub(b"", data) if b'"' in data else data
        return bare.count(self._separator.encode()) < len(frame) * (len(self.columns) - 1)

    def _diagnose(self, data: bytes, numbers: Collection[str], row: int, error: Exception) -> NoReturn:
        """Say which row and column polars could not read; slow, and only once."""
        name = self._source.shown
        try:
            text = data.decode()
        except UnicodeDecodeError as wrong:
            raise FileProblemError(
                name,
                "is not UTF-8 text here; convert the file, such as with iconv -f LATIN1 -t UTF-8",
                row=row + data.count(b"\n", 0, wrong.start),
            ) from error
        self._check_rows(text, numbers, row, error)
        self._check_quotes(text, row, error)
        raise FileProblemError(name, f"cannot be read as CSV ({str(error).splitlines()[0]})", row=row) from error

    def _check_rows(self, text: str, numbers: Collection[str], row: int, error: Exception | None) -> None:
        name = self._source.shown
        places = [i for i, column in enumerate(self.columns) if column in numbers]
        for i, fields in enumerate(csv.reader(io.StringIO(text, newline=""), delimiter=self._separator), start=row):
            if len(fields) != len(self.columns):
                raise FileProblemError(
                    name,
                    f"has {len(fields):,} fields; expected {len(self.columns):,}, as in the header. Put quotes around "
                    "fields that hold a separator",
                    row=i,
                ) from error
            for place in places:
                if fields[place] and not _is_number(fields[place]):
                    raise FileProblemError(
                        name,
                        f"holds {shortened(repr(fields[place]), 30)}; expected a probability, such as 0.25",
                        row=i,
                        column=self.columns[place],
                    ) from error

    def _check_quotes(self, text: str, row: int, error: Exception) -> None:
        """Look for a quote that neither begins nor ends a field, of which Python's reader makes nothing."""
        separator = re.escape(self._separator)
        field = re.compile(rf'(?:"(?:[^"]|"")*"|[^"\r\n{separator}]*)({separator}|\r?\n|$)')
        at = place = 0
        while at < len(text):
            found = field.match(text, at)
            if found is None:
                raise FileProblemError(
                    self._source.shown,
                    "has a quote within a field; put quotes around the whole field, and write those within it twice",
                    row=row,
                    column=self.columns[min(place, len(self.columns) - 1)],
                ) from error
            at = found.end()
            row, place = (row, place + 1) if found[1] == self._separator else (row + 1, 0)


def _is_number(field: str) -> bool:
    if field != field.strip() or "_" in field:
        return False  # which polars does not read, either
    try:
        float(field)
    except ValueError:
        return False
    return True


def can_hold(kind: Any) -> bool:
    """Tell whether a field of CSV can hold a type: anything but lists, objects, bytes and lengths of time.

    Examples
    --------
    >>> import polars as pl
    >>> can_hold(pl.String), can_hold(pl.List(pl.Int64))
    (True, False)
    """
    pl = polars()
    return not kind.is_nested() and kind not in (pl.Binary, pl.Duration)


def separated(name: str, title: str, suffixes: tuple[str, ...], separator: str) -> Format:
    """A format of text with a header whose fields are separated by a character."""

    def write(frame: Any, target: IO[bytes], first: bool) -> None:
        frame.write_csv(target, include_header=first, separator=separator)

    def reader(source: Source) -> CsvReader:
        return CsvReader(source, separator)

    def sink(file: IO[bytes], mark: SinkMark | None) -> Sink:
        return TextSink(file, mark, write)

    return Format(name, title, suffixes, reader, sink, can_hold, instead="Parquet")


CSV = separated("csv", "CSV", (".csv",), ",")
TSV = separated("tsv", "a tab-separated file", (".tsv",), "\t")
FORMATS = (CSV, TSV)
