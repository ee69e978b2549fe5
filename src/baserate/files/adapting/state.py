"""The content of a state file (``--state``): the trackers, and how far the file has come that is being adapted."""

from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from baserate.adapters import RegressAndReweight
from baserate.bank import Bank
from baserate.files.adapting.asked_rows import AskedRows
from baserate.files.adapting.paths import part_of
from baserate.files.adapting.saved import FIRST_BYTES, OF_CLASSES, STREAM_STATE
from baserate.files.columns import Classes
from baserate.files.content import SAMPLES_LENGTH, Content, ReadMark
from baserate.files.errors import FileProblemError
from baserate.files.formats import SinkMark
from baserate.files.rounds import ReadPosition
from baserate.protocols import IntArray
from baserate.state import Component, dumps, loads, write_atomically


class LabelCounts(NamedTuple):
    """Rows that came with a label, and how often the model and the adapted probabilities were right on them.

    Both predictions were made before the label was used.
    """

    labelled: int = 0
    model_right: int = 0
    adapted_right: int = 0

    def plus(self, other: "LabelCounts") -> "LabelCounts":
        """Both together."""
        return LabelCounts(*(mine + more for mine, more in zip(self, other, strict=True)))


class DecisionCounts(NamedTuple):
    """Decisions on rows of a file, by costs or a threshold.

    Parameters
    ----------
    names : tuple of str
        The names of the decisions.
    counts : tuple of int
        How many rows got each.
    expected_cost : float or None
        The sum of their expected costs; None without costs.
    """

    names: tuple[str, ...]
    counts: tuple[int, ...]
    expected_cost: float | None = None

    def plus(self, other: "DecisionCounts") -> "DecisionCounts":
        """Both together."""
        counts = tuple(a + b for a, b in zip(self.counts, other.counts, strict=True))
        mine, more = self.expected_cost, other.expected_cost
        return DecisionCounts(self.names, counts, None if mine is None or more is None else mine + more)


class Clock(NamedTuple):
    """The time windows that are over, where rounds are windows of time.

    Parameters
    ----------
    seconds : float
        The length of a window.
    last : int or array of int
        The last window in which something came; for a bank, each key's, in the bank's order.
    """

    seconds: float
    last: int | IntArray


class FileProgress(NamedTuple):
    """The last file of a stream, and how far it has come.

    Parameters
    ----------
    name : str
        Its name, as the user gave it.
    fingerprint : str or None
        The hash by which it is known again, of samples only until it is finished; None for standard input.
    options : dict
        The options that its output depends on, by their names: plain data, see `AdaptJob.options`.
    token : str
        Names this attempt, so that its parts are never taken for those of another.
    piece_rows : int
        The least number of rows in a piece.
    position : ReadPosition
        The start of the next piece.
    out, rounds : SinkMark or None
        The ends of the output and of the table of rounds when the state was saved; None before, after the file is
        finished, and where there is no such file.
    before : bytes
        The state before the first row, by which the file can be done again.
    found : bytes or None
        The state file as it was before, which is put back if the file is refused: with its own last file, and without
        the holdout that was taken over with this one. None if there was none, and when the file is finished.
    ids : array of uint64, optional
        Hashes of the ids so far, where ids must be unique.
    finished : bool
        True when every row is adapted.
    read : ReadMark or None
        The bytes that were read when the state was saved, which a resumed run must find again; None as `out`.
    decided : DecisionCounts or None
        The decisions on its rows so far, where there are costs or a threshold.
    asked : AskedRows or None
        The rows worth labelling so far, where labels are to be asked for; None when the file is finished.
    """

    name: str
    fingerprint: str | None
    options: dict[str, Any]
    token: str
    piece_rows: int
    position: ReadPosition = ReadPosition()
    out: SinkMark | None = None
    rounds: SinkMark | None = None
    before: bytes = b""
    found: bytes | None = None
    ids: NDArray[np.uint64] | None = None
    finished: bool = False
    read: ReadMark | None = None
    decided: DecisionCounts | None = None
    asked: AskedRows | None = None

    @property
    def parts(self) -> dict[Path, Path]:
        """The places of the outputs, and the file that each is written to until it is complete."""
        named = [self.options.get(name) for name in ("-o", "--rounds-file", "--ask-file")]
        return {Path(name): part_of(Path(name), self.token) for name in named if name is not None}

    def to_saved(self) -> dict[str, Any]:
        """The fields as plain data; bytes as arrays, which a state file can hold."""
        fields = self._asdict()
        for name in ("decided", "asked"):  # which are there only if something was decided, or labels are asked for
            held = fields.pop(name)
            fields |= {} if held is None else {name: held._asdict()}
        return {
            **fields,
            "position": tuple(self.position),
            "out": _saved_mark(self.out),
            "rounds": _saved_mark(self.rounds),
            "before": _array(self.before),
            "found": None if self.found is None else _array(self.found),
            "read": None if self.read is None else tuple(self.read),
        }

    @classmethod
    def from_saved(cls, fields: dict[str, Any]) -> "FileProgress":
        """The fields of `to_saved`, typed again."""
        return cls(**fields)._replace(
            position=ReadPosition(*fields["position"]),
            out=_mark(fields["out"]),
            rounds=_mark(fields["rounds"]),
            before=fields["before"].tobytes(),
            found=None if fields["found"] is None else fields["found"].tobytes(),
            read=None if fields["read"] is None else ReadMark(*fields["read"]),
            decided=_decided(fields.get("decided")),
            asked=None if fields.get("asked") is None else AskedRows(**fields["asked"]),
        )


