"""Steppers: the rounds of a piece, one after the other, through the tracker of a stream or those of its keys."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.adapters.regress_and_reweight import RepeatedIdError
from baserate.bank import Bank
from baserate.compiled import compiled
from baserate.files.adapting.asked_rows import AskedRows
from baserate.files.adapting.pieces import AdaptedPiece, CheckedPiece, Round
from baserate.files.adapting.state import StreamState
from baserate.files.errors import FileProblemError, shortened
from baserate.protocols import FloatArray, IntArray

EVERY_BAND, THEN_EVERY = 100, 25
"""A band costs more than a round: it is asked for in each of the first rounds, and then in every twenty-fifth."""
_OF_EACH_ROUND = ("round", "first_row", "rows", "time")
_SIGNS = ("evidence", "alarm", "fallback", "correction_weight")
"""Of each key before a round, where the adapter watches."""
_NEVER = -(1 << 62)  # the window of a key that had none


class Stepper(Protocol):
    """Takes a stream's pieces in their order, and moves its tracker or trackers."""

    def step(self, piece: CheckedPiece) -> AdaptedPiece:
        """Predict every round of a piece by what was learned before it, then learn from it."""
        ...

    @property
    def last_windows(self) -> int | IntArray | None:
        """The last window of time with a row, of the stream or of each key; None where rounds are no windows."""
        ...

    @property
    def asked(self) -> AskedRows | None:
        """The rows of the file that are worth labelling, if labels are to be asked for."""
        ...


BANDS_FROM = 64
"""Rows of a key from which on it has a band, in rounds in which their number doubles: a band takes a millisecond."""


def stepper_for(state: StreamState, level: float, window_seconds: float) -> Stepper:
    """The stepper of a state, keyed or not; it goes on from the state's clock if that has windows of this length.

    Parameters
    ----------
    state : StreamState
        Its trackers are moved.
    level : float
        The level of the bands.
    window_seconds : float
        The length of a round that is a window of time; else 0.
    """
    clock = state.clock
    last = clock.last if clock is not None and clock.seconds == window_seconds else None
    names = state.classes.names
    if state.bank is not None:
        return KeyedStepper(state.bank, names, level, last)
    return StreamStepper(state.fitted, names, level, last, None if state.file is None else state.file.asked)


class StreamStepper:
    """The rounds of a stream without keys, with bands and warnings for each.

    Parameters
    ----------
    adapter : RegressAndReweight
        The tracker, which is moved.
    names : list of str
        The names of the classes.
    level : float
        The level of the bands.
    last_windows : int, optional
        The last window of time before.
    asked : AskedRows, optional
        The rows worth labelling before.
    """

    def __init__(
        self,
        adapter: RegressAndReweight,
        names: list[str],
        level: float,
        last_windows: Any = None,
        asked: AskedRows | None = None,
    ) -> None:
        self._adapter, self._names, self._level, self.asked = adapter, names, level, asked
        self._last: int | None = None if last_windows is None else int(last_windows)

    @property
    def last_windows(self) -> int | None:
        return self._last

    def step(self, piece: CheckedPiece) -> AdaptedPiece:
        adapter, adapted = self._adapter, _empty(piece, [*_OF_EACH_ROUND, *self._columns()])
        for part in piece.rounds():
            self._let_windows_pass(part)
            before = self._known_before()
            number, first_row = adapter.rounds_ + 1, piece.piece.row + part.start
            if self.asked is not None and part.ids is not None:
                worth = adapter.label_worth(part.proba)
                self.asked = self.asked.plus(part.ids, part.labels, worth, row=first_row, number=number)
            try:
                taken = adapter.step(part.proba, part.labels, ids=part.ids)
            except RepeatedIdError as error:
                raise _repeated_id(piece, part, error) from error
            place(taken.proba, part.start, adapted.proba, adapted.labels)
            adapted.round_numbers.append(number)
            line = [number, first_row + 1, part.end - part.start, part.time]
            for column, value in zip(
                adapted.round_table.values(), [*line, *taken.prior.tolist(), *before], strict=True
            ):
                column.append(value)
        return adapted

    def _columns(self) -> list[str]:
        shares = [f"{what}_{name}" for what in ("prior", "low", "high") for name in self._names]
        return [*shares, "evidence", "alarm", "fallback", "unknown_mass", "serial_correlation", "correction_weight"]

    def _let_windows_pass(self, part: Round) -> None:
        """Tell the adapter of the windows of time in which nothing came since the last round."""
        if part.window is None:
            return
        empty = 0 if self._last is None else part.window - self._last - 1
        if empty > 0:
            self._adapter.idle(empty)
        self._last = part.window

    def _known_before(self) -> list[Any]:
        """The values of a round's line that are known before it: the band, only now and then, and the warnings."""
        adapter, n = self._adapter, self._adapter.rounds_
        band: Sequence[float | None] = [None] * (2 * len(self._names))
        if n < EVERY_BAND or n % THEN_EVERY == 0:
            band = adapter.prior_interval(self._level).T.ravel().tolist()
        return [
            *band,
            adapter.assumption_evidence_,
            adapter.assumption_alarm_,
            adapter.fallback_active_,
            adapter.unknown_mass_,
            adapter.serial_correlation_,
            adapter.correction_weight_,
        ]


