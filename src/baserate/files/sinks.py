"""Files that grow and can be cut back: what a killed run has written is taken up again where its state says."""

import io
import os
import sys
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from baserate.files.parquet_parts import footer_of, take_footer
from baserate.frames import disk_errors


class Sink(Protocol):
    """Takes frames, all with the same columns."""

    def append(self, frame: Any) -> None:
        """Write some rows."""
        ...

    def mark(self) -> dict[str, Any]:
        """What a new sink needs to go on from here.

        Nothing is forced to the disk, which would take longer than the work: what a killed process has written is
        there, and after a power failure the file is too short, which is noticed.
        """
        ...

    def settle(self) -> None:
        """Force what was written so far to the disk; another thread may write on meanwhile."""
        ...

    def finish(self, *, settled: bool = False) -> None:
        """Write what belongs at the end, and close; `settled` on the disk, or when the system finds the time."""
        ...

    def close(self) -> None:
        """Close as it is."""
        ...


def open_sink(path: Path | None, format: str, mark: dict[str, Any] | None = None) -> Sink:  # noqa: A002
    """A file to append to.

    Parameters
    ----------
    path : path or None
        Where; None is standard output.
    format : str
        Of the file.
    mark : dict, optional
        Go on from a mark: what was written after it is cut off. Default: an empty file.
    """
    file: IO[bytes]
    if path is None:
        file = sys.stdout.buffer
    elif mark is None:
        file = path.open("w+b", buffering=0)
    else:
        file = path.open("r+b", buffering=0)
        file.truncate(mark["size"])
        file.seek(0, os.SEEK_END)
    return ParquetSink(file, mark) if format == "parquet" else TextSink(file, format, mark)


class _Sink:
    """A file, and how much was written."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._size = file, size

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


class TextSink(_Sink):
    """CSV, tab-separated or JSON lines."""

    def __init__(self, file: IO[bytes], format: str, mark: dict[str, Any] | None = None) -> None:  # noqa: A002
        super().__init__(file, mark["size"] if mark else 0)
        self._format = format
        self._begun = mark is not None

    def append(self, frame: Any) -> None:
        # A copy in between would cost a fifth of the time; only a pipe gets one, because it may break at any byte.
        to_pipe = self._file is sys.stdout.buffer
        target: IO[bytes] = io.BytesIO() if to_pipe else self._file
        if self._format == "jsonl":
            frame.write_ndjson(target)
        else:
            separator = "\t" if self._format == "tsv" else ","
            frame.write_csv(target, include_header=not self._begun, separator=separator)
        self._begun = True
        if isinstance(target, io.BytesIO):
            self._write(target.getbuffer())
            self._file.flush()
        else:
            self._size = os.fstat(target.fileno()).st_size

    def mark(self) -> dict[str, Any]:
        return {"size": self._size}


class ParquetSink(_Sink):
    """Parquet: a row group for each frame."""

    def __init__(self, file: IO[bytes], mark: dict[str, Any] | None = None) -> None:
        super().__init__(file, mark["size"] if mark else 0)
        self._groups: list[bytes] = []
        self._n_rows = 0
        self._frame = b""
        if mark is not None:
            self._n_rows, self._frame = mark["rows"], mark["frame"].tobytes()
            ends = mark["ends"].tolist()
            groups = mark["groups"].tobytes()
            self._groups = [groups[start:end] for start, end in zip([0, *ends], ends, strict=False)]

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

    def mark(self) -> dict[str, Any]:
        return {
            "size": self._size,
            "rows": self._n_rows,
            "frame": np.frombuffer(self._frame, dtype=np.uint8),
            "groups": np.frombuffer(b"".join(self._groups), dtype=np.uint8),
            "ends": np.cumsum([len(group) for group in self._groups], dtype=np.int64),
        }

    def finish(self, *, settled: bool = False) -> None:
        self._write(footer_of(self._frame, self._groups, self._n_rows))
        super().finish(settled=settled)
