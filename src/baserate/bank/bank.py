"""Bank: many keyed streams at once, as a struct of arrays."""

import copy
from collections.abc import Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from baserate.adapters import RegressAndReweight
from baserate.bank.grouping import Groups, sort_by_key
from baserate.bank.key_watch import Foreseen, KeyWatch
from baserate.bank.late_labels import Ids, Waiting, numbered, to_wait
from baserate.bank.readings import BankReadings, Keys
from baserate.bank.saved import SAVED
from baserate.bank.step import BankStep
from baserate.guard import copied_alone, guarded
from baserate.protocols import (
    BankableTracker,
    CorrectableRowsTracker,
    Evidence,
    FloatArray,
    IdlingTracker,
    IntArray,
    Key,
    ThreadedTracker,
)
from baserate.trackers import FollowTheHistory
from baserate.trust.keyed import with_all_grids
from baserate.validation import check_fitted, check_integer, check_labels, check_vector


class Bank(BankReadings, saved_as="bank", layout=2):
    """One fitted `RegressAndReweight` for many independent streams, such as one per shop, hospital or customer.

    All keys share the model's holdout; each has its own class mix. A call of `step` is one round for every key that has
    rows in it, any number per key. A new key starts where the tracker starts: by default, at the source prior.

    Each key has a gate, a check of label shift, a band and an estimated accuracy of its own, by its own rows: see
    `signs`. They are those of a separate adapter, but for what would take more than all the rest: bets, unknown mass,
    and the choice among corrections by labels. An adapter with ``gate=False`` makes a bank without gates,
    where a key gives the same bits as a separate adapter; with ``alpha=None``, there are no signs at all.

    Thousands of keys are processed in threads, one for each CPU available to this process; the environment variable
    ``NUMBA_NUM_THREADS`` sets another number. The number of threads does not change the results, bit for bit.

    When the model is redeployed, ``bank.adapter.refit(proba, y)`` fits its new holdout for every key.

    Parameters
    ----------
    adapter : RegressAndReweight
        Fitted, with a tracker of bounded state, such as the default. It is copied, and not changed itself.

    Examples
    --------
    >>> from baserate.adapters import RegressAndReweight
    >>> from baserate.trackers import FollowTheHistory
    >>> adapter = RegressAndReweight(FollowTheHistory(2)).fit([[0.9, 0.1], [0.2, 0.8]], [0, 1])
    >>> bank = Bank(adapter)
    >>> step = bank.step(["north", "south", "north"], [[0.9, 0.1], [0.2, 0.8], [0.9, 0.1]])
    >>> bank.prior(["south", "north"]).round(12)
    array([[0., 1.],
           [1., 0.]])
    """

    saves = SAVED

    @classmethod
    def upgrade(
        cls, layout: int, params: dict[str, Any], state: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read layout 1, whose keys knew fewer grids that outputs are rounded to."""
        return params, {**state, "_trust": with_all_grids(state["_trust"])} if "_trust" in state else state

    def __init__(self, adapter: RegressAndReweight) -> None:
        if not isinstance(adapter, RegressAndReweight):
            raise TypeError(f"adapter is {adapter!r}; give a fitted RegressAndReweight.")
        check_fitted(adapter, "source_prior_")
        if not isinstance(adapter.tracker_, BankableTracker):
            raise TypeError(
                f"the adapter's tracker, {type(adapter.tracker_).__name__}, cannot be held as arrays of bounded size; "
                "for a bank choose one with bounded state, such as LikelihoodMixture, the default."
            )
        if adapter.transductive:
            raise ValueError("the adapter is transductive; a bank follows the strict protocol. Set transductive=False.")
        self.adapter = copy.deepcopy(adapter)
        self.guard = self.adapter.guard  # one for both: a refit of the adapter is a change of the bank
        self._threaded = isinstance(adapter.tracker_, ThreadedTracker) and adapter.tracker_.in_threads
        self.rounds_ = 0
        self._row: dict[Key, int] = {}
        self._state = self._initial_state(1)
        self._last_seen = np.zeros(1, dtype=np.int64)
        self._watch = KeyWatch(self.adapter)
        self._waiting, self._watched = Waiting(len(adapter.source_prior_), adapter.max_waiting), self._watch.trust

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return copied_alone(self, memo)

    @guarded
    def predict_proba(self, keys: Keys, proba: ArrayLike) -> FloatArray:
        """Return adapted probabilities, row by row; changes nothing."""
        groups = self._group(keys, proba, None)
        return self._shown(groups, self._watch.foresee(groups, self._priors(groups.places)))

    @guarded
    def update(self, keys: Keys, proba: ArrayLike, y: ArrayLike | None = None, *, ids: Ids | None = None) -> None:
        """Update every key in `keys` with one round.

        Parameters
        ----------
        keys : sequence of str or of int
            The key of each row.
        proba : (n, k) array
            The model's probabilities.
        y : (n,) array of int, optional
            Labels where they are known, -1 or NaN where not.
        ids : sequence of str or of int, optional
            An id, or None, of each row, by which its label may come later: see `update_labels`.
        """
        groups = self._group(keys, proba, y)
        named = self._named(ids, len(groups.order))
        # It is the trust signals and late labels alone that look at what the rows are predicted as.
        watched = self._watch.trust is not None or named is not None
        self._update(groups, self._watch.foresee(groups, self._priors(groups.places)) if watched else None, named)

    @guarded
    def step(self, keys: Keys, proba: ArrayLike, y: ArrayLike | None = None, *, ids: Ids | None = None) -> BankStep:
        """Predict a batch, then update with it; return the probabilities and the class mixes that were used."""
        groups = self._group(keys, proba, y)
        named = self._named(ids, len(groups.order))
        prior, signs = self._priors(groups.places), self._watch.signs(groups.places)
        foreseen = self._watch.foresee(groups, prior)
        shown = self._shown(groups, foreseen)
        self._update(groups, foreseen, named)
        return BankStep(shown, groups.keys, prior, signs)

    @guarded
    def update_labels(self, keys: Keys, ids: Ids, y: ArrayLike) -> int:
        """Learn the labels of rows of earlier rounds, in place of what was inferred; return their number.

        As `RegressAndReweight.update_labels` does for each key, with up to the adapter's `max_waiting` rows of a key.
        An id stands for the latest row of the key that has it. `missed_labels_` counts labels of rows that do not wait.

        Parameters
        ----------
        keys : sequence of str or of int
            The key of each label.
        ids, y
            As in `update`: the ids that the rows had there, and their labels.
        """
        key_list, tracker = self._check_keys(keys), self._correctable()
        names, has = numbered(ids, len(key_list))
        k, classes = len(self.adapter.source_prior_), self.adapter.class_names_
        labels = check_labels(y, len(key_list), k, missing=True, classes=classes)
        learned, waiting = 0, self._waiting_now()
        for late in waiting.take(self._places(key_list)[has], names[has], labels[has]):
            tracker.correct_row(self._state, late.place, late.note, late.proba, late.labels)
            self._watch.take_late(late.place, late.numbers, late.predicted == late.labels, late.confidence)
            learned += len(late.labels)
        return learned

    def _named(self, ids: Ids | None, n: int) -> tuple[IntArray, NDArray[np.bool_]] | None:
        """Check ids, and that the tracker can take late labels."""
        if ids is None:
            return None
        self._correctable()
        return numbered(ids, n)

    def _correctable(self) -> CorrectableRowsTracker:
        if not isinstance(self._tracker, CorrectableRowsTracker):
            raise TypeError(f"ids: {type(self._tracker).__name__} cannot take back what it has counted for a key.")
        return self._tracker

    def _waiting_now(self) -> Waiting:
        """Return the samples that wait; where they stood counts only for the trust signals of then."""
        if self._watch.trust is not self._watched:
            self._waiting.forget_numbers()
            self._watched = self._watch.trust
        return self._waiting

    @guarded
    def add(self, keys: Keys) -> None:
        """Add keys; those already held stay as they are."""
        new = dict.fromkeys(self._check_keys(keys))
        self._add([key for key in new if key not in self._row])

    @guarded
    def drop(self, keys: Keys) -> None:
        """Remove keys. A key that comes back starts anew."""
        gone = set(self._check_keys(keys))
        unknown = gone - self._row.keys()
        if unknown:
            raise ValueError(f"keys holds {min(unknown)!r}, which is not in this bank.")
        stay = [key for key in self._row if key not in gone]
        rows = np.array([self._row[key] for key in stay], dtype=np.int64)
        self._watch.keep(rows)
        self._waiting.move(rows)
        self._state = type(self._state)(*(array[rows] for array in self._state))
        self._last_seen = self._last_seen[rows]
        self._row = {key: row for row, key in enumerate(stay)}

    @guarded
    def idle(self, keys: Keys, rounds: int | Sequence[int]) -> None:
        """Let rounds without samples pass for some keys, as `RegressAndReweight.idle` does.

        Parameters
        ----------
        keys : sequence of str or of int
            The keys; those that are not held have nothing to forget.
        rounds : int or sequence of int
            Number of rounds, for all keys or for each.
        """
        key_list = self._check_keys(keys)
        each = [rounds] * len(key_list) if isinstance(rounds, Integral | bool) else rounds
        if not isinstance(each, Sequence) or len(each) != len(key_list):
            raise ValueError(
                f"rounds is {rounds!r}; give a whole number, or a list of {len(key_list)}, one for each key."
            )
        gone = {key: check_integer(n, "rounds", 0) for key, n in zip(key_list, each, strict=True)}
        if not isinstance(self._tracker, IdlingTracker):
            raise TypeError(f"{type(self._tracker).__name__} counts rounds with samples alone; it has no method idle.")
        held = [(self._row[key], n) for key, n in gone.items() if key in self._row]
        rows, waits = np.array(held, dtype=np.int64).reshape(-1, 2).T
        self._tracker.idle_rows(self._state, rows.copy(), waits.copy())

    @guarded
    def leave_pool_out(self) -> None:
        """Leave out the check of all keys together from now on: `assumption_evidence_` is 1. No key is concerned.

        For a bank that holds a part of the keys, such as one of many buckets, where nobody asks for it.
        """
        self._watch.leave_pool_out()

    @guarded
    def expire(self, idle: int) -> list[Key]:
        """Remove the keys without rows in the last `idle` rounds of the bank; return them."""
        check_integer(idle, "idle", 1)
        gone = [key for key, row in self._row.items() if self.rounds_ - self._last_seen[row] >= idle]
        self.drop(gone)
        return gone

    def _group(self, keys: Keys, proba: ArrayLike, y: ArrayLike | None) -> Groups:
        given = self.adapter.check_rows(proba)
        checked = self.adapter.calibrate(given)
        key_list = self._check_keys(keys)
        if len(key_list) != len(checked):
            raise ValueError(f"keys has {len(key_list)} entries; expected {len(checked)}, one per row of proba.")
        labels = None if y is None else check_labels(y, *checked.shape, missing=True, classes=self.adapter.class_names_)
        places = self._places(key_list)
        # Scratch space for all places, held or not; most of it is never touched.
        first, order, starts = sort_by_key(places, np.empty(len(self._row) + len(places), dtype=np.int64))
        labels = None if labels is None else labels[order]
        distinct = [key_list[i] for i in first.tolist()]
        sorted_rows = checked.take(order, axis=0)
        return Groups(distinct, places[first], order, starts, sorted_rows, labels, given, checked is given)

    def _shown(self, groups: Groups, foreseen: Foreseen) -> FloatArray:
        """Return what is predicted, in the order of the rows."""
        if not self.adapter.enabled:
            return groups.as_given.copy()
        out = np.empty_like(foreseen.adapted)
        out[groups.order] = foreseen.adapted
        alone = groups.order[foreseen.alone]
        out[alone] = groups.as_given[alone]
        return out

    def _update(
        self, groups: Groups, foreseen: Foreseen | None, named: tuple[IntArray, NDArray[np.bool_]] | None = None
    ) -> None:
        if groups.keys:
            z = self.adapter.sightings(groups.proba, groups.labels, groups.starts)
            check_vector(z.ravel(), z.size, f"a sighting of {type(self.adapter.marginals_).__name__}")
            new = np.flatnonzero(groups.places >= len(self._row))
            self._add([groups.keys[j] for j in new.tolist()])
            if named is not None and foreseen is not None:
                seen, waiting = self._watch.rows(groups.places), self._waiting_now()
                waiting.remember(*to_wait(groups, foreseen, *named, seen, lambda j: self._note(groups, j)))
            self._for_keys(lambda begin, end: self._update_some(groups, z, begin, end), len(groups.keys))
            self._last_seen[groups.places] = self.rounds_ + 1
            if foreseen is not None:
                self._watch.take_in(groups, foreseen, self._priors)
        self.rounds_ += 1

    def _update_some(self, groups: Groups, z: FloatArray, begin: int, end: int) -> None:
        evidence = self._evidence(groups, begin, end)
        self._tracker.update_rows(self._state, groups.places[begin:end], z[begin:end], evidence)

    def _evidence(self, groups: Groups, begin: int, end: int) -> Evidence:
        starts = groups.starts[begin : end + 1]
        rows = slice(starts[0], starts[-1])
        labels = None if groups.labels is None else groups.labels[rows]
        return Evidence(groups.proba[rows], self.adapter.source_prior_, labels, starts - starts[0])

    def _note(self, groups: Groups, j: int) -> Any:
        """Return the tracker's note of the round of a key, before it learns from it."""
        alone: Any = self._correctable().of_row(self._state, int(groups.places[j]))
        return alone.note(self._evidence(groups, j, j + 1))

    def _add(self, keys: list[Key]) -> None:
        """Add new keys, each named once."""
        before, after = len(self._row), len(self._row) + len(keys)
        if after > len(self._last_seen):
            self._reserve(max(after, 2 * before))
        for array, born in zip(self._state, self._initial_state(after - before), strict=True):
            array[before:after] = born
        self._watch.add(after - before)
        self._last_seen[before:after] = self.rounds_
        self._row.update(zip(keys, range(before, after), strict=True))

    def _initial_state(self, n: int) -> Any:
        """Return the initial state of keys, which depends on the current adapter."""
        return self._tracker.new_state(np.tile(self._tracker.birth_, (n, 1)))

    def _reserve(self, capacity: int) -> None:
        """Enlarge the arrays; new rows are initialised when their keys are added."""
        used = len(self._row)

        def larger(array: NDArray[Any]) -> NDArray[Any]:
            return np.concatenate([array[:used], np.empty((capacity - used, *array.shape[1:]), array.dtype)])

        self._watch.reserve(capacity)
        self._state = type(self._state)(*map(larger, self._state))
        self._last_seen = larger(self._last_seen)

    def get_state(self) -> dict[str, Any]:
        used = len(self._row)
        waits = self.waiting_ or self.missed_labels_
        optional = {"_waiting": self._waiting_now().get_state()} if waits else {}
        return (
            self._watch.get_state()
            | optional
            | {
                "rounds_": self.rounds_,
                "_keys": self.keys,
                "_state": {name: array[:used] for name, array in self._state._asdict().items()},
                "_last_seen": self._last_seen[:used],
            }
        )

    def set_state(self, state: dict[str, Any]) -> Self:
        self._last_seen = state["_last_seen"].copy()
        self._state = type(self._state)(**{name: array.copy() for name, array in state["_state"].items()})
        self._row = {key: row for row, key in enumerate(state["_keys"])}
        self.rounds_ = state["rounds_"]
        self._watch.set_state(len(self._row), state.get("_trust"), state.get("_pooled"))
        self._waiting, self._watched = (
            Waiting(len(self.adapter.source_prior_), self.adapter.max_waiting),
            self._watch.trust,
        )
        if "_waiting" in state:
            self._waiting.set_state(state["_waiting"])
        return self

    def __sklearn_clone__(self) -> Self:
        """An empty bank around the same fitted adapter."""
        return type(self)(self.adapter)

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(RegressAndReweight(FollowTheHistory(3)).fit(0.7 * np.eye(3) + 0.1, [0, 1, 2]))]