class KeyedStepper:
    """The rounds of a stream with keys, each of which has a class mix of its own.

    Parameters
    ----------
    bank : Bank
        The trackers, which are moved.
    names : list of str
        The names of the classes.
    level : float
        The level of the bands.
    last_windows : array of int, optional
        The last window of time of each key.
    """

    def __init__(self, bank: Bank, names: list[str], level: float, last_windows: Any = None) -> None:
        self._bank, self._names, self._level, self.asked = bank, names, level, None
        last = [] if last_windows is None else np.atleast_1d(last_windows).tolist()
        self._last: dict[Any, int] = {key: at for key, at in zip(bank.keys, last, strict=False) if at != _NEVER}

    @property
    def last_windows(self) -> IntArray | None:
        return np.array([self._last.get(key, _NEVER) for key in self._bank.keys]) if self._last else None

    def step(self, piece: CheckedPiece) -> AdaptedPiece:
        bank = self._bank
        shares = [f"{what}_{name}" for what in ("prior", "low", "high") for name in self._names]
        adapted = _empty(piece, [*_OF_EACH_ROUND, "key", *shares, *_SIGNS])
        for part in piece.rounds():
            assert part.keys is not None
            self._let_windows_pass(part, part.keys)
            number = bank.rounds_ + 1
            counts = Counter[Any](part.keys)
            bands = self._bands(counts)
            taken = bank.step(part.keys, part.proba, part.labels)
            place(taken.proba, part.start, adapted.proba, adapted.labels)
            adapted.round_numbers.append(number)
            n = len(taken.keys)
            none = [None] * (2 * len(self._names))
            lines = [
                [number] * n,
                [piece.piece.row + part.start + 1] * n,
                [counts[key] for key in taken.keys],
                [part.time] * n,
                taken.keys,
                *taken.prior.T.tolist(),
                *zip(*(bands.get(key, none) for key in taken.keys), strict=True),
                *(getattr(taken.signs, name).tolist() for name in _SIGNS),
            ]
            for column, values in zip(adapted.round_table.values(), lines, strict=True):
                column += values
        return adapted

    def _bands(self, counts: Counter[Any]) -> dict[Any, list[float]]:
        """The bands before a round, of keys whose number of rows doubles in it: of each class low, then high."""
        bank = self._bank
        if bank.adapter.alpha is None:
            return {}
        keys = [key for key in counts if key in bank]
        rows = dict(zip(keys, bank.signs(keys).rows.tolist(), strict=True))
        due = [
            key
            for key, before in rows.items()
            if before >= BANDS_FROM and before.bit_length() < (before + counts[key]).bit_length()
        ]
        if not due:
            return {}
        limits = bank.prior_interval(due, self._level)
        return dict(zip(due, limits.transpose(0, 2, 1).reshape(len(due), -1).tolist(), strict=True))

    def _let_windows_pass(self, part: Round, keys: list[str]) -> None:
        """Tell each key of a round of the windows of time in which nothing of it came since its last round."""
        if part.window is None:
            return
        here = dict.fromkeys(keys, part.window)
        empty = {key: gap for key in here if (gap := part.window - self._last.get(key, part.window) - 1) > 0}
        self._bank.idle(list(empty), list(empty.values()))
        self._last.update(here)


def _empty(piece: CheckedPiece, columns: list[str]) -> AdaptedPiece:
    """The outcome of a piece, to be filled in."""
    n, k = piece.proba.shape
    return AdaptedPiece(piece, np.empty((k, n)), np.empty(n, dtype=np.int64), [], {name: [] for name in columns})


def _repeated_id(piece: CheckedPiece, part: Round, error: RepeatedIdError) -> FileProblemError:
    """The problem of a row whose id came before: in its round, or in a row that waits for a label."""
    assert part.ids is not None
    name = shortened(repr(part.ids[error.place]), 30)
    what = f"the id {name} came before, and its row waits for a label; ids must be unique. Drop the row, or rename it"
    return FileProblemError(piece.file, what, row=piece.piece.row + part.start + error.place, column=piece.id_column)


@compiled
def place(proba: FloatArray, start: int, columns: FloatArray, labels: IntArray) -> None:
    """Put a round where it belongs in a table of columns, and its most probable classes; it is still in the cache.

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
