"""Files as the command line names them: a path, or ``-`` for standard input and output."""

import hashlib
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from baserate.files.formats.format import Format

_SAMPLES, _SAMPLE = 64, 1 << 16


class Source(NamedTuple):
    """A file to read or to write.

    Parameters
    ----------
    name : str
        Its path, or ``-``: standard input or output.
    format : Format
        Its format.
    """

    name: str
    format: "Format"

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

    def open(self) -> IO[bytes]:
        """The bytes."""
        return sys.stdin.buffer if self.is_stream else self.path.open("rb")


def fingerprint(path: Path) -> str:
    """A hash by which a file is known again, whatever it is called: of its size and samples from all over it.

    Files of up to 4 MB are hashed as a whole.
    """
    found = hashlib.sha256()
    with path.open("rb") as file:
        size = file.seek(0, 2)
        found.update(str(size).encode())
        step = max((size - _SAMPLE) // (_SAMPLES - 1), _SAMPLE)
        for start in range(0, size, step):
            file.seek(min(start, max(size - _SAMPLE, 0)) if size > _SAMPLES * _SAMPLE else start)
            found.update(file.read(_SAMPLE))
    return found.hexdigest()
