"""One run at a time with a state, and nothing left lying about by a run that was killed."""

import contextlib
import json
import os
import re
import sys
import warnings
from collections.abc import Collection, Iterator
from pathlib import Path

from baserate.files.adapting.paths import is_beside, is_part, resolved

if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> None:
        os.lseek(file, 1 << 30, os.SEEK_SET)  # far from what is written, which a lock would keep from being read
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError from error

    def _release(file: int, path: Path) -> None:
        os.close(file)
        with contextlib.suppress(OSError):  # another run has opened it by now, and will remove it
            path.unlink()

else:
    import errno
    import fcntl

    _NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)

    def _lock(file: int) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _NO_LOCKS:  # of some file systems; better without than not at all
                raise

    def _release(file: int, path: Path) -> None:
        path.unlink(missing_ok=True)  # while it is locked; see `_take` for who has opened it already
        os.close(file)


class Lock:
    """The lock of a state file, which keeps other runs away.

    The lock itself is the system's and ends with the process. Its file says which parts of outputs the run has begun,
    so that the next one can remove them if this one is killed before its state knows of them.

    Parameters
    ----------
    file : int or None
        The open file that is locked; None: there is no state, and nothing to lock.
    """

    def __init__(self, file: int | None) -> None:
        self._file = file
        self._left = [] if file is None else _parts(_read(file))

    def sweep(self, keep: Collection[Path], folders: Collection[Path]) -> None:
        """Remove the parts that a killed run has left, but for those that its state knows of.

        Parameters
        ----------
        keep : collection of path
            Those that the state knows of.
        folders : collection of path
            The folders that parts are removed from; those elsewhere are only told of.
        """
        remove_parts([part for part in self._left if part not in keep], folders)
        self._left = []

    def note(self, parts: Collection[Path]) -> None:
        """Say which parts are about to be written."""
        if self._file is not None:
            os.ftruncate(self._file, 0)
            os.lseek(self._file, 0, os.SEEK_SET)
            os.write(self._file, json.dumps([str(part) for part in parts]).encode())


@contextlib.contextmanager
def locked(state: Path | None) -> Iterator[Lock]:
    """Lock a state file while the context lasts.

    Parameters
    ----------
    state : path or None
        The state file, which need not be there yet.

    Raises
    ------
    ValueError
        If another run uses it.
    """
    if state is None:
        yield Lock(None)
        return
    path = resolved(state)
    beside = path.with_name(f".{path.name}.lock")
    try:
        file = _take(beside)
    except BlockingIOError as error:
        raise ValueError(
            f"--state {state} is used by another run, which is not done yet; nothing was changed. Wait until it has "
            "ended, or name another state file."
        ) from error
    except OSError as error:
        if beside.is_symlink():
            raise ValueError(f"--state {state}: its lock, {beside}, is a link; remove it.") from error
        raise
    try:
        _remove_scratch(path)
        yield Lock(file)
    finally:
        _release(file, beside)


def remove_parts(parts: Collection[Path], folders: Collection[Path]) -> None:
    """Remove parts of outputs in some folders, and warn of those elsewhere, which a file may only claim to be parts."""
    for part in parts:
        if is_part(part) and is_beside(part, folders):
            part.unlink(missing_ok=True)
        elif is_part(part) and part.exists():
            warnings.warn(
                f"an unfinished run has left {part}; remove it, or repeat the command that writes there.",
                UserWarning,
                stacklevel=2,
            )


def _take(path: Path) -> int:
    while True:
        # A link in its place would lead to a file of somebody else, which would be emptied.
        file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        try:
            _lock(file)
            # Whoever had it may have removed the file after it was opened here: then it is locked for nothing.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file), path.lstat()):
                    return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _remove_scratch(state: Path) -> None:
    """Remove what `write_atomically` had begun for a state when it was killed."""
    for path in state.parent.iterdir():
        if re.fullmatch(rf"\.{re.escape(state.name)}\.[0-9a-f]{{8}}\.tmp", path.name):
            path.unlink(missing_ok=True)


def _read(file: int) -> bytes:
    os.lseek(file, 0, os.SEEK_SET)
    return os.read(file, 1 << 16)  # some names


def _parts(data: bytes) -> list[Path]:
    """The parts that a lock file names; none where its writing was cut short, which was before they were begun."""
    try:
        names = json.loads(data)
    except (ValueError, RecursionError):
        return []
    if not isinstance(names, list):
        return []
    return [Path(name) for name in names if isinstance(name, str) and "\0" not in name and is_part(Path(name))]
