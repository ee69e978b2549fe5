"""Files as the command line names them: a path, or ``-`` for standard input and output."""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from baserate.files.content import Content, WatchedFile
from baserate.files.packing import PackedFile, packing_of

if TYPE_CHECKING:
    from baserate.files.formats.format import Format


class Source(NamedTuple):
    """A file to read or to write.

    Parameters
    ----------
    name : str
        Its path, or ``-``: standard input or output.
    format : Format
        Its format.
    content : Content, optional
        Is given what is read, where the file has to be known again.
    separator : str, optional
        The character between fields, where an option gives it and the format has one.
    """

    name: str
    format: "Format"
    content: Content | None = None
    separator: str | None = None

    @property
    def is_stream(self) -> bool:
        """True for standard input or output."""
        return self.name == "-"

    @property
    def path(self) -> Path:
        """Its path."""
        return Path(self.name)

    @property
    def shown(self) -> str:
        """Its name in messages."""
        return "standard input" if self.is_stream else self.name

    @contextmanager
    def watched(self) -> Iterator["Source"]:
        """The same file, with the hash of its content for as long as it is read; standard input has none."""
        if self.is_stream:
            yield self
            return
        with closing(Content(self.path, self.shown)) as content:
            yield self._replace(content=content)

    def open(self, start: int = 0) -> "IO[bytes] | WatchedFile | PackedFile":
        """The bytes from a place on, unpacked if the file is compressed; what is read is handed over to `content`."""
        if self.is_stream:
            return sys.stdin.buffer
        packing = packing_of(self.path)
        if packing is not None:
            return PackedFile(self.path, packing, self.shown, self.content, start)
        return WatchedFile(self.path, self.content, start)
