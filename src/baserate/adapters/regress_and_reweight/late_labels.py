"""LateLabels: samples that wait for their labels, by id; the oldest is given up when there are too many."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.adapters.regress_and_reweight.abilities import correctable
from baserate.class_labels import ClassNames
from baserate.protocols import UNLABELLED, FloatArray, IntArray, Key, Tracker
from baserate.state import Component
from baserate.state.declarations import Each, Plain, Saved, Saves, Whole, key_list, priors
from baserate.validation import SUM_TOLERANCE, check_chosen, check_integer, check_keys, check_labels

Labels = ArrayLike | None
Ids = Sequence[Key | None] | None


class RepeatedIdError(ValueError):
    """An id that a sample has already.

    Parameters
    ----------
    message : str
    place : int
        Where in the ids it stands.
    """

    def __init__(self, message: str, *, place: int) -> None:
        super().__init__(message)
        self.place = place


class LateBatch(NamedTuple):
    """Samples of one earlier round whose labels have come.

    Attributes
    ----------
    note : sequence
        The tracker's own note of the round.
    raw, proba : (n, k) arrays
        The samples: the model's own probabilities, and calibrated.
    foreseen : (n, k) array
        Their probabilities as they were corrected in their round.
    predicted : (n,) array of int
        The classes that were predicted.
    places : (n,) array of int
        Their numbers in the stream; -1 if they are of another.
    labels : (n,) array of int
    learned : int
        Labels that corrections had been learned from until then; others came while these were waited for.
    chosen : (n,) array or None
        The probability with which each was chosen for a label, if that is known.
    """

    note: Any
    raw: FloatArray
    proba: FloatArray
    foreseen: FloatArray
    predicted: IntArray
    places: IntArray
    labels: IntArray
    learned: int
    chosen: FloatArray | None = None


def whole_round(
    note: Any,
    raw: FloatArray,
    proba: FloatArray,
    foreseen: FloatArray,
    predicted: IntArray | None,
    places: IntArray,
    labels: IntArray | None,
    learned: int,
) -> LateBatch:
    """Return all samples of a round; `predicted` if that is not by `foreseen`, and the labels that are known."""
    shown = foreseen.argmax(axis=1) if predicted is None else predicted
    known = np.full(len(raw), UNLABELLED) if labels is None else labels
    return LateBatch(note, raw, proba, foreseen, shown, places, known, learned)


class WaitingSample(NamedTuple):
    """A sample that waits for its label; fields as in `LateBatch`."""

    note: Any
    raw: FloatArray
    proba: FloatArray
    foreseen: FloatArray
    predicted: int
    place: int
    learned: int


class CheckedLabels(NamedTuple):
    """Labels that have come: ids, labels, and the probability with which each was chosen, if that is known."""

    names: list[Key]
    labels: IntArray
    chosen: FloatArray | None


def _check_samples(saved: Saved) -> str:
    state, sizes = saved.state, saved.sizes
    if sizes["samples"] > saved.params["at_most"]:
        return "has more samples than may wait"
    if len(set(state["ids"])) < len(state["ids"]):
        return "has ids that are not unique"
    if any(place >= sizes["notes"] for place in state["note_of_row"]):
        return "has samples of a round that it does not know"
    if any(c >= sizes["k"] for c in state["predicted"]):
        return "has predictions of classes that there are not"
    if not all(isinstance(note, list | tuple) and len(note) > 0 for note in state["notes"]):
        return "has a note that is no list"
    return ""


class LateLabels(Component, saved_as="late_labels", layout=3):
    """Samples by id, each with the note that the tracker made in its round, and how it was predicted.

    Parameters
    ----------
    at_most : int
        How many samples may wait.

    Attributes
    ----------
    missed_ : int
        Labels that came for samples that do not wait.
    """

    saves = Saves(
        params={"at_most": Whole()},
        state={
            "missed_": Whole(),
            "ids": key_list("samples"),
            "rows": Each(priors("k", within=SUM_TOLERANCE), "samples"),
            "raw": Each(priors("k", within=SUM_TOLERANCE), "samples"),
            "foreseen": Each(priors("k", within=SUM_TOLERANCE), "samples"),
            "predicted": Each(Whole(), "samples"),
            "places": Each(Whole(-1), "samples"),
            "learned": Each(Whole(), "samples"),
            "note_of_row": Each(Whole(), "samples"),
            "notes": Each(Plain(), "notes"),
        },
        check=_check_samples,
    )

    @classmethod
    def upgrade(
        cls, layout: int, params: dict[str, Any], state: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read older layouts.

        Layout 1 did not keep how samples were predicted: the trust signals do not learn their labels. Layout 2 did not
        keep how many labels had been learned: delays are counted from the first label on.
        """
        rows = state["rows"]
        if layout == 1:
            own = [int(np.argmax(row)) for row in state["raw"]]
            state = {**state, "foreseen": rows, "predicted": own, "places": [-1] * len(rows)}
        return params, {**state, "learned": [0] * len(rows)}

    def __init__(self, at_most: int = 10_000) -> None:
        self.at_most = at_most
        check_integer(at_most, "max_waiting", 0)
        self.missed_ = 0
        self._samples: dict[Key, WaitingSample] = {}

    def __len__(self) -> int:
        return len(self._samples)

    def check_new(self, ids: Any, n_samples: int, tracker: Tracker) -> list[Key | None]:
        """Check the ids of a batch, one (or None) for each sample, none twice, none that waits; and the tracker."""
        correctable(tracker)
        names = self._check_ids(ids, missing=True)
        if len(names) != n_samples:
            raise ValueError(f"ids has {len(names)} entries; expected {n_samples}, one per row of proba.")
        for i, name in enumerate(names):
            if name in self._samples:
                raise RepeatedIdError(
                    f"ids holds {name!r}, which waits for its label already; give every sample its own.", place=i
                )
        return names

    def check(
        self,
        ids: Any,
        y: ArrayLike,
        n_classes: int,
        classes: ClassNames | None = None,
        y_probability: ArrayLike | None = None,
    ) -> CheckedLabels:
        """Check ids and labels that came late, and the probabilities with which they were chosen."""
        names = [name for name in self._check_ids(ids) if name is not None]
        if np.ndim(y) == 1 and np.size(y) != len(names):
            raise ValueError(f"ids has {len(names)} entries and y has {np.size(y)}; give a label for each id.")
        labels = check_labels(y, len(names), n_classes, missing=True, classes=classes)
        return CheckedLabels(names, labels, check_chosen(y_probability, labels))

    def _check_ids(self, ids: Any, *, missing: bool = False) -> list[Key | None]:
        """Check ids: all text or all whole numbers, as those that wait are, and none twice; some may be None."""
        if missing and isinstance(ids, list | tuple) and None in ids:
            places = [i for i, name in enumerate(ids) if name is not None]
            known = check_keys([ids[i] for i in places], "ids", self._samples)
            names: list[Key | None] = [None] * len(ids)
            for i, name in zip(places, known, strict=True):
                names[i] = name
        else:
            known = check_keys(ids, "ids", self._samples)
            names = [*known]
        if len(set(known)) < len(known):
            place, twice = next((i, name) for i, name in enumerate(names) if name is not None and name in names[:i])
            raise RepeatedIdError(f"ids holds {twice!r} twice; give every sample its own.", place=place)
        return names

    def remember(
        self,
        names: Sequence[Key | None],
        batch: LateBatch,
    ) -> None:
        """Let the unlabelled samples of a round wait; the oldest samples that are too many are given up.

        Parameters
        ----------
        names
            The samples' ids; None where a sample has none.
        batch : LateBatch
            All samples of the round, in its order, with the labels that are known already.
        """
        raw, proba, foreseen = batch.raw, batch.proba, batch.foreseen
        for i, name in enumerate(names):
            if name is not None and batch.labels[i] == UNLABELLED:
                row = proba[i].copy()
                own = row if raw is proba else raw[i].copy()
                place, predicted = int(batch.places[i]), int(batch.predicted[i])
                waiting = WaitingSample(batch.note, own, row, foreseen[i].copy(), predicted, place, batch.learned)
                self._samples[name] = waiting
        while len(self._samples) > self.at_most:
            del self._samples[next(iter(self._samples))]

    def take(self, names: list[Key], labels: IntArray, chosen: FloatArray | None = None) -> list[LateBatch]:
        """The samples whose labels have come, grouped by round; they no longer wait. Other labels are missed."""
        found: dict[int, list[tuple[WaitingSample, int, int]]] = {}
        for i, (name, label) in enumerate(zip(names, labels.tolist(), strict=True)):
            if label == UNLABELLED:
                continue
            if name not in self._samples:
                self.missed_ += 1
                continue
            sample = self._samples.pop(name)
            found.setdefault(id(sample.note), []).append((sample, label, i))
        batches = []
        for group in found.values():
            samples, told, order = zip(*group, strict=True)
            note, *rest = zip(*samples, strict=True)
            *rest, learned = rest
            raw, proba, foreseen, predicted, places = (np.array(part) for part in rest)
            known = None if chosen is None else chosen[list(order)]
            batch = LateBatch(note[0], raw, proba, foreseen, predicted, places, np.array(told), learned[0], known)
            batches.append(batch)
        return batches

    def forget(self, ids: Any) -> int:
        """Give up samples, and return how many of them waited."""
        names = self._check_ids(ids)
        return sum(self._samples.pop(name, None) is not None for name in names if name is not None)

    def predicted(self) -> IntArray:
        """The class that the model itself predicted for each sample that waits."""
        return np.array([sample.raw.argmax() for sample in self._samples.values()], dtype=np.int64)

    def forget_places(self) -> None:
        """Forget where samples stood in the stream: the trust signals begin anew, and so do corrections."""
        self._samples = {name: sample._replace(place=-1, learned=0) for name, sample in self._samples.items()}

    def clear(self) -> None:
        """Give up all samples."""
        self._samples.clear()

    def get_state(self) -> dict[str, Any]:
        samples = self._samples.values()
        notes = {id(sample.note): sample.note for sample in samples}
        place = {number: i for i, number in enumerate(notes)}
        return {
            "missed_": self.missed_,
            "ids": list(self._samples),
            "rows": [sample.proba for sample in samples],
            "raw": [sample.raw for sample in samples],
            "foreseen": [sample.foreseen for sample in samples],
            "predicted": [sample.predicted for sample in samples],
            "places": [sample.place for sample in samples],
            "learned": [sample.learned for sample in samples],
            "notes": [list(note) for note in notes.values()],
            "note_of_row": [place[id(sample.note)] for sample in samples],
        }

    def set_state(self, state: dict[str, Any]) -> Self:
        notes = [tuple(note) for note in state["notes"]]
        self._samples = {}
        parts = ("ids", "note_of_row", "raw", "rows", "foreseen", "predicted", "places", "learned")
        for name, note, *rows, predicted, place, learned in zip(*(state[part] for part in parts), strict=True):
            raw, proba, foreseen = (np.array(row) for row in rows)
            numbers = int(predicted), int(place), int(learned)
            self._samples[name] = WaitingSample(notes[note], raw, proba, foreseen, *numbers)
        self.missed_ = int(state["missed_"])
        return self
