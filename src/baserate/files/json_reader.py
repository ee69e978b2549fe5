"""JSON lines: one object a line, all with the same fields."""

import io
import json
from collections.abc import Collection, Iterator
from typing import Any, NoReturn

from baserate.files.lines import Block, blocks, check_text
from baserate.files.problem import FileProblemError, shortened
from baserate.files.reading import Chunk, check_columns
from baserate.files.source import Source
from baserate.frames import no_panic, polars

_KINDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", type(None): "nothing"}


class JsonLinesReader:
    """Reads a file of JSON lines. The types of the fields are those of the first block."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._file = source.open()
        self._types: dict[str, Any] | None = None
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
            raise FileProblemError(source.shown, "is empty; expected at least one line")
        check_text(first.data, source.shown)
        self._first = first
        # What is the first object's is the file's: a field that comes later is told of with its row.
        try:
            self._start = json.loads(first.data.lstrip().split(b"\n", 1)[0])
        except ValueError as error:
            raise FileProblemError(source.shown, f"is not JSON ({error}); expected an object a line", row=0) from error
        if not isinstance(self._start, dict):
            raise FileProblemError(source.shown, "is not an object; expected one a line, with fields by name", row=0)
        self.columns = check_columns(list(self._start), source.shown)
        self.n_rows: int | None = None
        if not source.is_stream:
            self.n_rows = int(source.path.stat().st_size / len(first.data) * first.data.count(b"\n"))

    def close(self) -> None:
        if not self._source.is_stream:
            self._file.close()

    def chunks(
        self, numbers: Collection[str], *, of_one_type: str | None = None, row: int = 0, mark: int = 0
    ) -> Iterator[Chunk]:
        found: Iterator[Block] = self._all_blocks()
        if row or mark:
            self._learn_types(self._first.data, numbers, 0)  # as the run from the start had them
            self._file.seek(mark)
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

    def _learn_types(self, data: bytes, numbers: Collection[str], row: int) -> Any:
        pl = polars()
        try:
            with no_panic():
                frame = pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
        except Exception as error:
            self._diagnose(data, numbers, row, error)
        if self._types is None:
            self._types = {
                name: pl.Float64 if name in numbers else pl.String if kind == pl.Null else kind
                for name, kind in frame.schema.items()
                if name in self.columns
            }
        return frame

    def _parsed(self, data: bytes, numbers: Collection[str], row: int) -> Any:
        pl = polars()
        frame = self._learn_types(data, numbers, row)
        assert self._types is not None
        try:
            if set(frame.columns) - set(self.columns):
                raise ValueError("new fields")
            lacking = [pl.lit(None, dtype=self._types[name]).alias(name) for name in self.columns if name not in frame]
            return frame.with_columns(lacking).select(pl.col(name).cast(self._types[name]) for name in self.columns)
        except Exception as error:
            self._diagnose(data, numbers, row, error)

    def _check_type(self, data: bytes, column: str, row: int) -> None:
        """Check that a field is all text or all whole numbers; polars would make text of a mixture."""
        lines = (line for line in data.split(b"\n") if line.strip())
        for i, line in enumerate(lines, start=row):
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
        lines = [line for line in data.split(b"\n") if line.strip()]
        for i, line in enumerate(lines, start=row):
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
                if field in numbers and not (value is None or isinstance(value, int | float)):
                    raise FileProblemError(
                        name,
                        f"holds {shortened(repr(value), 30)}; expected a probability, such as 0.25",
                        row=i,
                        column=field,
                    ) from error
        raise FileProblemError(
            name, f"a field changes its type after this row ({str(error).splitlines()[0]})", row=row
        ) from error
