"""The rounds of a piece, one after the other, through an adapter or through a bank with a tracker per key."""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.bank import Bank
from baserate.compiled import compiled
from baserate.files.columns import Classes
from baserate.files.errors import FileProblemError, shortened
from baserate.files.late import names_of
from baserate.files.rounds import Piece
from baserate.frames import polars, unnamed
from baserate.protocols import UNLABELLED, FloatArray, IntArray

_OF_EACH = ("round", "first_row", "rows", "time")  # what is told of each round
_NEVER = -(1 << 62)  # the window of a key that had none
EVERY_BAND, THEN_EVERY = 100, 25
"""A band costs more than a round: it is asked for in each of the first rounds, and then in every twenty-fifth."""


class Batch(NamedTuple):
    """A piece, read out of its frame and checked."""

    piece: Piece
    proba: FloatArray
    labels: IntArray | None
    keys: list[Any] | None
    times: list[Any] | None  # of the first row of each round
    names: list[str] | None = None  # by which labels may come later
    place_of_names: tuple[str, str] = ("", "")  # their file and column, for messages


class Columns(NamedTuple):
    """The columns that are not probabilities, where they are used."""

    labels: str | None = None
    key: str | None = None
    time: str | None = None
    id: str | None = None


class Counts(NamedTuple):
    """What labels say of the predictions, which were made before the labels were used."""

    labelled: int = 0
    model_right: int = 0
    adapted_right: int = 0


class Outcome(NamedTuple):
    """What became of a piece: adapted probabilities, and a row for each round (and key)."""

    batch: Batch
    adapted: FloatArray  # a row for each class
    labels: IntArray  # the most probable classes
    rounds: dict[str, list[Any]]
    round_numbers: list[int]

    def numbers(self) -> IntArray:
        """The round that each row is in."""
        return np.repeat(self.round_numbers, np.diff(self.batch.piece.starts))

    def counts(self) -> Counts:
        """How often labels agree with the model, and with what was found by adaptation."""
        batch = self.batch
        if batch.labels is None:
            return Counts()
        known = batch.labels != UNLABELLED
        truth = batch.labels[known]
        model = batch.proba[known].argmax(axis=1)
        return Counts(len(truth), int((model == truth).sum()), int((self.labels[known] == truth).sum()))


def read_batch(piece: Piece, classes: Classes, columns: Columns, file: str, *, named: bool = False) -> Batch:
    """Read and check what a piece holds; the names of its rows, if those are to wait for their labels."""
    frame = piece.frame
    labels = keys = times = names = None
    if columns.labels is not None:
        labels = classes.labels(frame.get_column(columns.labels), file, piece.row, missing=True)
    if columns.key is not None:
        keys = _keys(frame.get_column(columns.key), file, piece.row)
    if columns.time is not None:
        times = unnamed(frame.get_column(columns.time)).gather(piece.starts[:-1]).cast(polars().String).to_list()
    if named and columns.id is not None:
        names = names_of(frame, columns.id)
    proba = classes.proba(frame, file, piece.row)
    return Batch(piece, proba, labels, keys, times, names, (file, columns.id or ""))


def _keys(values: Any, file: str, row: int) -> list[str]:
    """Keys as text, whatever they were written as: 7 in one file is "7" in another."""
    pl = polars()
    if not (values.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null) or values.dtype.is_integer()):
        raise FileProblemError(
            file, f"keys are of the type {values.dtype}; expected text or whole numbers", row=row, column=values.name
        )
    if values.null_count():
        bad = int(unnamed(values).is_null().arg_max() or 0)
        raise FileProblemError(
            file, "the key is missing; fill it in, or drop the row", row=row + bad, column=shortened(values.name)
        )
    found: list[str] = values.cast(pl.String).to_list()
    return found


def _complain_of_names(batch: Batch, start: int, names: list[str], error: ValueError) -> None:
    """Say which row's name came before; in this round, or in one whose rows still wait for their labels."""
    first = {name: i for i, name in reversed(list(enumerate(names)))}
    for i, name in enumerate(names):
        if first[name] < i or f"{name!r}, which waits" in str(error):
            file, column = batch.place_of_names
            what = f"the id {shortened(repr(name), 30)} came before, and its row waits for a label; ids must be unique"
            row = batch.piece.row + start + i
            raise FileProblemError(file, f"{what}. Drop the row, or rename it", row=row, column=column) from error


@compiled
def place(proba: FloatArray, start: int, columns: FloatArray, labels: IntArray) -> None:
    """Put a round where it belongs in a table of columns, and its most probable classes; it is still at hand.

    Examples
    --------
    >>> import numpy as np
    >>> columns, labels = np.zeros((2, 3)), np.zeros(3, dtype=np.int64)
    >>> place(np.array([[0.25, 0.75], [0.5, 0.5]]), 1, columns, labels)
    >>> columns, labels
    (array([[0.  , 0.25, 0.5 ],
           [0.  , 0.75, 0.5 ]]), array([0, 1, 0]))
    """
    n, k = proba.shape
    for i in range(n):
        best, most = 0, proba[i, 0]
        columns[0, start + i] = most
        for c in range(1, k):
            value = proba[i, c]
            columns[c, start + i] = value
            # A choice, not a branch: which class it is cannot be foreseen, and a wrong guess costs more than the rest.
            better = value > most
            best, most = c if better else best, value if better else most
        labels[start + i] = best


