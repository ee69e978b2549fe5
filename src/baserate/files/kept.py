"""What ``--state FILE`` holds: the trackers, and how far a file has come that is being worked on."""

from pathlib import Path
from typing import Any

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.bank import Bank
from baserate.files.columns import Classes
from baserate.files.problem import FileProblemError
from baserate.protocols import IntArray
from baserate.state import Component, dumps, loads, write_atomically


class Kept(Component):
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
    labelled, model_right, adapted_right : int
        What labels said of predictions.
    late : int
        How many labels came later, and were used.
    clock : (float, int or array of int) or None
        Where rounds are windows of time: their length, and the last one; or each key's last one, in the bank's order.
    file : dict or None
        The last file: its name and fingerprint, the options it was read with, how far it has come, and what is needed
        to go on with its output. ``"before"`` is the state before it, by which it can be done again.
    """

    adapter: RegressAndReweight | Bank
    classes: dict[str, Any]
    holdout: str
    file: dict[str, Any] | None

    def __init__(self) -> None:
        self.files = 0
        self.rows = 0
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

    def begin(self, file: dict[str, Any]) -> None:
        """Note that a file is begun, and what there was before it."""
        self.file = None
        before = np.frombuffer(dumps(self), dtype=np.uint8)
        self.file = {**file, "before": before, "finished": False}

    def save(self, path: Path) -> None:
        """Write it, whole or not at all."""
        write_atomically(path, dumps(self))


def load_kept(path: Path) -> Kept:
    """Read a state file of a stream."""
    try:
        found = loads(path.read_bytes(), name=str(path))
    except OSError as error:
        raise FileProblemError(str(path), f"the state cannot be read ({error.strerror})") from error
    if not isinstance(found, Kept):
        raise FileProblemError(
            str(path), f"is a state of {type(found).__name__}, not one that baserate adapt keeps; name another file"
        )
    return found
