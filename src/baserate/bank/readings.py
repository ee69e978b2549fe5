"""BankReadings: everything that a bank tells of its keys, without moving them."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from baserate.adapters import RegressAndReweight
from baserate.bank.key_watch import KeyWatch
from baserate.bank.late_labels import Waiting
from baserate.guard import Guard, guarded
from baserate.protocols import BankableTracker, ExpertTracker, FloatArray, IntArray, Key, SingledTracker
from baserate.state import Component
from baserate.threads import in_threads
from baserate.trust import Accuracy
from baserate.trust.keyed import KeySigns
from baserate.validation import check_keys, check_real

Keys = Sequence[Key] | NDArray[Any]


class BankReadings(Component):
    """Base of `Bank`: its keys, in arrays, and what is read of them."""

    adapter: RegressAndReweight
    guard: Guard
    _row: dict[Key, int]
    _state: Any
    _watch: KeyWatch
    _waiting: Waiting
    _threaded: bool

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
        """Return limits of each class's share now, (m, k, 2), of keys that are held; takes a millisecond a key.

        They rely on label shift, as those of `RegressAndReweight.prior_interval` without labels, and are the wider the
        more is in doubt. They need a tracker that shows its experts, such as the default.
        """
        places, tracker = self._held_places(keys), self._tracker
        if not (isinstance(tracker, SingledTracker) and isinstance(tracker, ExpertTracker)):
            raise TypeError(f"{type(tracker).__name__} shows no experts to make a band of; use the default tracker.")
        trackers = [tracker.of_row(self._state, place) for place in places.tolist()]
        return self._watch.intervals(places, self._priors(places), trackers, level)

    @property
    def missed_labels_(self) -> int:
        """Number of late labels of rows that did not wait for one."""
        return self._waiting.missed

    @property
    def waiting_(self) -> int:
        """Number of rows that wait for their labels."""
        return len(self._waiting.samples.names)

    def _estimates(self, keys: Keys, level: float) -> list[tuple[Accuracy, str]]:
        check_real(level, "level", 0.0, 1.0, closed=False)
        places = self._held_places(keys)
        return self._watch.estimates(places, self._priors(places), level)

    def _held_places(self, keys: Keys) -> IntArray:
        key_list = self._check_keys(keys)
        places = self._places(key_list)
        unknown = np.flatnonzero(places >= len(self._row))
        if len(unknown):
            raise ValueError(f"keys holds {key_list[int(unknown[0])]!r}, which is not in this bank.")
        return places

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

    def _check_keys(self, keys: Keys) -> list[Key]:
        """Return keys as Python text or whole numbers, all of the kind that this bank holds."""
        return check_keys(keys, held=self._row)
