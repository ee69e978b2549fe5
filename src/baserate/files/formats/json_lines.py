"""JSON lines: one object a line, all with the same fields."""

import io
import json
import math
import re
from collections.abc import Collection, Iterator
from typing import IO, Any, NoReturn

from baserate.files.errors import FileProblemError, shortened
from baserate.files.formats._column_types import parts_of
from baserate.files.formats._json_types import called, is_of, joined_type, may_have_changed
from baserate.files.formats._lines import BOM, Block, blocks, check_text, guess_rows
from baserate.files.formats._sinks import TextSink
from baserate.files.formats.format import Chunk, Format, Sink, SinkMark, check_columns
from baserate.files.source import Source
from baserate.frames import no_panic, polars

DEEPEST = 100
"""The most lists and objects within each other."""
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"')
_KINDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", type(None): "nothing"}


class JsonLinesReader:
    """A reader of JSON lines.

    The type of a field is the one that it has in the first block where it is not empty. A later block that would have
    to be changed for it is refused; only of a pipe, whole numbers may become numbers with a fraction, because nobody
    can look ahead there.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._file = source.open()
        self._types: dict[str, Any] = {}
        self._kind: type | None = None
        try:
            self._begin(source)
        except BaseException:
            self.close()
            raise

    def _begin(self, source: Source) -> None:
        """Read the first line."""
        self._blocks = blocks(self._file, 0, source.shown, quoted=False)
        first = next(self._blocks, None)
        if first is None or not first.data.strip():
            raise FileProblemError(
                source.shown, "is empty; expected at least one line. Check the program that writes it"
            )
        check_text(first.data, source.shown)
        if first.data.startswith(BOM):
            first = Block(first.data[len(BOM) :], len(BOM))
        self._first = first
        # What is the first object's is the file's: a field that comes later is told of with its row.
        line = first.data.lstrip().split(b"\n", 1)[0]
        _check_depth(line, source.shown, 0)
        try:
            self._start = json.loads(line)
        except ValueError as error:
            raise FileProblemError(source.shown, f"is not JSON ({error}); expected an object a line", row=0) from error
        if not isinstance(self._start, dict):
            raise FileProblemError(source.shown, "is not an object; expected one a line, with fields by name", row=0)
        self.columns = check_columns(list(self._start), source.shown)
        self.n_rows = guess_rows(self._file, first.data)

    def close(self) -> None:
        if not self._source.is_stream:
            self._file.close()

    def chunks(
        self, numbers: Collection[str], *, of_one_type: str | None = None, row: int = 0, mark: int = 0
    ) -> Iterator[Chunk]:
        found: Iterator[Block] = self._all_blocks()
        if row or mark:
            self._parsed(self._first.data, numbers, 0)  # for the types, as the run from the start had them
            self._file.close()
            self._file = self._source.open(mark)
            found = blocks(self._file, mark, self._source.shown, quoted=False)
        for block in found:
            frame = self._parsed(block.data, numbers, row)
            if of_one_type is not None:
                self._check_type(block.data, of_one_type, row)
            yield Chunk(frame, row, block.start, row)
            row += len(frame)

    def _all_blocks(self) -> Iterator[Block]:
        yield self._first
        yield from self._blocks

    def _parsed(self, data: bytes, numbers: Collection[str], row: int) -> Any:
        pl = polars()
        _check_depth(data, self._source.shown, row)
        try:
            with no_panic():
                frame = pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
            if set(frame.columns) - set(self.columns):
                raise ValueError("new fields")
            return pl.DataFrame([self._column(frame, name, name in numbers, data, row) for name in self.columns])
        except FileProblemError:
            raise
        except Exception as error:
            self._diagnose(data, numbers, row, error)

    def _column(self, frame: Any, name: str, is_number: bool, data: bytes, row: int) -> Any:
        """A field of a block, in the type that it has in the rows before; refused if that would change a value."""
        pl = polars()
        known = self._types.get(name, pl.Null())
        if name not in frame.columns:
            return pl.repeat(None, len(frame), dtype=known, eager=True).alias(name)
        values = frame.get_column(name)
        if is_number:
            if values.dtype == pl.Boolean:
                raise ValueError("true or false in the place of a probability")
            return values.cast(pl.Float64)
        joined = joined_type(known, values.dtype, widen=self._source.is_stream)
        if joined is None or may_have_changed(values, joined, data):
            joined = joined or known
            self._check_values(data, name, joined, row)
        self._types[name] = joined
        try:
            return values.cast(joined)
        except pl.exceptions.PolarsError as error:
            self._complain(name, row, f"holds values that do not fit with those before ({_first_line(error)})", error)

    def _check_values(self, data: bytes, name: str, kind: Any, row: int) -> None:
        """Check every value of a field by itself; slow, and only where there is reason to."""
        mixed = name not in self._types and kind == polars().String  # which polars makes of any mixture
        first = None
        for i, line in enumerate(_lines(data), start=row):
            value = json.loads(line).get(name)
            first = value if first is None else first
            if value is not None and (_kind(value) is not _kind(first) if mixed else not is_of(value, kind)):
                such = ", such as 3.0 in the place of 3" if isinstance(value, int | float) and kind.is_numeric() else ""
                other = (
                    f"rows before it such as {shortened(repr(first), 30)}" if mixed else f"other rows {called(kind)}"
                )
                what = f"holds {shortened(repr(value), 30)}, and {other}; give all rows the same type{such}"
                self._complain(name, i, what)

    def _complain(self, name: str, row: int, what: str, error: Exception | None = None) -> NoReturn:
        raise FileProblemError(self._source.shown, what, row=row, column=name) from error

    def _check_type(self, data: bytes, column: str, row: int) -> None:
        """Check that a field is all text or all whole numbers; polars would make text of a mixture."""
        for i, line in enumerate(_lines(data), start=row):
            kind = type(json.loads(line).get(column))
            self._kind = self._kind or kind
            if kind is not self._kind and kind in (str, int, float, bool):
                raise FileProblemError(
                    self._source.shown,
                    f"holds {_KINDS[kind]}, and rows before it {_KINDS.get(self._kind, 'something else')}; make them "
                    "all text or all whole numbers",
                    row=i,
                    column=column,
                )

    def _diagnose(self, data: bytes, numbers: Collection[str], row: int, error: Exception) -> NoReturn:
        """Say which row and field could not be read; slow, and only once."""
        name = self._source.shown
        before: dict[str, Any] = {}
        for i, line in enumerate(_lines(data), start=row):
            try:
                fields = json.loads(line)
            except ValueError as wrong:
                raise FileProblemError(name, f"is not JSON ({wrong}); expected an object a line", row=i) from error
            if not isinstance(fields, dict):
                raise FileProblemError(name, "is not an object; expected one a line", row=i) from error
            for field, value in fields.items():
                if field not in self.columns:
                    raise FileProblemError(
                        name, "the first line has no such field; give all lines the same", row=i, column=field
                    ) from error
                if isinstance(value, float) and not math.isfinite(value):  # Python reads and writes it
                    what = f"holds {value}, which is not JSON; write null, or drop the row"
                    self._complain(field, i, what.replace("nan", "NaN"), error)
                if field in numbers and not (value is None or is_of(value, polars().Float64())):
                    what = f"holds {shortened(repr(value), 30)}; expected a probability, such as 0.25"
                    self._complain(field, i, what, error)
                first = value if value is None else before.setdefault(field, value)
                if _kind(value) is not _kind(first):
                    what = (
                        f"holds {shortened(repr(value), 30)}, and rows before it such as {shortened(repr(first), 30)}"
                    )
                    self._complain(field, i, f"{what}; give all rows the same type", error)
        raise FileProblemError(name, f"cannot be read from this row on ({_first_line(error)})", row=row) from error


def _check_depth(data: bytes, name: str, row: int) -> None:
    """Refuse lists and objects that are too deep within each other, at which readers give up in bad ways."""
    if data.count(b"[") + data.count(b"{") <= DEEPEST:
        return
    for i, line in enumerate(_lines(data), start=row):
        if line.count(b"[") + line.count(b"{") > DEEPEST and _depth(line) > DEEPEST:
            raise FileProblemError(name, f"lists and objects are more than {DEEPEST} deep within each other", row=i)


def _depth(line: bytes) -> int:
    """The number of lists and objects that are within each other; an upper limit where brackets do not match."""
    deepest = depth = 0
    for bracket in re.findall(rb"[][{}]", _TEXT.sub(b"", line)):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _kind(value: Any) -> type:
    return float if type(value) is int else type(value)


def _lines(data: bytes) -> Iterator[bytes]:
    return (line for line in data.split(b"\n") if line.strip())


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _write(frame: Any, target: IO[bytes], _first: bool) -> None:
    frame.write_ndjson(target)


def _sink(file: IO[bytes], mark: SinkMark | None) -> Sink:
    return TextSink(file, mark, _write)


def _can_hold(kind: Any) -> bool:
    return all(part != polars().Binary for part in parts_of(kind))


FORMATS = (
    Format(
        "jsonl",
        "a file of JSON lines",
        (".jsonl", ".ndjson"),
        JsonLinesReader,
        _sink,
        _can_hold,
        instead="Parquet",
    ),
)
