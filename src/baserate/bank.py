"""Bank: many keyed streams at once, as a struct of arrays."""

import copy
import itertools
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from baserate.adapters import RegressAndReweight
from baserate.compiled import compiled
from baserate.guard import copied_alone, guarded
from baserate.protocols import BankableTracker, Evidence, FloatArray, IdlingTracker, IntArray, Key, ThreadedTracker
from baserate.simplex import log_ratio, reweight
from baserate.state import Component
from baserate.state.declarations import Fields, Part, Plain, Saved, Saves, Sizes, Whole, ints, key_list
from baserate.threads import in_threads
from baserate.trackers import FollowTheHistory
from baserate.validation import check_fitted, check_integer, check_keys, check_labels, check_vector

Keys = Sequence[Key] | NDArray[Any]


class BankStep(NamedTuple):
    """Result of one round: adapted probabilities in the order of the rows, and the class mix used for each key."""

    proba: FloatArray
    keys: list[Key]
    prior: FloatArray


class _Groups(NamedTuple):
    """A checked batch, sorted by key: key j has the rows ``starts[j]:starts[j + 1]``; row i was row ``order[i]``."""

    keys: list[Key]
    places: IntArray  # indices of the keys in the bank's arrays; new keys follow those that are held
    order: IntArray
    starts: IntArray
    proba: FloatArray
    labels: IntArray | None
    as_given: FloatArray  # before sorting, and before calibration


@compiled
def _sort_by_key(places: IntArray, index: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the first row of each key, the stable order that sorts rows by key, and where each key starts in it.

    `index` is scratch space with an entry for every place, in any state: an entry counts only if the key that it points
    to points back. So it need not be cleared, and a few rows take little time in a large bank.
    """
    n, n_keys = len(places), 0
    first, key_of_row, sizes = np.empty(n, np.int64), np.empty(n, np.int64), np.zeros(n, np.int64)
    for i in range(n):
        j = index[places[i]]
        if not (0 <= j < n_keys and places[first[j]] == places[i]):
            j = n_keys
            index[places[i]], first[j] = j, i
            n_keys += 1
        key_of_row[i] = j
        sizes[j] += 1
    starts, order = np.zeros(n_keys + 1, np.int64), np.empty(n, np.int64)
    for j in range(n_keys):
        starts[j + 1] = starts[j] + sizes[j]
        sizes[j] = starts[j]
    for i in range(n):
        order[sizes[key_of_row[i]]] = i
        sizes[key_of_row[i]] += 1
    return first[:n_keys].copy(), order, starts


def _check_keys_and_state(saved: Saved) -> str:
    """Check that keys are unique, and the arrays of their state as the tracker declares them."""
    keys = saved.state["_keys"]
    if len(set(keys)) < len(keys):
        return "has keys that are not unique"
    adapter = saved.params["adapter"]
    if not adapter.state:
        return "has an adapter that was never fitted"
    tracker = adapter.state["tracker_"]
    declared: Saves | None = vars(tracker.cls).get("saves")
    if declared is not None:
        sizes = Sizes({"k": saved.sizes["k"], "keys": len(keys)})
        Fields(declared.params).check(tracker.params, "tracker", sizes)
        declared.state["_state"].check(saved.state["_state"], "_state", sizes)
        # The light profile of the likelihood mixture has no runs, and new keys are born with those of its parameters.
        if "light" in tracker.params and (sizes.known["lanes"] == 0) != tracker.params["light"]:
            return "has keys with runs that its tracker's parameters do not ask for, or without"
    return ""


class Bank(Component, saved_as="bank"):
    """One fitted `RegressAndReweight` for many independent streams, such as one per shop, hospital or customer.

    All keys share the model's holdout; each has its own class mix. A call of `step` is one round for every key that has
    rows in it, any number per key. A key gives the same bits as a separate adapter with ``gate=False``. A new key
    starts where the tracker starts: by default, at the source prior.

    Keys have neither a gate nor a check of label shift, which would take more memory and time than all the rest. To get
    warnings, run a separate adapter on all samples beside the bank: a mixture of label shifts is a label shift, too.

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

    saves = Saves(
        params={"adapter": Part(RegressAndReweight, {"k": "k"})},
        state={
            "rounds_": Whole(),
            "_keys": key_list("keys"),
            "_last_seen": ints("keys", low=0),
            "_state": Plain(),
        },
        check=_check_keys_and_state,
    )

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
    def predict_proba(self, keys: Keys, proba: ArrayLike) -> FloatArray:
        """Return adapted probabilities, row by row; changes nothing."""
        groups = self._group(keys, proba, None)
        return self._predict(groups, self._priors(groups.places))

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
        self._update(self._group(keys, proba, y))

    @guarded
    def step(self, keys: Keys, proba: ArrayLike, y: ArrayLike | None = None) -> BankStep:
        """Predict a batch, then update with it; return the probabilities and the class mixes that were used."""
        groups = self._group(keys, proba, y)
        prior = self._priors(groups.places)
        adapted = self._predict(groups, prior)
        self._update(groups)
        return BankStep(adapted, groups.keys, prior)

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

    def _group(self, keys: Keys, proba: ArrayLike, y: ArrayLike | None) -> _Groups:
        given = self.adapter.check_rows(proba)
        checked = self.adapter.calibrate(given)
        key_list = self._check_keys(keys)
        if len(key_list) != len(checked):
            raise ValueError(f"keys has {len(key_list)} entries; expected {len(checked)}, one per row of proba.")
        labels = None if y is None else check_labels(y, *checked.shape, missing=True, classes=self.adapter.class_names_)
        places = self._places(key_list)
        # Scratch space for all places, held or not; most of it is never touched.
        first, order, starts = _sort_by_key(places, np.empty(len(self._row) + len(places), dtype=np.int64))
        labels = None if labels is None else labels[order]
        distinct = [key_list[i] for i in first.tolist()]
        return _Groups(distinct, places[first], order, starts, checked.take(order, axis=0), labels, given)

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

    def _predict(self, groups: _Groups, priors: FloatArray) -> FloatArray:
        if not self.adapter.enabled:
            return groups.as_given.copy()
        adapted = reweight(groups.proba, log_ratio(priors, self.adapter.source_prior_), groups.starts)
        out = np.empty_like(adapted)
        out[groups.order] = adapted
        return out

    def _update(self, groups: _Groups) -> None:
        if groups.keys:
            z = self.adapter.sightings(groups.proba, groups.labels, groups.starts)
            check_vector(z.ravel(), z.size, f"a sighting of {type(self.adapter.marginals_).__name__}")
            new = np.flatnonzero(groups.places >= len(self._row))
            self._add([groups.keys[j] for j in new.tolist()])
            self._for_keys(lambda begin, end: self._update_some(groups, z, begin, end), len(groups.keys))
            self._last_seen[groups.places] = self.rounds_ + 1
        self.rounds_ += 1

    def _update_some(self, groups: _Groups, z: FloatArray, begin: int, end: int) -> None:
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

        self._state = type(self._state)(*map(larger, self._state))
        self._last_seen = larger(self._last_seen)

    def _check_keys(self, keys: Keys) -> list[Key]:
        """Return keys as Python text or whole numbers, all of the kind that this bank holds."""
        return check_keys(keys, held=self._row)

    def get_state(self) -> dict[str, Any]:
        used = len(self._row)
        return {
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
        return self

    def __sklearn_clone__(self) -> Self:
        """An empty bank around the same fitted adapter."""
        return type(self)(self.adapter)

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(RegressAndReweight(FollowTheHistory(3)).fit(0.7 * np.eye(3) + 0.1, [0, 1, 2]))]
