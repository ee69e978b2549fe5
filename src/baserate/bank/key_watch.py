"""KeyWatch: the trust signals of a bank's keys, as long as its adapter asks for any."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baserate.adapters import RegressAndReweight
from baserate.bank.grouping import Groups
from baserate.protocols import FloatArray, IntArray, Tracker
from baserate.simplex import log_ratio, reweight
from baserate.trust import Accuracy
from baserate.trust.assumption.hull import HullTest
from baserate.trust.doubt import widened
from baserate.trust.keyed import KeyedRounds, KeySigns, KeyTrust, State


class Foreseen(NamedTuple):
    """A sorted batch as it is predicted: its rows, the class mix used for each key, and the rows left alone."""

    adapted: FloatArray
    used: FloatArray
    alone: NDArray[np.bool_]


class KeyWatch:
    """Holds the `KeyTrust` of as many keys as a bank has places for; none if the adapter's `alpha` is None.

    Parameters
    ----------
    adapter : RegressAndReweight
        The bank's. Where it was refitted, the signals begin anew.
    """

    def __init__(self, adapter: RegressAndReweight) -> None:
        self._adapter = adapter
        self._trust: KeyTrust | None = None
        self._places, self._held = 1, 0
        self.pools = True  # whether there is a check of all keys together

    @property
    def trust(self) -> KeyTrust | None:
        """The signals, of the holdout of now."""
        parts = self._adapter.key_parts()
        if parts is None:
            self._trust = None
        elif self._trust is None or not self._trust.is_of(parts):
            self._trust = KeyTrust(parts, pools=self.pools)
            self._trust.state = self._trust.born(self._places)
        return self._trust

    def add(self, n: int) -> None:
        """Begin the signals of new keys, at the next places."""
        before, self._held = self._held, self._held + n
        trust = self.trust
        if trust is not None:
            pairs: Any = zip(trust.state, trust.born(n), strict=True)
            for array, born in pairs:
                array[before : self._held] = born

    def reserve(self, capacity: int) -> None:
        """Make room for so many keys."""
        trust = self.trust
        self._places = capacity
        if trust is not None:
            born = trust.born(capacity - self._held)
            pairs: Any = zip(trust.state, born, strict=True)
            trust.state = State(*(np.concatenate([array[: self._held], more]) for array, more in pairs))

    def keep(self, rows: IntArray) -> None:
        """Keep the keys at some places, in this order."""
        trust = self.trust
        self._places = self._held = len(rows)
        if trust is not None:
            arrays: Any = trust.state
            trust.state = State(*(array[rows] for array in arrays))

    def foresee(self, groups: Groups, priors: FloatArray) -> Foreseen:
        """Predict a sorted batch, given the tracked class mix of each key, as far as the gates let it through."""
        source, trust = self._adapter.source_prior_, self.trust
        offsets, used, off = log_ratio(priors, source), priors, np.zeros(len(priors), dtype=bool)
        if trust is not None:
            held = np.flatnonzero(groups.places < self._held)
            part, off[held] = trust.weights(groups.places[held])
            less = held[part < 1.0]
            if len(less):
                shares = part[part < 1.0][:, np.newaxis]
                offsets[less] = shares * np.where(shares > 0.0, offsets[less], 0.0)
                mixes = source * np.exp(offsets[less])
                used = priors.copy()
                used[less] = mixes / mixes.sum(axis=1, keepdims=True)
        adapted = reweight(groups.proba, offsets, groups.starts)
        return Foreseen(adapted, used, np.repeat(off, np.diff(groups.starts)))

    def take_in(self, groups: Groups, foreseen: Foreseen, tracked: Any) -> None:
        """Take in a batch whose keys are all held; `tracked` returns the class mixes at places after it."""
        trust = self.trust
        if trust is None:
            return
        raw, predicted = groups.proba if groups.uncalibrated else groups.as_given[groups.order], None
        if groups.labels is not None and foreseen.alone.any():
            predicted = np.where(foreseen.alone[:, np.newaxis], raw, foreseen.adapted).argmax(axis=1)
        seen = KeyedRounds(
            groups.places, groups.starts, raw, groups.proba, foreseen.adapted, foreseen.used, groups.labels, predicted
        )
        trust.take_in(seen, tracked)

    def rows(self, places: IntArray) -> IntArray:
        """Return how many rows keys that are held have had; without signs, a number below any."""
        trust = self.trust
        return np.full(len(places), -(1 << 53)) if trust is None else trust.state.rows[places, 0]

    def take_late(self, place: int, numbers: IntArray, right: NDArray[np.bool_], confidence: FloatArray) -> None:
        """Take in labels of earlier samples of a key."""
        trust = self.trust
        if trust is not None:
            trust.take_late(place, numbers, right, confidence)

    def signs(self, places: IntArray) -> KeySigns:
        """Return the trust signals of keys, held or new."""
        n, trust = len(places), self.trust
        alarm, dependent, fallback = np.zeros((3, n), dtype=bool)
        calm = KeySigns(np.zeros(n, dtype=np.int64), np.ones(n), alarm, dependent, np.ones(n), fallback)
        if trust is not None:
            held = places < self._held
            for values, known in zip(calm, trust.signs(places[held]), strict=True):
                values[held] = known
        return calm

    def changed(self, level: float) -> list[int]:
        """Return the places of keys that have changed, by Benjamini and Hochberg, those with most evidence first."""
        trust, n = self.trust, self._held
        if trust is None or n == 0:
            return []
        p = trust.p_values(np.arange(n))
        order = np.argsort(p, kind="stable")
        below = np.flatnonzero(p[order] <= level * np.arange(1, n + 1) / n)
        return order[: below[-1] + 1].tolist() if len(below) else []

    def estimates(self, places: IntArray, priors: FloatArray, level: float) -> list[tuple[Accuracy, str]]:
        """Return the estimated accuracy of keys that are held, given their class mixes, and why each is in doubt."""
        trust = self._required()
        return [trust.estimate(place, prior, level) for place, prior in zip(places.tolist(), priors, strict=True)]

    def leave_pool_out(self) -> None:
        """Leave out the check of all keys together from now on."""
        self.pools = False
        if self._trust is not None:
            self._trust.pools, self._trust.pooled = False, None

    def _required(self) -> KeyTrust:
        trust = self.trust
        if trust is None:
            raise ValueError("the adapter has alpha=None, and keys no trust signals; fit one with an alpha.")
        return trust

    @property
    def pooled_log(self) -> float:
        """Logarithm of the evidence against label shift of all keys together."""
        trust = self.trust
        return 0.0 if trust is None or trust.pooled is None else trust.pooled.log_evidence

    def get_state(self) -> dict[str, Any]:
        """Return the arrays of the keys that are held, and the check of all of them, as far as there are any."""
        trust = self.trust
        if trust is None:
            return {}
        found: dict[str, Any] = {"_trust": {name: array[: self._held] for name, array in trust.state._asdict().items()}}
        return found if trust.pooled is None else found | {"_pooled": trust.pooled}

    def set_state(self, n: int, state: dict[str, Any] | None, pooled: HullTest | None) -> None:
        """Restore the arrays of n keys; without any, as in states of earlier versions, signals begin now."""
        self._places = self._held = n
        trust = self.trust  # which remembers its rehearsals: they depend on the holdout alone
        if trust is not None:
            trust.state = trust.born(n)
            if state is not None:
                trust.state = trust.state._replace(**{name: array.copy() for name, array in state.items()})
            trust.restore_pooled(pooled)

    def intervals(self, places: IntArray, priors: FloatArray, trackers: list[Tracker], level: float) -> FloatArray:
        """Return limits of each class's share, (m, k, 2), of keys that are held, given class mixes and trackers."""
        limits, trust = [], self.trust
        for place, prior, tracker in zip(places.tolist(), priors, trackers, strict=True):
            found = self._adapter.interval_of(prior, tracker, level)
            limits.append(found if trust is None else widened(found, trust.doubt(place, prior).degree))
        return np.array(limits).reshape(len(places), priors.shape[1], 2)
