"""CSV and tab-separated files, in blocks of lines. Columns that are not needed as numbers stay text, unchanged."""

import csv
import io
import re
from collections.abc import Collection, Iterator
from typing import IO, Any, NoReturn

from baserate.files.errors import FileProblemError, shortened
from baserate.files.formats._lines import BOM, Block, blocks, check_text, guess_rows
from baserate.files.formats._sinks import TextSink
from baserate.files.formats.format import CELLS, EMPTY, Chunk, Format, Sink, SinkMark, check_columns
from baserate.files.source import Source
from baserate.frames import no_panic, polars

_USUAL = (",", ";", "\t", "|")
_QUOTED = re.compile(rb'"[^"]*"')

_FOR_EXCEL = re.compile('"?sep=.?"?', re.IGNORECASE)


class CsvReader:
    """A reader of text with a header, fields separated by one character, and quotes as in CSV.

    A header without the separator that has one other of the usual ones is read by that, which a warning says. So are
    decimal commas, where commas do not separate.
    """

    def __init__(self, source: Source, separator: str = ",") -> None:
        self._source = source
        self._separator = source.separator or separator
        self._decimal_comma = False
        self._file = source.open()
        try:
            self._begin(source)
        except BaseException:
            self.close()
            raise

    def _begin(self, source: Source) -> None:
        """Read the header."""
        self._blocks = blocks(self._file, 0, source.shown, quoted=True)
        first = next(self._blocks, None)
        if first is None:
            raise FileProblemError(source.shown, EMPTY)
        check_text(first.data, source.shown)
        bom = len(BOM) if first.data.startswith(BOM) else 0
        header, end = self._header(first.data, bom)
        self.columns = check_columns(header, source.shown)
        self._first = Block(first.data[end:], end)
        self.n_rows = guess_rows(self._file, self._first.data)

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
            text = data[start:end].decode()
            if _FOR_EXCEL.fullmatch(text.rstrip("\r\n")):
                what = f"the first line is {text.strip()!r}, which only Excel knows; drop that line"
                raise FileProblemError(self._source.shown, what)
            self._separator = self._separator_of(text)
            return _fields(text, self._separator), end
        except (UnicodeDecodeError, csv.Error) as error:
            raise FileProblemError(
                self._source.shown, f"the header cannot be read ({error}); expected UTF-8 text"
            ) from error

    def _separator_of(self, header: str) -> str:
        """The separator of a header: the usual one of the format, or the only other that it has."""
        if len(_fields(header, self._separator)) > 1:
            return self._separator
        others = [other for other in _USUAL if other != self._separator and len(_fields(header, other)) > 1]
        if not others:
            return self._separator
        if len(others) > 1 or self._source.separator is not None:
            asked, lines = "", " or ".join(f"add --separator {_shown(other)}" for other in others)
            if self._source.separator is not None:
                asked = ", which --separator asks for"
                lines = "leave --separator out: what separates a file's columns is then found for each file"
            raise FileProblemError(
                self._source.shown, f"the header has no {_shown(self._separator)}{asked}, and is one column; {lines}"
            )
        _warn(
            f"{self._source.shown} is read with {_shown(others[0])} between its columns, because its header has no "
            f"{_shown(self._separator)} (--separator {_shown(others[0])} says so)."
        )
        return others[0]

    def chunks(
        self, numbers: Collection[str], *, of_one_type: str | None = None, row: int = 0, mark: int = 0
    ) -> Iterator[Chunk]:
        if row or mark:
            self._file.close()
            self._file = self._source.open(mark)
            found: Iterator[Block] = blocks(self._file, mark, self._source.shown, quoted=True)
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
            raise FileProblemError(
                self._source.shown, "is empty; it has a header, but no rows. Check the program that writes it"
            )

    def _all_blocks(self) -> Iterator[Block]:
        if self._first.data.strip(b"\r\n"):
            yield self._first
        yield from self._blocks

    def _parsed(self, data: bytes, numbers: Collection[str], row: int) -> Any:
        try:
            frame = self._frame(data, numbers)
        except Exception as error:
            if not self._has_decimal_commas(data, numbers):
                self._diagnose(data, numbers, row, error)
            frame = self._frame(data, numbers)
        if self._has_short_rows(frame, data):
            self._check_rows(data.decode(), numbers, row, None)
        return frame

    def _frame(self, data: bytes, numbers: Collection[str]) -> Any:
        pl = polars()
        with no_panic():
            return pl.read_csv(
                data,
                has_header=False,
                schema={name: pl.Float64 if name in numbers else pl.String for name in self.columns},
                separator=self._separator,
                raise_if_empty=False,
                decimal_comma=self._decimal_comma,
            )

    def _has_decimal_commas(self, data: bytes, numbers: Collection[str]) -> bool:
        """Tell whether rows that cannot be read can be with decimal commas, and read these from now on."""
        if self._decimal_comma or self._separator == ",":
            return False
        self._decimal_comma = True
        try:
            self._frame(data, numbers)
        except Exception:
            self._decimal_comma = False
            return False
        _warn(f"{self._source.shown} has decimal commas: 0,25 is read as 0.25.")
        return True

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
                if fields[place] and not self._is_number(fields[place]):
                    raise FileProblemError(
                        name,
                        f"holds {shortened(repr(fields[place]), 30)}; expected a probability, such as 0.25"
                        + _advice(fields[place]),
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

    def _is_number(self, field: str) -> bool:
        return _is_number(field.strip().replace(",", ".", 1) if self._decimal_comma else field)


def _warn(message: str) -> None:
    from baserate.validation import warn_user  # which needs numpy, and --help must not wait for it

    warn_user(message)


def _fields(line: str, separator: str) -> list[str]:
    return next(csv.reader(io.StringIO(line, newline=""), delimiter=separator), [])


def _shown(separator: str) -> str:
    return "tab" if separator == "\t" else f"'{separator}'"


def _advice(field: str) -> str:
    """Advice on how to write a number that cannot be read."""
    if re.fullmatch(r"\s*-?\d*,\d+\s*", field):
        return ", with a decimal point"
    if re.fullmatch(r"\s*-?\d+([.,]\d+)?\s*%\s*", field):
        return ". Percentages are read with --percent, and written without the sign, such as 12.5"
    if _is_number(field.strip()):
        return ", without spaces around it"
    if field.strip().isalpha():
        return ". If these are predicted classes, name the column with the model's probability of a class instead"
    return ""


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
