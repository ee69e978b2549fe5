"""Samples that wait for their labels, the oldest of which is given up when there are too many."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from baserate.protocols import UNLABELLED, FloatArray, IntArray, Key
from baserate.state import Component
from baserate.validation import check_integer, check_keys


class Waiting(Component, saved_as="waiting"):
    """Samples by id, each with what its round knew.

    Parameters
    ----------
    at_most : int
        How many samples may wait.
    """

    def __init__(self, at_most: int = 10_000) -> None:
        self.at_most = at_most
        check_integer(at_most, "max_waiting", 0)
        self._samples: dict[Key, tuple[Any, FloatArray, int]] = {}

    def __len__(self) -> int:
        return len(self._samples)

    def check_new(self, ids: Any, n_samples: int) -> list[Key]:
        """Check the ids of a batch: one for each sample, none twice, none that waits already."""
        names = self.check_ids(ids)
        if len(names) != n_samples:
            raise ValueError(f"ids has {len(names)} entries; expected {n_samples}, one per row of proba.")
        for name in names:
            if name in self._samples:
                raise ValueError(f"ids holds {name!r}, which waits for its label already; give every sample its own.")
        return names

    def check_ids(self, ids: Any) -> list[Key]:
        """Check ids: all text or all whole numbers, as those that wait are, and none twice."""
        names = check_keys(ids, "ids", self._samples)
        if len(set(names)) < len(names):
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise ValueError(f"ids holds {twice!r} twice; give every sample its own.")
        return names

    def add(self, names: list[Key], note: Any, proba: FloatArray, own: IntArray, labels: IntArray | None) -> None:
        """Let the samples of a round wait whose labels are not known; what is too much goes, oldest first.

        Parameters
        ----------
        names, note, proba
            Of the samples, what the round knew, and the samples.
        own : (n,) array of int
            The classes that the model itself predicted.
        labels : (n,) array of int, optional
            Those that are known.
        """
        for i, name in enumerate(names):
            if labels is None or labels[i] == UNLABELLED:
                self._samples[name] = note, proba[i].copy(), int(own[i])
        while len(self._samples) > self.at_most:
            del self._samples[next(iter(self._samples))]

    def take(self, names: list[Key], labels: IntArray) -> Iterator[tuple[Any, FloatArray, IntArray, IntArray]]:
        """What each round knew, its samples whose labels have come now, the model's own, and those; none waits on."""
        found: dict[int, tuple[Any, list[FloatArray], list[int], list[int]]] = {}
        for name, label in zip(names, labels.tolist(), strict=True):
            if name in self._samples and label != UNLABELLED:
                note, row, predicted = self._samples.pop(name)
                _, rows, own, told = found.setdefault(id(note), (note, [], [], []))
                rows.append(row)
                own.append(predicted)
                told.append(label)
        for note, rows, own, told in found.values():
            yield note, np.array(rows), np.array(own), np.array(told)

    def clear(self) -> None:
        """Give up all samples."""
        self._samples.clear()

    def get_state(self) -> dict[str, Any]:
        notes = {id(note): note for note, *_ in self._samples.values()}
        place = {number: i for i, number in enumerate(notes)}
        return {
            "ids": list(self._samples),
            "rows": [row for _, row, _ in self._samples.values()],
            "own": [own for *_, own in self._samples.values()],
            "notes": [list(note) for note in notes.values()],
            "note_of_row": [place[id(note)] for note, *_ in self._samples.values()],
        }

    def set_state(self, state: dict[str, Any]) -> Self:
        notes = [tuple(note) for note in state["notes"]]
        samples = zip(state["ids"], state["note_of_row"], state["rows"], state["own"], strict=True)
        self._samples = {name: (notes[place], np.array(row), int(own)) for name, place, row, own in samples}
        return self
