"""Output files that grow and can be cut back: a run that was killed continues them where its state says."""

import io
import os
import sys
from collections.abc import Callable
from typing import IO, Any

from baserate.files.formats.format import SinkMark


class FileSink:
    """An open output file, and how much was written to it."""

    def __init__(self, file: IO[bytes], mark: SinkMark | None) -> None:
        self._file, self._size = file, 0 if mark is None else mark.size

    def _write(self, data: bytes | memoryview) -> None:
        left = memoryview(data)
        while left:  # a raw file may take a part, such as when the disk is nearly full
            left = left[self._file.write(left) :]
        self._size += len(data)

    def close(self) -> None:
        if self._file is sys.stdout.buffer:
            self._file.flush()
        else:
            self._file.close()

    def settle(self) -> None:
        if self._file is not sys.stdout.buffer:
            os.fsync(self._file.fileno())

    def finish(self, *, settled: bool = False) -> None:
        if settled:
            self.settle()
        self.close()


class TextSink(FileSink):
    """A text file, to which rows are simply added.

    Parameters
    ----------
    file : binary file
        Stands at its end.
    mark : SinkMark or None
        The mark that the file was cut back to; None: it is new.
    write : callable
        Writes a frame to a file; its third argument says whether these are the first rows.
    """

    def __init__(self, file: IO[bytes], mark: SinkMark | None, write: Callable[[Any, IO[bytes], bool], None]) -> None:
        super().__init__(file, mark)
        self._write_rows = write
        self._begun = mark is not None

    def append(self, frame: Any) -> None:
        # A copy in between would cost a fifth of the time; only a pipe gets one, because it may break at any byte.
        to_pipe = self._file is sys.stdout.buffer
        target: IO[bytes] = io.BytesIO() if to_pipe else self._file
        self._write_rows(frame, target, not self._begun)
        self._begun = True
        if isinstance(target, io.BytesIO):
            self._write(target.getbuffer())
            self._file.flush()
        else:
            self._size = os.fstat(target.fileno()).st_size

    def mark(self) -> SinkMark:
        return SinkMark(self._size)
