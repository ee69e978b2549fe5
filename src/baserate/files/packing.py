"""Compressed files, gzip and zstd, unpacked while they are read; their first bytes tell them from plain ones."""

import gzip
from importlib import import_module
from pathlib import Path
from typing import Any

from baserate.files.content import Content, WatchedFile
from baserate.files.errors import FileProblemError

SUFFIXES = (".gz", ".zst")
"""The endings that come after the one of the format, as in ``today.csv.gz``."""
_GZIP, _ZSTD = b"\x1f\x8b", b"(\xb5/\xfd"
_SKIPPED = 1 << 20  # bytes at a time


def without_packing(name: str) -> str:
    """A file's name without the ending of a compressed one.

    Examples
    --------
    >>> without_packing("today.csv.gz"), without_packing("today.csv")
    ('today.csv', 'today.csv')
    """
    return name[: -len(Path(name).suffix)] if Path(name).suffix.lower() in SUFFIXES else name


def packing_of(path: Path) -> bytes | None:
    """The first bytes of a file that is compressed with gzip or zstd; None of any other."""
    with path.open("rb") as file:
        head = file.read(4)
    return next((start for start in (_GZIP, _ZSTD) if head.startswith(start)), None)


class PackedFile:
    """The unpacked bytes of a compressed file.

    Parameters
    ----------
    path : path
        The file.
    packing : bytes
        Its first bytes, as `packing_of` gives them.
    name : str
        Its name in messages.
    content : Content, optional
        Is given the bytes as they are in the file.
    start : int
        How many unpacked bytes to skip: there is no way to a place but to unpack what is before it.
    """

    def __init__(self, path: Path, packing: bytes, name: str, content: Content | None = None, start: int = 0) -> None:
        self._name = name
        self._raw = WatchedFile(path, content)
        self._size = 0
        try:
            self._file: Any = _zstd_file(self._raw, name) if packing == _ZSTD else _gzip_file(self._raw)
            while start > 0 and (data := self.read(min(start, _SKIPPED))):
                start -= len(data)
        except BaseException:
            self._raw.close()
            raise

    def read(self, size: int) -> bytes:
        """Read so many bytes; fewer only at the end."""
        try:
            data: bytes = self._file.read(size)
        except Exception as error:  # the libraries have several, and not one class for them
            raise FileProblemError(
                self._name, f"is compressed, and damaged or cut off ({error}); make or fetch the file again"
            ) from error
        self._size += len(data)
        return data

    def guess_size(self) -> float:
        """The number of unpacked bytes, by how much of the compressed file was read for those so far."""
        return self._size * self._raw.guess_size() / max(self._raw.place, 1)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._raw.close()


def _gzip_file(raw: Any) -> Any:
    return gzip.GzipFile(fileobj=raw)


def _zstd_file(raw: WatchedFile, name: str) -> Any:
    """The only import of zstd: Python has it from 3.14 on, and others have a package with the same names."""
    for module in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(module).ZstdFile(raw)
        except ModuleNotFoundError:
            continue
    raise FileProblemError(
        name,
        'is compressed with zstd, which this Python cannot unpack; pip install "baserate[files]", or pipe it in: '
        f"zstd -dc {name} | baserate ... -",
    )
