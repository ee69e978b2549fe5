"""Waiting: the samples of a bank's keys that wait for their labels, as arrays."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baserate.bank.grouping import Groups
from baserate.bank.key_watch import Foreseen
from baserate.protocols import UNLABELLED, FloatArray, IntArray, Key
from baserate.state.declarations import Sizes, Spec
from baserate.validation import SUM_TOLERANCE

NoteOf = Callable[[int], Any]
Ids = Sequence[Key | None] | NDArray[Any]


class LateSamples(NamedTuple):
    """Samples of one earlier round of one key, whose labels have come; `note` is the tracker's of that round."""

    place: int
    note: Any
    proba: FloatArray
    confidence: FloatArray
    predicted: IntArray
    numbers: IntArray
    labels: IntArray


class Samples(NamedTuple):
    """Samples that wait, in the order of their rounds; of those of a key with the same id, the latest one counts."""

    places: IntArray
    """The place of each sample's key."""
    names: IntArray
    """Its id, as a number: see `numbered`."""
    notes: IntArray
    """Which of the notes is that of its round."""
    proba: FloatArray
    """Calibrated probabilities."""
    confidence: FloatArray
    """The largest probability that was predicted."""
    predicted: IntArray
    """The class that was predicted."""
    numbers: IntArray
    """Its number among the samples of its key."""

    @classmethod
    def none(cls, k: int) -> "Samples":
        """No samples."""
        whole = np.empty(0, dtype=np.int64)
        return cls(whole, whole, whole, np.empty((0, k)), np.empty(0), whole, whole)

    def take(self, which: Any) -> "Samples":
        """Some of them."""
        return Samples(*(array[which] for array in self))


def numbered(ids: Ids, n: int) -> tuple[IntArray, NDArray[np.bool_]]:
    """Return ids as whole numbers, and which samples have one; of text, 64 bits of a hash."""
    values = list(ids) if isinstance(ids, list | tuple) else np.asarray(ids).tolist()
    if not isinstance(values, list):
        raise TypeError(f"ids is {ids!r}; give one id per row.")
    if len(values) != n:
        raise ValueError(f"ids has {len(values)} entries; expected {n}.")
    kinds = {type(value) for value in values} - {type(None)}
    if kinds - {str, int} or len(kinds) > 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(f"ids holds {names}; ids are all text or all whole numbers, and None for a sample without.")
    has = np.array([value is not None for value in values], dtype=bool)
    if str in kinds:
        values = [None if value is None else _hashed(str(value)) for value in values]
    return np.array([0 if value is None else value for value in values], dtype=np.int64), has