class StreamState(Component, saved_as="adapt_state"):
    """The state of a stream that comes in files.

    Attributes
    ----------
    adapter : RegressAndReweight or Bank
        The tracker of the stream, or one for each of its keys.
    classes : Classes
        The classes and their columns.
    holdout : str
        Fingerprint of the holdout.
    files, rows : int
        The numbers of files and of rows that were taken in.
    finished_files : (n, 32) array of uint8
        The files that were taken in: the first bytes of both parts of their fingerprints.
    label_counts : LabelCounts
        Counts of right predictions, by the labels that came with the rows.
    late_labels : int
        The number of labels that came later, and were used.
    clock : Clock or None
        The windows of time that are over.
    file : FileProgress or None
        The last file.
    """

    saves = STREAM_STATE

    adapter: RegressAndReweight | Bank
    classes: Classes
    holdout: str

    def __init__(self) -> None:
        self.files = 0
        self.rows = 0
        self.finished_files = np.empty((0, 2 * FIRST_BYTES), dtype=np.uint8)
        self.label_counts = LabelCounts()
        self.late_labels = 0
        self.clock: Clock | None = None
        self.file: FileProgress | None = None

    def get_state(self) -> dict[str, Any]:
        return {
            **super().get_state(),
            "classes": _said_of(self.classes),
            "label_counts": self.label_counts._asdict(),
            "clock": None if self.clock is None else tuple(self.clock),
            "file": None if self.file is None else self.file.to_saved(),
        }

    def set_state(self, state: dict[str, Any]) -> Self:
        own = vars(super().set_state(state))  # a copy, in which some values are still plain data
        self.classes = Classes(**own["classes"])
        self.label_counts = LabelCounts(**own["label_counts"])
        self.clock = None if own["clock"] is None else Clock(*own["clock"])
        self.file = None if own["file"] is None else FileProgress.from_saved(own["file"])
        return self

    @property
    def bank(self) -> Bank | None:
        """The bank of a stream with keys; None where there are none."""
        return self.adapter if isinstance(self.adapter, Bank) else None

    @property
    def fitted(self) -> RegressAndReweight:
        """The adapter that was fitted on the holdout: the stream's own, or the one that every key starts from."""
        return self.adapter.adapter if isinstance(self.adapter, Bank) else self.adapter

    @property
    def unfinished(self) -> FileProgress | None:
        """The last file, if it is not finished."""
        return None if self.file is None or self.file.finished else self.file

    def has_done(self, content: Content) -> bool:
        """Tell whether a file was taken in; reads it only if there is one with the same samples."""
        samples, contents = self.finished_files[:, :FIRST_BYTES], self.finished_files[:, FIRST_BYTES:]
        alike = contents[(samples == _first_bytes(content.samples)[:FIRST_BYTES]).all(axis=1)]
        if not len(alike):
            return False
        mine = _first_bytes(content.whole())[FIRST_BYTES:]
        return bool((alike == mine).all(axis=1).any())

    def begin(self, file: FileProgress, found: bytes | None) -> FileProgress:
        """Note that a file is begun, the state before it, and the state file that was `found`."""
        self.file = None
        self.file = file._replace(before=dumps(self), found=found)
        return self.file

    def advance(self, position: ReadPosition) -> None:
        """Note how far the file has come."""
        assert self.file is not None
        self.rows += position.row - self.file.position.row
        self.file = self.file._replace(position=position)

    def finish(self) -> None:
        """Note that the file is finished."""
        assert self.file is not None
        self.files += 1
        if self.file.fingerprint is not None:
            self.finished_files = np.concatenate([self.finished_files, [_first_bytes(self.file.fingerprint)]])
        self.file = self.file._replace(
            found=None, ids=None, out=None, rounds=None, read=None, asked=None, finished=True
        )

    def save(self, path: Path) -> None:
        """Write it, whole or not at all."""
        write_atomically(path, dumps(self))


def _said_of(classes: Classes) -> dict[str, Any]:
    """The classes as plain data, without what may be left out and is as usual."""
    usual = Classes._field_defaults
    return {name: value for name, value in classes._asdict().items() if name not in OF_CLASSES or value != usual[name]}


def _saved_mark(mark: SinkMark | None) -> dict[str, Any] | None:
    return None if mark is None else {"size": mark.size, "footer": _array(mark.footer)}


def _mark(saved: dict[str, Any] | None) -> SinkMark | None:
    return None if saved is None else SinkMark(saved["size"], saved["footer"].tobytes())


def _decided(saved: dict[str, Any] | None) -> DecisionCounts | None:
    if saved is None:
        return None
    return DecisionCounts(tuple(saved["names"]), tuple(saved["counts"]), saved["expected_cost"])


def _array(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, dtype=np.uint8)


def _first_bytes(fingerprint: str) -> NDArray[np.uint8]:
    """The first bytes of both parts of a fingerprint; zeros in the place of a part that is not there."""
    parts = (bytes.fromhex(part)[:FIRST_BYTES] for part in (fingerprint[:SAMPLES_LENGTH], fingerprint[SAMPLES_LENGTH:]))
    return _array(b"".join(part.ljust(FIRST_BYTES, b"\0") for part in parts))


def read_state_file(path: Path) -> bytes | None:
    """The bytes of a state file, or None where there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileProblemError(str(path), f"the state cannot be read ({error.strerror})") from error


def load_stream_state(data: bytes, path: Path, max_bytes: int | None = None) -> StreamState:
    """The state of a stream, from the bytes of a state file."""
    found = loads(data, name=str(path), max_bytes=max_bytes)
    if not isinstance(found, StreamState):
        raise FileProblemError(
            str(path), f"is a state of {type(found).__name__}, not one that baserate adapt keeps; name another file"
        )
    return found
