"""Bank: many keyed streams at once, as a struct of arrays."""

import copy
import itertools
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from baserate.adapters import RegressAndReweight
from baserate.bank.grouping import Groups, sort_by_key
from baserate.bank.key_watch import Foreseen, KeyWatch
from baserate.bank.saved import SAVED
from baserate.bank.step import BankStep
from baserate.guard import copied_alone, guarded
from baserate.protocols import (
    BankableTracker,
    Evidence,
    FloatArray,
    IdlingTracker,
    IntArray,
    Key,
    KeyedExpertTracker,
    ThreadedTracker,
)
from baserate.state import Component
from baserate.threads import in_threads
from baserate.trackers import FollowTheHistory
from baserate.trust import Accuracy
from baserate.trust.keyed import KeySigns
from baserate.validation import check_fitted, check_integer, check_keys, check_labels, check_real, check_vector

Keys = Sequence[Key] | NDArray[Any]


class Bank(Component, saved_as="bank"):
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

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return copied_alone(self, memo)

    @property
    def _tracker(self) -> BankableTracker:
        return cast(BankableTracker, self.adapter.tracker_)

    def __len__(self) -> int:
        return len(self._row)

    def __contains__(self, key: object) -> bool:
        return key in self._row

    @property
    def keys(self) -> list[Key]:
        """The keys held, oldest first."""
        return list(self._row)

    @guarded
    def prior(self, keys: Keys) -> FloatArray:
        """Return the tracked class mix of some keys, one row each; for a new key, the mix it would start at."""
        return self._priors(self._places(self._check_keys(keys)))

    @guarded
    def signs(self, keys: Keys | None = None) -> KeySigns:
        """Return the trust signals of some keys, or of all, as arrays; new keys have none.

        The alarm of a key is false with probability `alpha` at most, so that of very many keys some are in alarm though
        nothing has happened: `changed_keys` allows for that.
        """
        return self._watch.signs(self._places(self.keys if keys is None else self._check_keys(keys)))

    @guarded
    def changed_keys(self, level: float = 0.1) -> list[Key]:
        """Return the keys of which more than the class mix has ever changed, those with most evidence first.

        Of the keys returned, a share of `level` at most is expected to be there by chance (Benjamini and Hochberg).

        Parameters
        ----------
        level : float
            The expected share of false ones.
        """
        check_real(level, "level", 0.0, 1.0, closed=False)
        keys = self.keys
        return [keys[place] for place in self._watch.changed(level)]

    @property
    def assumption_evidence_(self) -> float:
        """Evidence against label shift of all keys together, 1 for none.

        By chance, it reaches 1 / alpha with probability alpha. It tells of a model that has changed for many keys, even
        if none of them has rows enough to show it.
        """
        return float(np.exp(self._watch.pooled_log))

    @guarded
    def estimated_accuracy(self, keys: Keys, level: float = 0.9) -> list[Accuracy]:
        """Return the estimated accuracy of each key's last rows, up to 5,000: see `RegressAndReweight`."""
        return [found for found, _ in self._estimates(keys, level)]

    @guarded
    def accuracy_in_doubt(self, keys: Keys) -> list[str]:
        """Return the reason why each key's `estimated_accuracy` may not be believed; empty if nothing is in doubt."""
        return [reason for _, reason in self._estimates(keys, 0.9)]

    @guarded
    def prior_interval(self, keys: Keys, level: float = 0.9) -> FloatArray:
        """Return limits of each class's share in some keys now, (m, k, 2); takes about a millisecond for each key.

        They rely on label shift, and are the wider the more is in doubt: see `baserate.trust.PriorBand`. A tracker is
        needed that shows its experts, such as the default.
        """
        places = self._held(keys, level)
        tracker = self._tracker
        if not isinstance(tracker, KeyedExpertTracker):
            raise TypeError(f"{type(tracker).__name__} shows no experts; for bands, use LikelihoodMixture.")
        return self._watch.intervals(
            places, self._priors(places), lambda place: tracker.of_key(self._state, place), level
        )

    def _estimates(self, keys: Keys, level: float) -> list[tuple[Accuracy, str]]:
        places = self._held(keys, level)
        return self._watch.estimates(places, self._priors(places), level)

    def _held(self, keys: Keys, level: float) -> IntArray:
        """Return the places of keys that must be held, after a check of `level`, too."""
        check_real(level, "level", 0.0, 1.0, closed=False)
        key_list = self._check_keys(keys)
        places = self._places(key_list)
        unknown = np.flatnonzero(places >= len(self._row))
        if len(unknown):
            raise ValueError(f"keys holds {key_list[int(unknown[0])]!r}, which is not in this bank.")
        return places

    @guarded
    def predict_proba(self, keys: Keys, proba: ArrayLike) -> FloatArray:
        """Return adapted probabilities, row by row; changes nothing."""
        groups = self._group(keys, proba, None)
        return self._shown(groups, self._watch.foresee(groups, self._priors(groups.places)))

    @guarded
    def update(self, keys: Keys, proba: ArrayLike, y: ArrayLike | None = None) -> None:
        """Update every key in `keys` with one round.

        Parameters
        ----------
        keys : sequence of str or of int
            The key of each row.
        proba : (n, k) array
            The model's probabilities.
        y : (n,) array of int, optional
            Labels where they are known, -1 or NaN where not.
        """
        groups = self._group(keys, proba, y)
        # It is the trust signals alone that look at what the rows are predicted as.
        watched = self._watch.trust is not None
        self._update(groups, self._watch.foresee(groups, self._priors(groups.places)) if watched else None)

    @guarded
    def step(self, keys: Keys, proba: ArrayLike, y: ArrayLike | None = None) -> BankStep:
        """Predict a batch, then update with it; return the probabilities and the class mixes that were used."""
        groups = self._group(keys, proba, y)
        prior, signs = self._priors(groups.places), self._watch.signs(groups.places)
        foreseen = self._watch.foresee(groups, prior)
        shown = self._shown(groups, foreseen)
        self._update(groups, foreseen)
        return BankStep(shown, groups.keys, prior, signs)

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

    def _places(self, keys: list[Key]) -> IntArray:
        """Return the indices of keys in the arrays; new keys get the next ones, in their order."""
        held = len(self._row)
        places = np.fromiter(map(self._row.get, keys, itertools.repeat(-1)), np.int64, len(keys))
        new: dict[Key, int] = {}
        for i in np.flatnonzero(places < 0).tolist():
            places[i] = new.setdefault(keys[i], held + len(new))
        return places

    def _priors(self, places: IntArray) -> FloatArray:
        tracked = np.tile(self._tracker.birth_, (len(places), 1))
        held = np.flatnonzero(places < len(self._row))

        def predict(begin: int, end: int) -> None:
            some = held[begin:end]
            tracked[some] = self._tracker.predict_rows(self._state, places[some])

        self._for_keys(predict, len(held))
        return self.adapter.project(tracked)

    def _for_keys(self, work: Callable[[int, int], None], n: int) -> None:
        """Call ``work`` for ranges of keys, in threads if the tracker allows it."""
        if self._threaded:
            in_threads(work, n)
        else:
            work(0, n)

    def _shown(self, groups: Groups, foreseen: Foreseen) -> FloatArray:
        """Return what is predicted, in the order of the rows."""
        if not self.adapter.enabled:
            return groups.as_given.copy()
        out = np.empty_like(foreseen.adapted)
        out[groups.order] = foreseen.adapted
        alone = groups.order[foreseen.alone]
        out[alone] = groups.as_given[alone]
        return out

    def _update(self, groups: Groups, foreseen: Foreseen | None) -> None:
        if groups.keys:
            z = self.adapter.sightings(groups.proba, groups.labels, groups.starts)
            check_vector(z.ravel(), z.size, f"a sighting of {type(self.adapter.marginals_).__name__}")
            new = np.flatnonzero(groups.places >= len(self._row))
            self._add([groups.keys[j] for j in new.tolist()])
            self._for_keys(lambda begin, end: self._update_some(groups, z, begin, end), len(groups.keys))
            self._last_seen[groups.places] = self.rounds_ + 1
            if foreseen is not None:
                self._watch.take_in(groups, foreseen, self._priors)
        self.rounds_ += 1

    def _update_some(self, groups: Groups, z: FloatArray, begin: int, end: int) -> None:
        starts = groups.starts[begin : end + 1]
        rows = slice(starts[0], starts[-1])
        labels = None if groups.labels is None else groups.labels[rows]
        evidence = Evidence(groups.proba[rows], self.adapter.source_prior_, labels, starts - starts[0])
        self._tracker.update_rows(self._state, groups.places[begin:end], z[begin:end], evidence)

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

    def _check_keys(self, keys: Keys) -> list[Key]:
        """Return keys as Python text or whole numbers, all of the kind that this bank holds."""
        return check_keys(keys, held=self._row)

    def get_state(self) -> dict[str, Any]:
        used = len(self._row)
        return self._watch.get_state() | {
            "rounds_": self.rounds_,
            "_keys": self.keys,
            "_state": {name: array[:used] for name, array in self._state._asdict().items()},
            "_last_seen": self._last_seen[:used],
        }

    def set_state(self, state: dict[str, Any]) -> Self:
        self._last_seen = state["_last_seen"].copy()
        self._state = type(self._state)(**{name: array.copy() for name, array in state["_state"].items()})
        self._row = {key: row for row, key in enumerate(state["_keys"])}
        self.rounds_ = state["rounds_"]
        self._watch.set_state(len(self._row), state.get("_trust"), state.get("_pooled"))
        return self

    def __sklearn_clone__(self) -> Self:
        """An empty bank around the same fitted adapter."""
        return type(self)(self.adapter)

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(RegressAndReweight(FollowTheHistory(3)).fit(0.7 * np.eye(3) + 0.1, [0, 1, 2]))]