class Stepper:
    """Takes the rounds of batches.

    Parameters
    ----------
    adapter : RegressAndReweight or Bank
        What tracks; it is moved.
    classes : Classes
        The names of the classes.
    level : float
        Of the bands.
    window : int or array of int, optional
        The window of time of the last round before; in a bank, of each key's last.
    """

    def __init__(
        self, adapter: RegressAndReweight | Bank, classes: Classes, level: float, window: int | IntArray | None = None
    ) -> None:
        self.adapter = adapter
        # When something came last: for an adapter, whose key is None, or for each key of a bank.
        keys = adapter.keys if isinstance(adapter, Bank) else [None]
        last = [] if window is None else np.atleast_1d(window).tolist()
        self._last: dict[Any, int] = {key: at for key, at in zip(keys, last, strict=False) if at != _NEVER}
        self._names = classes.names
        self._level = level

    def step(self, batch: Batch) -> Outcome:
        """Take every round of a batch."""
        starts = batch.piece.starts
        adapted, found = np.empty(batch.proba.shape[::-1]), np.empty(len(batch.proba), dtype=np.int64)
        rounds: dict[str, list[Any]] = {name: [] for name in self._columns()}
        numbers: list[int] = []
        for j, (start, end) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
            labels = None if batch.labels is None else batch.labels[start:end]
            if labels is not None and (labels == UNLABELLED).all():
                labels = None
            if batch.piece.windows is not None:
                self._wait(int(batch.piece.windows[j]), [None] if batch.keys is None else batch.keys[start:end])
            numbers.append(self.adapter.rounds_ + 1)
            row = {"round": numbers[-1], "first_row": batch.piece.row + start + 1, "rows": end - start}
            if batch.times is not None:
                row["time"] = batch.times[j]
            if isinstance(self.adapter, Bank):
                assert batch.keys is not None
                keys = batch.keys[start:end]
                step = self.adapter.step(keys, batch.proba[start:end], labels)
                place(step.proba, start, adapted, found)
                self._add_keys(rounds, row, step.keys, Counter(keys), step.prior)
            else:
                told = self._trust(self.adapter)
                names = None if batch.names is None else batch.names[start:end]
                try:
                    taken = self.adapter.step(batch.proba[start:end], labels, ids=names)
                except ValueError as error:
                    _complain_of_names(batch, start, names or [], error)
                    raise
                place(taken.proba, start, adapted, found)
                self._add(rounds, row, taken.prior, told)
        return Outcome(batch, adapted, found, rounds, numbers)

    @property
    def window(self) -> int | IntArray | None:
        """What a new stepper needs to know of the clock."""
        if not self._last:
            return None
        if isinstance(self.adapter, Bank):
            return np.array([self._last.get(key, _NEVER) for key in self.adapter.keys])
        return self._last[None]

    def _wait(self, now: int, keys: list[Any]) -> None:
        """Let the windows of time go by in which nothing came since the last round, or the last round of each key."""
        here = dict.fromkeys(keys, now)
        empty = {key: gap for key in here if (gap := now - self._last.get(key, now) - 1) > 0}
        if isinstance(self.adapter, Bank):
            self.adapter.idle(list(empty), list(empty.values()))
        elif empty:
            self.adapter.idle(empty[None])
        self._last.update(here)

    def _columns(self) -> list[str]:
        columns = [*_OF_EACH]
        if isinstance(self.adapter, Bank):
            return [*columns, "key", *(f"prior_{name}" for name in self._names)]
        shares = [f"{what}_{name}" for what in ("prior", "low", "high") for name in self._names]
        return [*columns, *shares, "evidence", "alarm", "fallback", "unknown_mass"]

    def _trust(self, adapter: RegressAndReweight) -> dict[str, Any]:
        """What is known before a round; the band only now and then."""
        n = adapter.rounds_
        band = adapter.prior_interval(self._level) if n < EVERY_BAND or n % THEN_EVERY == 0 else None
        return {
            "band": band,
            "evidence": adapter.assumption_evidence_,
            "alarm": adapter.assumption_alarm_,
            "fallback": adapter.fallback_active_,
            "unknown_mass": adapter.unknown_mass_,
        }

    def _add(self, rounds: dict[str, list[Any]], row: dict[str, Any], prior: FloatArray, told: dict[str, Any]) -> None:
        low, high = [[None] * len(prior)] * 2 if told["band"] is None else told["band"].T.tolist()
        flags = (told[name] for name in ("evidence", "alarm", "fallback", "unknown_mass"))
        values = [*map(row.get, _OF_EACH), *prior.tolist(), *low, *high, *flags]
        for column, value in zip(rounds.values(), values, strict=True):
            column.append(value)

    def _add_keys(
        self,
        rounds: dict[str, list[Any]],
        row: dict[str, Any],
        keys: list[Any],
        counts: Counter[Any],
        prior: FloatArray,
    ) -> None:
        n = len(keys)
        for name in ("round", "first_row", "time"):
            rounds[name] += [row.get(name)] * n
        rounds["rows"] += [counts[key] for key in keys]
        rounds["key"] += keys
        for i, name in enumerate(self._names):
            rounds[f"prior_{name}"] += prior[:, i].tolist()