def _hashed(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little", signed=True)


class Waiting:
    """Samples of many keys that wait for their labels, each with the tracker's note of its round.

    Parameters
    ----------
    k : int
        The number of classes.
    at_most : int
        How many samples of a key may wait; the oldest ones are given up.
    """

    def __init__(self, k: int, at_most: int) -> None:
        self._at_most = at_most
        self.samples, self.notes, self.missed = Samples.none(k), list[Any](), 0

    def remember(self, new: Samples, notes: list[Any]) -> None:
        """Let samples of new rounds wait; their notes are numbered from 0."""
        new = new._replace(notes=new.notes + len(self.notes))
        pairs: Any = zip(self.samples, new, strict=True)
        self.samples = Samples(*map(np.concatenate, pairs))
        self.notes += notes
        self._give_up_repeated(len(new.places))
        self._give_up(np.unique(new.places))

    def _give_up_repeated(self, new: int) -> None:
        """Give up samples whose key has given their id to one of the last `new` samples, too."""
        held, old = self.samples, len(self.samples.places) - new
        near = np.flatnonzero(np.isin(held.names[:old], held.names[old:]))
        if len(near) == 0:
            return
        known = set(zip(held.places[old:].tolist(), held.names[old:].tolist(), strict=True))
        before = zip(held.places[near].tolist(), held.names[near].tolist(), strict=True)
        same = np.zeros(len(held.places), dtype=bool)
        same[near] = [pair in known for pair in before]
        if same.any():
            self._keep(~same)

    def _give_up(self, places: IntArray) -> None:
        """Give up the oldest samples of keys that have too many."""
        held = self.samples.places
        order = np.argsort(held, kind="stable")
        ends = np.searchsorted(held[order], held[order], side="right")
        too_old = np.zeros(len(held), dtype=bool)
        too_old[order] = ends - np.arange(len(held)) > self._at_most
        if too_old.any():
            self._keep(~too_old)

    def _keep(self, which: NDArray[np.bool_]) -> None:
        """Keep some samples, and the notes that they need."""
        samples = self.samples.take(which)
        used, notes = np.unique(samples.notes, return_inverse=True)
        self.samples, self.notes = samples._replace(notes=notes), [self.notes[i] for i in used.tolist()]

    def take(self, places: IntArray, names: IntArray, labels: IntArray) -> list[LateSamples]:
        """Return the samples whose labels have come, by key and round; they no longer wait. Others are missed."""
        near = np.flatnonzero(np.isin(self.samples.names, names))
        held = zip(self.samples.places[near].tolist(), self.samples.names[near].tolist(), strict=True)
        index = dict(zip(held, near.tolist(), strict=True))
        found: dict[tuple[int, int], list[tuple[int, int]]] = {}
        gone = np.zeros(len(self.samples.names), dtype=bool)
        for place, name, label in zip(places.tolist(), names.tolist(), labels.tolist(), strict=True):
            if label == UNLABELLED:
                continue
            i = index.pop((place, name), None)
            if i is None:
                self.missed += 1
            else:
                found.setdefault((place, int(self.samples.notes[i])), []).append((i, label))
                gone[i] = True
        out = []
        for (place, note), pairs in found.items():
            rows, told = np.array(pairs, dtype=np.int64).T
            some = self.samples.take(rows)
            out.append(
                LateSamples(place, self.notes[note], some.proba, some.confidence, some.predicted, some.numbers, told)
            )
        if gone.any():
            self._keep(~gone)
        return out

    def move(self, rows: IntArray) -> None:
        """Keep the samples of the keys at some places, which are places 0, 1, ... from now on."""
        highest = max(int(self.samples.places.max(initial=-1)), int(rows.max(initial=-1)))
        new = np.full(highest + 1, -1, dtype=np.int64)
        new[rows] = np.arange(len(rows))
        self._keep(new[self.samples.places] >= 0)
        self.samples = self.samples._replace(places=new[self.samples.places])

    def forget_numbers(self) -> None:
        """Forget where samples stood among those of their key: its trust signals begin anew."""
        self.samples = self.samples._replace(numbers=np.full(len(self.samples.names), -1))

    def get_state(self) -> dict[str, Any]:
        """Return the samples and the notes as plain data: of each part of a note, one array."""
        parts = {
            f"note_{i}": np.array([note[i] for note in self.notes])
            for i in range(len(self.notes[0]) if self.notes else 0)
        }
        return {**self.samples._asdict(), **parts, "missed": self.missed}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state."""
        self.samples = Samples(*(state[name].copy() for name in Samples._fields))
        parts = [state[f"note_{i}"] for i in range(sum(name.startswith("note_") for name in state))]
        self.notes = [tuple(_plain(part[j]) for part in parts) for j in range(len(parts[0]) if parts else 0)]
        self.missed = int(state["missed"])


def _plain(value: Any) -> Any:
    return int(value) if np.ndim(value) == 0 else np.array(value)


def to_wait(
    groups: Groups, foreseen: Foreseen, names: IntArray, has: NDArray[np.bool_], seen: IntArray, note: NoteOf
) -> tuple[Samples, list[Any]]:
    """Return the samples of a batch that have an id and no label, and the notes of their rounds.

    Parameters
    ----------
    names, has : (n,) arrays
        As of `numbered`, in the order in which the rows were given.
    seen : (m,) array of int
        How many samples each key has had before.
    note : callable
        Returns the tracker's note of the round of the j-th key, before it learns from it.
    """
    waits = has[groups.order]
    if groups.labels is not None:
        waits &= groups.labels == UNLABELLED
    which = np.flatnonzero(waits)
    key = np.searchsorted(groups.starts, which, side="right") - 1
    asked, notes = np.unique(key, return_inverse=True)
    shown = np.where(foreseen.alone[which, np.newaxis], groups.as_given[groups.order[which]], foreseen.adapted[which])
    samples = Samples(
        places=groups.places[key],
        names=names[groups.order[which]],
        notes=notes,
        proba=groups.proba[which],
        confidence=foreseen.adapted[which].max(axis=1),
        predicted=shown.argmax(axis=1),
        numbers=seen[key] + which - groups.starts[key],
    )
    return samples, [note(j) for j in asked.tolist()]


def problem_of(state: Any, k: int, keys: int, tracker: type, rounds: int) -> str:
    """Return what is wrong with samples out of a file; empty if nothing is.

    Parameters
    ----------
    state : object
        What the file holds.
    k, keys : int
        How many classes and keys there are.
    tracker : type
        The class of the tracker that made the notes.
    rounds : int
        The largest number of rounds of a key.
    """
    parts = sum(name.startswith("note_") for name in state) if isinstance(state, dict) else 0
    wanted = {*Samples._fields, "missed", *(f"note_{i}" for i in range(parts))}
    if not isinstance(state, dict) or state.keys() != wanted:
        return "has samples that wait in another form"
    arrays = {name: np.asarray(value) for name, value in state.items() if name != "missed"}
    n, notes = len(np.atleast_1d(arrays["places"])), len(np.atleast_1d(arrays["note_0"])) if parts else 0
    whole = ("places", "names", "notes", "predicted", "numbers")
    if any(arrays[name].shape != (n,) or arrays[name].dtype.str != "<i8" for name in whole):
        return "has samples that wait with ids or places that are no whole numbers"
    if arrays["proba"].shape != (n, k) or arrays["confidence"].shape != (n,):
        return "has samples that wait of another size"
    if any(array.dtype.kind not in "fi" or not np.isfinite(array).all() for array in arrays.values()):
        return "has samples that wait with values that are no numbers"
    if any(len(np.atleast_1d(arrays[f"note_{i}"])) != notes for i in range(parts)):
        return "has notes of which parts are missing"
    spec: Spec | None = getattr(tracker, "saved_note", None)
    if spec is None and notes:
        return f"has notes of rounds, which a {tracker.__name__} does not declare"
    if spec is not None:
        for j in range(notes):
            note = tuple(_plain(np.asarray(state[f"note_{i}"])[j]) for i in range(parts))
            spec.check(note, "note", Sizes({"k": k}))
            if note[0] > rounds:
                return "has a note of a round that is still to come"
    limits = {"places": keys, "notes": notes, "predicted": k}
    if n and any(arrays[name].min() < 0 or arrays[name].max() >= limit for name, limit in limits.items()):
        return "has samples that wait for keys, rounds or classes that there are not"
    if n and (arrays["proba"].min() < 0.0 or np.abs(arrays["proba"].sum(axis=1) - 1.0).max() > SUM_TOLERANCE):
        return "has samples that wait with rows that are no probabilities"
    return "" if isinstance(state["missed"], int) and state["missed"] >= 0 else "has missed no whole number of labels"
