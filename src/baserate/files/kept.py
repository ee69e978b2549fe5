"""What ``--state FILE`` holds: the trackers, and how far a file has come that is being worked on."""

from pathlib import Path
from typing import Any

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.bank import Bank
from baserate.files.columns import Classes
from baserate.files.errors import FileProblemError
from baserate.protocols import IntArray
from baserate.state import Component, dumps, loads, write_atomically

_BYTES = 16


class Kept(Component, saved_as="adapt_state"):
    """The state of a stream that comes in files.

    Attributes
    ----------
    adapter : RegressAndReweight or Bank
        What tracks.
    classes : dict
        Fields of `Classes`.
    holdout : str
        Fingerprint of the holdout.
    files, rows : int
        How many were taken in.
    done : (n, 16) array of uint8
        Which files were: the first bytes of their fingerprints.
    labelled, model_right, adapted_right : int
        What labels said of predictions.
    late : int
        How many labels came later, and were used.
    clock : (float, int or array of int) or None
        Where rounds are windows of time: their length, and the last one; or each key's last one, in the bank's order.
    file : dict or None
        The last file: its name and fingerprint, the options it was read with, how far it has come, and what is needed
        to go on with its output. ``"before"`` is the state before its first row, by which it can be done again. Until
        it is finished, ``"found"`` is the state file as it was before, to which it is taken back if it is refused: as
        it was, with its own last file, and without the holdout that was taken over with this one.
    """

    adapter: RegressAndReweight | Bank
    classes: dict[str, Any]
    holdout: str
    file: dict[str, Any] | None

    def __init__(self) -> None:
        self.files = 0
        self.rows = 0
        self.done = np.empty((0, _BYTES), dtype=np.uint8)
        self.labelled = 0
        self.model_right = 0
        self.adapted_right = 0
        self.late = 0
        self.clock: tuple[float, int | IntArray] | None = None
        self.file = None

    @property
    def of_classes(self) -> Classes:
        """The classes."""
        return Classes(**self.classes)

    def before(self) -> "Kept":
        """The state before the last file."""
        assert self.file is not None
        found: Kept = loads(self.file["before"].tobytes())
        return found

    @property
    def unfinished(self) -> bool:
        """Whether it is in the midst of a file."""
        return self.file is not None and not self.file["finished"]

    def has_done(self, fingerprint: str) -> bool:
        """Whether a file was taken in."""
        return bool((self.done == _bytes(fingerprint)).all(axis=1).any())

    def begin(self, file: dict[str, Any], found: bytes | None) -> None:
        """Note that a file is begun, what there was before it, and the state file that was `found`."""
        self.file = None
        self.file = {
            **file,
            "before": np.frombuffer(dumps(self), dtype=np.uint8),
            "found": None if found is None else np.frombuffer(found, dtype=np.uint8),
            "finished": False,
        }

    def finish(self) -> None:
        """Note that the file is done."""
        assert self.file is not None
        self.files += 1
        if self.file["fingerprint"] is not None:
            self.done = np.concatenate([self.done, [_bytes(self.file["fingerprint"])]])
        self.file = {name: value for name, value in self.file.items() if name not in ("found", "ids")}
        self.file |= {"finished": True, "out": {}, "rounds": {}}

    def save(self, path: Path) -> None:
        """Write it, whole or not at all."""
        write_atomically(path, dumps(self))


def _bytes(fingerprint: str) -> Any:
    return np.frombuffer(bytes.fromhex(fingerprint)[:_BYTES], dtype=np.uint8)


def read_kept(path: Path) -> bytes | None:
    """The bytes of a state file, or None where there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileProblemError(str(path), f"the state cannot be read ({error.strerror})") from error


def load_kept(data: bytes, path: Path) -> Kept:
    """The state of a stream in the bytes of a state file."""
    found = loads(data, name=str(path))
    if not isinstance(found, Kept):
        raise FileProblemError(
            str(path), f"is a state of {type(found).__name__}, not one that baserate adapt keeps; name another file"
        )
    return found
