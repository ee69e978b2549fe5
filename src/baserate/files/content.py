"""The content of a file, by which it is known again, whatever it is called: every byte is hashed while it is read.

SHA-256, because files may be made to be taken for others, and because processors have instructions for it.
"""

import hashlib
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from baserate.files.errors import FileProblemError

SAMPLES_LENGTH = 64
"""The number of digits of `samples_of`."""
_SAMPLES, _SAMPLE = 64, 1 << 16
_BLOCK = 1 << 20


class ReadMark(NamedTuple):
    """The first bytes of a file: how many, and their hash."""

    size: int
    digest: str


def fingerprint(path: Path) -> str:
    """The hash by which a file is known again: of samples, as `samples_of` gives it, then of every byte."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(_BLOCK):
            found.update(data)
    return samples_of(path) + found.hexdigest()


def is_known_as(mine: str, known: str | None) -> bool:
    """Tell whether a file with the one fingerprint is the file with the other, of which there may be samples only."""
    return bool(known) and mine.startswith(str(known))


def samples_of(path: Path) -> str:
    """A hash of a file's size and of samples from all over it; it tells most files apart without reading them whole."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        found.update(str(size).encode())
        step = max((size - _SAMPLE) // (_SAMPLES - 1), _SAMPLE)
        for start in range(0, size, step):
            file.seek(min(start, max(size - _SAMPLE, 0)) if size > _SAMPLES * _SAMPLE else start)
            found.update(file.read(_SAMPLE))
    return found.hexdigest()


class Content:
    """The hash of a file that is being read, which is made in a thread of its own.

    Whoever reads the file hands over what is read (`take`), or says how far (`read_to`). What is not handed over is
    read here.

    Parameters
    ----------
    path : path
        The file.
    name : str
        Its name in messages.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._path, self._name = path, name
        self._found = _entry(path)
        self.samples = samples_of(path)
        self._file = path.open("rb")
        self._hash, self._size = hashlib.sha256(), 0
        self._thread = ThreadPoolExecutor(1)
        self._lock = Lock()  # one thread reads on while another saves how far it is
        self._work: Future[None] | None = None

    def close(self) -> None:
        """Close the file."""
        self._thread.shutdown()
        self._file.close()

    def take(self, start: int, data: bytes) -> None:
        """Take over the bytes that were read at a place; what was there before is left out."""
        self._submit(self._add, start, data)

    def read_to(self, end: int) -> None:
        """Read the file up to a place, while the caller goes on."""
        self._submit(self._read, end)

    def mark(self) -> ReadMark:
        """The bytes so far."""
        with self._lock:
            self._wait()
            return ReadMark(self._size, self._hash.hexdigest())

    def begins_with(self, mark: ReadMark) -> bool:
        """Tell whether the file begins as another did; nothing of it may have been read after that."""
        if self.mark().size > mark.size:
            with self._path.open("rb") as file:
                return hashlib.sha256(file.read(mark.size)).hexdigest() == mark.digest
        self.read_to(mark.size)
        return self.mark() == mark

    def whole(self) -> str:
        """The fingerprint as the bytes are now: of those that were handed over, and of the rest, which is read."""
        self.read_to(os.fstat(self._file.fileno()).st_size)
        return self.samples + self.mark().digest

    def is_known_as(self, known: str | None) -> bool:
        """Tell whether it is the file with a fingerprint; reads it only if the samples are the same."""
        return bool(known) and str(known).startswith(self.samples) and is_known_as(self.whole(), known)

    def fingerprint(self) -> str:
        """The fingerprint, once the file was read.

        Raises
        ------
        FileProblemError
            If the file has changed meanwhile.
        """
        found = self.whole()
        if _entry(self._path) != self._found and _fingerprint_now(self._path) != found:
            raise FileProblemError(
                self._name, "has changed while it was read; run the command again once nothing writes to the file"
            )
        return found

    def _submit(self, work: Callable[..., None], *arguments: Any) -> None:
        with self._lock:
            self._wait()  # one at a time, so that little waits in memory
            self._work = self._thread.submit(work, *arguments)

    def _wait(self) -> None:
        if self._work is not None:
            self._work.result()

    def _add(self, start: int, data: bytes) -> None:
        known = self._size - start
        if 0 <= known < len(data):
            self._hash.update(memoryview(data)[known:])
            self._size = start + len(data)

    def _read(self, end: int) -> None:
        self._file.seek(self._size)
        while data := self._file.read(max(min(end - self._size, _BLOCK), 0)):
            self._hash.update(data)
            self._size += len(data)


class WatchedFile:
    """A file whose bytes are handed over to its `Content` as they are read.

    Parameters
    ----------
    path : path
        The file.
    content : Content, optional
        Is given what is read.
    start : int
        The place to read from.
    """

    def __init__(self, path: Path, content: Content | None = None, start: int = 0) -> None:
        self._file, self._content = path.open("rb"), content
        self.place = self._file.seek(start)

    def read(self, size: int = -1) -> bytes:
        """Read so many bytes, or all; fewer only at the end."""
        data = self._file.read(size)
        if self._content is not None and data:
            self._content.take(self.place, data)
        self.place += len(data)
        return data

    def guess_size(self) -> float:
        """The number of bytes of the whole file."""
        return os.fstat(self._file.fileno()).st_size

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _entry(path: Path) -> tuple[int, ...] | None:
    """The file system's own data on a file, which changes whenever the file does."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _fingerprint_now(path: Path) -> str | None:
    try:
        return fingerprint(path)
    except OSError:
        return None
