"""StreamState: an adapter with what the service adds to it. Knows nothing of HTTP, of disks, or of the time."""

import warnings
from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.service._web import msgspec
from baserate.service.definitions import Definition, Holdout
from baserate.service.entries import (
    Answer,
    Entry,
    Event,
    Forgotten,
    Labels,
    Rows,
    Shadow,
    floats,
    integers,
    unpack,
)
from baserate.service.problems import InvalidError
from baserate.service.waiting import Waiting
from baserate.state import dumps, loads

FORMAT = 1


class _Snapshot(msgspec.Struct, array_like=True):
    """A state as bytes."""

    format: int
    definition: Definition
    health: list[str]
    adapter: bytes
    rows_seen: int
    labels_seen: int
    buffered: list[Rows]
    waiting: Waiting


class StreamState:
    """The state of one stream; everything that moves it is an `Entry`, and the same entries give the same bits.

    Parameters
    ----------
    definition : Definition
    adapter : RegressAndReweight
        Fitted.
    health : list of str
        What the library warned of when it was fitted.

    Attributes
    ----------
    events : list of Event
        What happened since somebody last took them.
    """

    def __init__(self, definition: Definition, adapter: RegressAndReweight, health: list[str]) -> None:
        self.definition, self.adapter, self.health = definition, adapter, health
        self.rows_seen = self.labels_seen = 0
        self.waiting = Waiting()
        self.events: list[Event] = []
        self._buffered: list[Rows] = []

    @classmethod
    def fit(cls, holdout: Holdout, at: float) -> Self:
        """Begin a stream."""
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            adapter = holdout.fit()
        begun = cls(holdout.definition, adapter, [str(warning.message) for warning in told])
        begun.events.append(Event(at, 0, "created", f"{len(holdout.proba)} samples of {len(adapter.classes_)} classes"))
        return begun

    def refit(self, holdout: Holdout, at: float) -> Self:
        """Return the state that goes on with a redeployed model; this one stays as it is."""
        renewed = self.loads(self.dumps())
        renewed.flush()
        new, old = holdout.definition.classes, self.definition.classes
        places = {name: column for column, name in enumerate(old)}
        previous = None if new == old else [places.get(name) for name in new]
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                renewed.adapter.set_params(**holdout.definition.options.parameters())
                renewed.adapter.refit(holdout.proba, holdout.labels, previous, names=new)
            except (ValueError, TypeError) as error:
                raise InvalidError(str(error), "holdout") from error
        renewed.definition, renewed.health = holdout.definition, [str(warning.message) for warning in told]
        if previous is not None:
            renewed.waiting.clear()
        added = [str(name) for name in new if name not in places]
        retired = [str(name) for name in old if name not in new]
        said = [f"new: {', '.join(added)}"] * bool(added) + [f"retired: {', '.join(retired)}"] * bool(retired)
        said = said or [f"{len(holdout.proba)} samples"]
        renewed.events = [Event(at, renewed.adapter.rounds_, "refit", "; ".join(said)[:500])]
        return renewed

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.definition.classes)

    @property
    def shadow(self) -> bool:
        """True while the model's own probabilities are answered."""
        return not self.adapter.enabled

    @property
    def buffered_rows(self) -> int:
        """The rows that wait for their round to fill up."""
        return sum(rows.n for rows in self._buffered)

    def predict(self, proba: FloatArray) -> Answer:
        """Answer without learning."""
        try:
            adapted = self.adapter.predict_proba(proba)
        except (ValueError, TypeError) as error:
            raise InvalidError(str(error), "proba") from error
        return self._answer(adapted, self.adapter.prior_)

    def apply(self, entry: Entry, *, answer: bool = True) -> Answer | int:
        """Take in an entry; return the answer to rows, or how many ids were found. A refused one changes nothing.

        Parameters
        ----------
        entry : Entry
        answer : bool
            Whether somebody waits for the adapted rows.
        """
        if isinstance(entry, Rows):
            return self._learn(entry, answer)
        if isinstance(entry, Labels):
            return self._learn_labels(entry)
        if isinstance(entry, Shadow):
            if entry.on != self.shadow:
                self.adapter.enabled = not entry.on
                kind, text = ("shadow", "on") if entry.on else ("shadow_over", "off")
                self.events.append(Event(entry.at, self.adapter.rounds_, kind, f"shadow mode {text}"))
            return 1
        return self._forget(entry)

    def _learn(self, rows: Rows, answer: bool) -> Answer:
        proba, ids = floats(rows.proba, rows.n, self.n_classes), rows.ids
        labels = None if rows.labels is None else integers(rows.labels)
        if ids is not None:
            self._check_ids(ids)
        before = self._flags()
        if self.definition.options.round_rows is None:
            step = self._step(proba, labels, ids, None if rows.chosen is None else floats(rows.chosen, rows.n))
            self._wait(rows.at, proba, labels, ids)
            told = self._answer(step.proba if answer else None, step.prior, before, len(proba))
        else:
            try:
                adapted = self.adapter.predict_proba(proba)
            except (ValueError, TypeError) as error:
                raise InvalidError(str(error), "proba") from error
            told = self._answer(adapted if answer else None, self.adapter.prior_, before, len(proba))
            self._buffered.append(rows)
            if self.buffered_rows >= self.definition.options.round_rows:
                self.flush()
        self.rows_seen += len(proba)
        self.labels_seen += 0 if labels is None else int((labels != UNLABELLED).sum())
        self._notice(before, rows.at)
        return told

    def _step(
        self, proba: FloatArray, labels: IntArray | None, ids: list[str | None] | None, chosen: FloatArray | None
    ) -> Any:
        try:
            return self.adapter.step(proba, labels, ids=ids, y_probability=chosen)
        except (ValueError, TypeError) as error:
            raise InvalidError(str(error), _blamed(str(error))) from error

    def flush(self) -> None:
        """Make a round of the rows that were collected."""
        if not self._buffered:
            return
        rounds, self._buffered = self._buffered, []
        proba = np.concatenate([floats(rows.proba, rows.n, self.n_classes) for rows in rounds])
        labels = np.concatenate(
            [np.full(rows.n, UNLABELLED) if rows.labels is None else integers(rows.labels) for rows in rounds]
        )
        ids = [name for rows in rounds for name in (rows.ids or [None] * rows.n)]
        at = [rows.at for rows in rounds for _ in range(rows.n)]
        labelled, chosen = bool((labels != UNLABELLED).any()), None
        if labelled and any(rows.chosen is not None for rows in rounds):
            chosen = np.concatenate([_chosen(rows) for rows in rounds])
        self.adapter.update(
            proba,
            labels if labelled else None,
            ids=ids if any(name is not None for name in ids) else None,
            y_probability=chosen,
        )
        self._wait(at, proba, labels, ids)

    def _check_ids(self, ids: list[str | None]) -> None:
        """Check what the adapter cannot know of: ids among the rows that are being collected."""
        collected = {name for rows in self._buffered for name in rows.ids or () if name is not None}
        named = [name for name in ids if name is not None]
        if len(set(named)) < len(named):
            twice = next(name for i, name in enumerate(named) if name in named[:i])
            raise InvalidError(f"ids holds {twice!r:.100} twice; give every sample its own.", "ids")
        for name in named:
            if name in collected or name in self.waiting:
                raise InvalidError(
                    f"ids holds {name!r:.100}, which waits for its label already; give every sample its own.", "ids"
                )

    def _wait(
        self, at: float | list[float], proba: FloatArray, labels: IntArray | None, ids: list[str | None] | None
    ) -> None:
        if ids is not None:
            self.waiting.add(at, proba, labels, ids, at_most=self.adapter.max_waiting)

    def _learn_labels(self, entry: Labels) -> int:
        told = dict(zip(entry.ids, integers(entry.labels).tolist(), strict=True))
        chances = {} if entry.chosen is None else dict(zip(entry.ids, floats(entry.chosen, -1).tolist(), strict=True))
        before, found = self._flags(), 0
        for rows in self._buffered:
            if rows.ids is not None and not told.keys().isdisjoint(name for name in rows.ids if name is not None):
                labels = np.full(rows.n, UNLABELLED) if rows.labels is None else integers(rows.labels)
                chosen = _chosen(rows)
                for i, name in enumerate(rows.ids):
                    if name is not None and name in told and told[name] != UNLABELLED:
                        labels[i], rows.ids[i] = told.pop(name), None
                        chosen[i] = chances.get(name, 1.0)
                        found += 1
                rows.labels = labels.tobytes()
                rows.chosen = chosen.tobytes() if chances or rows.chosen is not None else None
        lags = [entry.at - self.waiting.since(name) for name, label in told.items() if label != UNLABELLED
                and name in self.waiting]  # fmt: skip
        if told:
            columns = np.array(list(told.values()), dtype=np.int64)
            chances_left = np.array([chances[name] for name in told]) if chances else None
            found += self.adapter.update_labels(list(told), columns, y_probability=chances_left)
            self.waiting.drop([name for name, label in told.items() if label != UNLABELLED])
        self.waiting.note_lags(lags)
        self.labels_seen += found
        self.events.append(Event(entry.at, self.adapter.rounds_, "labels", f"{found} of {len(entry.ids)} labels"))
        self._notice(before, entry.at)
        return found

    def _forget(self, entry: Forgotten) -> int:
        gone, found = set(entry.ids), 0
        for rows in self._buffered:
            for i, name in enumerate(rows.ids or ()):
                if name in gone and rows.ids is not None:
                    rows.ids[i] = None
                    found += 1
        found += self.adapter.forget(entry.ids)
        self.waiting.drop(entry.ids)
        self.events.append(Event(entry.at, self.adapter.rounds_, "forgotten", f"{found} ids deleted"))
        return found

    def _flags(self) -> dict[str, bool]:
        adapter = self.adapter
        return {
            "enabled": adapter.enabled,
            "transductive": adapter.transductive,
            "fallback": adapter.fallback_active_,
            "alarm": adapter.assumption_alarm_,
        }

    def _notice(self, before: dict[str, bool], at: float) -> None:
        """Note alarms and fallbacks that began or ended."""
        adapter, number = self.adapter, self.adapter.rounds_
        if adapter.assumption_alarm_ != before["alarm"]:
            findings = [str(finding) for finding in adapter.assumption_findings_[:1]]
            begun = ("alarm", "more than the class mix seems to have changed" + "".join(f": {f}" for f in findings))
            over = ("alarm_over", "the class mix explains the stream again")
            self.events.append(Event(at, number, *(begun if adapter.assumption_alarm_ else over)))
        if adapter.fallback_active_ != before["fallback"]:
            begun, over = ("fallback", adapter.fallback_reason_), ("fallback_over", "the correction is used in full")
            self.events.append(Event(at, number, *(begun if adapter.fallback_active_ else over)))

    def _answer(
        self, proba: FloatArray | None, prior: FloatArray, flags: dict[str, bool] | None = None, n: int = 0
    ) -> Answer:
        rows = None if proba is None else proba.tobytes()
        count = n if proba is None else len(proba)
        return Answer(rows, count, prior.tobytes(), self.adapter.rounds_, flags or self._flags())

    def dumps(self) -> bytes:
        """Return the state as bytes."""
        return msgspec.msgpack.encode(
            _Snapshot(
                FORMAT,
                self.definition,
                self.health,
                dumps(self.adapter),
                self.rows_seen,
                self.labels_seen,
                self._buffered,
                self.waiting,
            )
        )

    @classmethod
    def loads(cls, data: bytes) -> Self:
        """Return a state from its bytes."""
        found = msgspec.msgpack.decode(data, type=_Snapshot)
        if found.format != FORMAT:
            raise ValueError(f"a snapshot of the format {found.format}; this version reads {FORMAT}.")
        loaded = cls(found.definition, loads(found.adapter), found.health)
        loaded.rows_seen, loaded.labels_seen = found.rows_seen, found.labels_seen
        loaded._buffered, loaded.waiting = found.buffered, found.waiting
        return loaded

    @classmethod
    def made_again(cls, snapshot: bytes, log: Iterable[tuple[int, bytes]]) -> Self:
        """Return a state from the bytes of an earlier one, and of the numbered entries that came after it."""
        made = cls.loads(snapshot)
        for _, data in log:
            made.apply(unpack(data), answer=False)
        made.events.clear()
        return made


def _chosen(rows: Rows) -> FloatArray:
    """Return the probability with which each row was chosen for a label: 1 where nobody said."""
    return np.ones(rows.n) if rows.chosen is None else floats(rows.chosen, rows.n)


def _blamed(message: str) -> str:
    """Return the field that a message of the library is about."""
    first = message.split(" ", 1)[0]
    return {"y": "labels"}.get(first, first if first in ("proba", "ids") else "")
