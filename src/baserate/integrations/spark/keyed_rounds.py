"""Keyed streams in rounds of their own: each row is answered by the prior before its round, in array code."""

import itertools
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from baserate.bank import Bank
from baserate.integrations.spark.pending import NO_NAME, Divided, Rows, Told
from baserate.integrations.spark.rounds import Rounds
from baserate.protocols import FloatArray, IntArray, Key
from baserate.trust.keyed import KeySigns

NEVER = -(1 << 53)
"""The time or the window of a key that had none."""


class Answers(NamedTuple):
    """Adapted probabilities, the number of each row's round of its key, and its key's alarm and fallback then."""

    proba: FloatArray
    rounds: IntArray
    alarm: NDArray[np.bool_]
    fallback: NDArray[np.bool_]

    @classmethod
    def empty(cls, n: int, k: int) -> Self:
        """Room for the answers of n rows of k classes."""
        return cls(np.empty((n, k)), np.empty(n, dtype=np.int64), np.empty(n, dtype=bool), np.empty(n, dtype=bool))


class LateLabels(NamedTuple):
    """Labels that come between rows: the key, the row's name, the class, the time, and how many rows come before."""

    keys: list[Key]
    names: IntArray
    labels: IntArray
    times: IntArray
    at: IntArray

    def told(self, which: list[int], places: list[int]) -> Told:
        """Return some of them, of keys at these places."""
        rest = (array[which] for array in (self.names, self.labels, self.times))
        return Told(np.array(places, dtype=np.int64), *rest)


class KeyedRounds:
    """A `Bank` whose keys each have rounds of their own.

    A row is predicted with the prior before its round, and the round is taken in when it is complete. What a key is
    answered depends on the key's rows in their order and on nothing else: not on other keys, nor on how the rows are
    split into calls.

    Parameters
    ----------
    bank : Bank
        Without keys; it is moved.
    rounds : Rounds
        The length of a round.
    expire : int
        A key starts anew when no row of it came for so many microseconds of event time; 0: never.
    waits : bool
        Whether rows wait for labels that come later.
    """

    def __init__(self, bank: Bank, rounds: Rounds, expire: int = 0, *, waits: bool = False) -> None:
        self.bank, self._rounds, self._expire, self._waits = bank, rounds, expire, waits
        self._place: dict[Key, int] = {}
        self.taken = np.empty(0, dtype=np.int64)  # rounds of each key that are over
        self.windows = np.empty(0, dtype=np.int64)  # the window of the last round of each key
        self.seen = np.empty(0, dtype=np.int64)  # the latest time of a row of each key
        self.pending = Rows.none(len(bank.adapter.source_prior_))
        self.told = Told.none()
        self.expired = self.unknown = 0

    @property
    def keys(self) -> list[Key]:
        """The keys, oldest first."""
        return list(self._place)

    def take_in(
        self,
        keys: Sequence[Key],
        proba: NDArray[Any],
        labels: IntArray,
        times: IntArray | None,
        names: IntArray | None = None,
        late: LateLabels | None = None,
    ) -> Answers:
        """Answer rows and learn from the rounds that they complete; each key's rows are in order.

        Rows of a window of time that is over are answered, and not taken in; `behind` tells which those are. Late
        labels are learned at the end of the round in which they come, before the round itself.
        """
        moments = np.zeros(len(proba), dtype=np.int64) if times is None else times
        out = Answers.empty(*proba.shape)
        told = None if late is None else self._placed(late, keys)
        if not len(proba):
            return out
        called = np.full(len(proba), NO_NAME) if names is None else names
        segments = self._segments(keys, moments) if self._expire else np.zeros(len(proba), dtype=np.int64)
        for segment in range(int(segments.max(initial=0)) + 1):
            which = np.flatnonzero(segments == segment)
            some = [keys[i] for i in which.tolist()]
            if self._expire:
                self._begin_anew(some, moments[which])
            places = self._places(some)
            rows = Rows(places, proba[which], labels[which], moments[which], called[which])
            coming = None if told is None or late is None else self._coming(late, told, keys, segments, segment)
            for values, answered in zip(out, self._answer_rounds(rows, coming), strict=True):
                values[which] = answered
            np.maximum.at(self.seen, places, moments[which] if times is not None else NEVER)
        return out

    def _placed(self, late: LateLabels, keys: Sequence[Key]) -> list[list[int]]:
        """Queue the labels before which no row of their key comes here; return of the others which rows do."""
        rows_of: dict[Key, list[int]] = {}
        for i, key in enumerate(keys):
            rows_of.setdefault(key, []).append(i)
        own = [rows_of.get(key, []) for key in late.keys]
        before = [rows[: bisect_left(rows, at)] for rows, at in zip(own, late.at.tolist(), strict=True)]
        queued = [i for i, rows in enumerate(before) if not rows and late.keys[i] in self._place]
        self.unknown += sum(not rows and late.keys[i] not in self._place for i, rows in enumerate(before))
        places = [self._place[late.keys[i]] for i in queued]
        self.told = self.told.followed_by(late.told(queued, places))
        return before

    def _coming(
        self, late: LateLabels, before: list[list[int]], keys: Sequence[Key], segments: IntArray, segment: int
    ) -> tuple[Told, IntArray]:
        """Return the labels that come between the rows of a segment, and how many rows of their key come before."""
        here = [i for i, rows in enumerate(before) if rows and segments[rows[-1]] == segment]
        told = late.told(here, [self._place[late.keys[i]] for i in here])
        counts = [int((segments[before[i]] == segment).sum()) for i in here]
        return told, np.array(counts, dtype=np.int64)

    def behind(self, keys: Sequence[Key], times: IntArray) -> NDArray[np.bool_]:
        """Tell which rows belong to a window that is over for their key."""
        if not self._rounds.window:
            return np.zeros(len(times), dtype=bool)
        return times // self._rounds.window < self._look_up(keys, self.windows, NEVER)

    def answer_only(self, keys: Sequence[Key], proba: NDArray[Any]) -> Answers:
        """Answer rows by the priors of now; nothing is learned, and no key is added."""
        proba = self.bank.predict_proba(keys, proba)
        signs = self.bank.signs(keys)
        return Answers(proba, self._look_up(keys, self.taken, 0) + 1, signs.alarm, signs.fallback)

    def pass_time(self, until: int) -> None:
        """Drop keys that expired by a time, and take in windows that ended by then."""
        if self._expire:
            gone = (self.seen > NEVER) & (self.seen + self._expire <= until)
            self.expired += int(gone.sum())
            self._drop(gone)
        if self._rounds.window and len(self.pending.places):
            ended = (self.pending.times // self._rounds.window + 1) * self._rounds.window <= until
            if ended.any():
                over = self.pending.take(ended)
                self._learn(over, self._due(over)[0])
                self.pending = self.pending.take(~ended)

    def wake_at(self) -> int | None:
        """The event time at which `pass_time` has something to do."""
        window, never = self._rounds.window, np.empty(0, dtype=np.int64)
        ends = (self.pending.times // window + 1) * window if window else never
        expire = self.seen[self.seen > NEVER] + self._expire if self._expire else never
        return min(map(int, itertools.chain(ends, expire)), default=None)

    def priors(self) -> FloatArray:
        """The prior of each key's open round."""
        return self.bank.prior(self.keys) if self._place else np.empty((0, len(self.bank.adapter.source_prior_)))

    def signs(self) -> KeySigns:
        """The trust signals of each key in its open round."""
        return self.bank.signs(self.keys)

    def _due(self, rows: Rows, by_now: NDArray[np.bool_] | None = None) -> tuple[Told, NDArray[np.bool_]]:
        """Take from the queue the labels that are learned together with complete rounds; return them, and which."""
        due = self.told.due(rows, self._rounds)
        if by_now is not None:
            due &= by_now
        found, self.told = self.told.take(due), self.told.take(~due)
        return found, due

    def _answer_rounds(self, new: Rows, coming: tuple[Told, IntArray] | None = None) -> Answers:
        """Go through the rounds that the rows are in, all keys' first ones, then all keys' second ones."""
        n_before = len(self.pending.places)
        out = Answers.empty(*new.proba.shape)
        touched = np.isin(self.pending.places, new.places)
        pending = self.pending.take(touched)
        rest, n_before = self.pending.take(~touched), len(pending.places)
        if n_before == 0 and new.proba.dtype != pending.proba.dtype:
            pending = Rows.none(new.proba.shape[1], new.proba.dtype)
        rows = pending.followed_by(new)
        from_round = np.zeros(len(self.told.places), dtype=np.int64)  # of each label in the queue
        if coming is not None:
            told, before = coming
            self.told = self.told.followed_by(told)
            had = np.bincount(pending.places, minlength=int(told.places.max(initial=0)) + 1)[told.places]
            after = (had + before) // self._rounds.rows if self._rounds.rows else np.zeros_like(before)
            from_round = np.append(from_round, after)
        divided = Divided.of(rows, self._rounds)
        all_keys = self.keys
        for number, (begin, end) in enumerate(itertools.pairwise(divided.starts.tolist())):
            order, complete = divided.order[begin:end], divided.complete[begin:end]
            here = rows.take(order)
            if self._rounds.window:
                self._begin_windows(here, all_keys)
            asked = order >= n_before
            if asked.any():
                places, to = here.places[asked], order[asked] - n_before
                out.proba[to] = self.bank.predict_proba([all_keys[i] for i in places.tolist()], here.proba[asked])
                out.rounds[to] = self.taken[places] + 1
                distinct, of_row = np.unique(places, return_inverse=True)
                signs = self.bank.signs([all_keys[i] for i in distinct.tolist()])
                out.alarm[to], out.fallback[to] = signs.alarm[of_row], signs.fallback[of_row]
            if complete.any():
                over = here.take(complete)
                due, which = self._due(over, from_round <= number)
                from_round = from_round[~which]
                self._learn(over, due)
        left = np.sort(divided.order[~divided.complete])
        open_rows = rows.take(left)
        self.pending = rest.followed_by(open_rows) if len(rest.places) else open_rows
        return out

    def _begin_windows(self, rows: Rows, keys: list[Key]) -> None:
        """Let the windows pass in which nothing came, for the keys that begin one."""
        places, at = np.unique(rows.places, return_index=True)
        windows = rows.times[at] // self._rounds.window
        gaps = np.where(self.windows[places] == NEVER, 0, windows - self.windows[places] - 1)
        idle = np.flatnonzero(gaps > 0)
        if len(idle):
            self.bank.idle([keys[i] for i in places[idle].tolist()], gaps[idle].tolist())
            self.taken[places[idle]] += gaps[idle]
        self.windows[places] = windows

    def _learn(self, rows: Rows, told: Told) -> None:
        """Take in one complete round of every key in the rows, after the labels that came until its end."""
        keys = self.keys
        if len(told.places):
            own, late = self._own_labels(rows, told)
            rows = rows._replace(labels=own)
            self.bank.update_labels([keys[i] for i in late.places.tolist()], late.names, self._named(late.labels))
        labels: Any = self._named(rows.labels) if (rows.labels >= 0).any() else None
        ids = [None if name == NO_NAME else name for name in rows.names.tolist()] if self._waits else None
        self.bank.update([keys[i] for i in rows.places.tolist()], rows.proba, labels, ids=ids)
        self.taken[np.unique(rows.places)] += 1

    def _own_labels(self, rows: Rows, told: Told) -> tuple[IntArray, Told]:
        """Return the labels of rows with those that came for them, and the others, which are of earlier rounds."""
        pairs = zip(rows.places.tolist(), rows.names.tolist(), strict=True)
        index = {pair: i for i, pair in enumerate(pairs)}
        labels, late = rows.labels.copy(), []
        for i, pair in enumerate(zip(told.places.tolist(), told.names.tolist(), strict=True)):
            row = index.get(pair)
            if row is None:
                late.append(i)
            elif labels[row] < 0:
                labels[row] = told.labels[i]
            else:
                self.unknown += 1
        return labels, told.take(np.array(late, dtype=np.int64))

    def _named(self, labels: IntArray) -> Any:
        """Return labels as the bank takes them."""
        names = self.bank.adapter.class_names_
        return labels if names is None else [None if column < 0 else names[column] for column in labels.tolist()]

    def _segments(self, keys: Sequence[Key], times: IntArray) -> IntArray:
        """Count for each row how often its key had a gap of `expire` before it, within these rows."""
        numbers: dict[Key, int] = {}
        number = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
        order = np.argsort(number, kind="stable")
        gap = np.zeros(len(order), dtype=np.int64)
        same = number[order][1:] == number[order][:-1]
        gap[1:] = same & (np.diff(times[order]) >= self._expire)
        so_far = np.cumsum(gap)
        first = np.flatnonzero(np.append(True, ~same))[number[order]] if len(order) else order
        out = np.empty(len(order), dtype=np.int64)
        out[order] = so_far - so_far[first]
        return out

    def _begin_anew(self, keys: Sequence[Key], times: IntArray) -> None:
        """Drop the keys whose first row here comes too long after their last one."""
        first = dict(zip(reversed(keys), reversed(times.tolist()), strict=True))
        gone = np.zeros(len(self._place), dtype=bool)
        for key, time in first.items():
            place = self._place.get(key)
            if place is not None and self.seen[place] > NEVER and time >= self.seen[place] + self._expire:
                gone[place] = True
        self.expired += int(gone.sum())
        self._drop(gone)

    def _drop(self, gone: NDArray[np.bool_]) -> None:
        if not gone.any():
            return
        keys = self.keys
        self.bank.drop([keys[i] for i in np.flatnonzero(gone).tolist() if keys[i] in self.bank])
        stays = np.flatnonzero(~gone)
        self.taken, self.windows, self.seen = self.taken[stays], self.windows[stays], self.seen[stays]
        self._place = {keys[i]: place for place, i in enumerate(stays.tolist())}
        new_place = np.cumsum(~gone) - 1
        kept = self.pending.take(~gone[self.pending.places])
        self.pending = kept._replace(places=new_place[kept.places])
        told = self.told.take(~gone[self.told.places])
        self.told = told._replace(places=new_place[told.places])

    def _places(self, keys: Sequence[Key]) -> IntArray:
        """The places of keys, of which new ones are added."""
        places = np.array([self._place.setdefault(key, len(self._place)) for key in keys], dtype=np.int64)
        born = len(self._place) - len(self.taken)
        self.taken = np.append(self.taken, np.zeros(born, dtype=np.int64))
        self.windows = np.append(self.windows, np.full(born, NEVER))
        self.seen = np.append(self.seen, np.full(born, NEVER))
        return places

    def _look_up(self, keys: Sequence[Key], values: IntArray, missing: int) -> IntArray:
        places = np.fromiter(map(self._place.get, keys, itertools.repeat(-1)), np.int64, len(keys))
        return np.append(values, missing)[places]

    def get_state(self) -> dict[str, Any]:
        """Return the running state as plain data, without the adapter."""
        state = self.bank.get_state()
        return {
            "keys": self.keys,
            "taken": self.taken,
            "windows": self.windows,
            "seen": self.seen,
            "pending_places": self.pending.places,
            "pending_proba": self.pending.proba,
            "pending_labels": self.pending.labels,
            "pending_times": self.pending.times,
            "pending_names": self.pending.names,
            "told": self.told._asdict(),
            "missed": self.unknown + self.bank.missed_labels_,
            "held": np.array([self._place[key] for key in state["_keys"]], dtype=np.int64),
            "trackers": state["_state"],
            "signs": state.get("_trust", {}),
            "unlabelled": state.get("_waiting", {}),
            "expired": self.expired,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state."""
        keys = state["keys"]
        self._place = {key: place for place, key in enumerate(keys)}
        self.taken, self.windows, self.seen = state["taken"].copy(), state["windows"].copy(), state["seen"].copy()
        self.pending = Rows(*(state[f"pending_{name}"] for name in ("places", "proba", "labels", "times", "names")))
        self.told = Told(**state["told"])
        unlabelled = state.get("unlabelled") or {}
        self.expired, self.unknown = state["expired"], state["missed"] - unlabelled.get("missed", 0)
        held = state["held"].tolist()
        self.bank.set_state(
            {
                "rounds_": 0,
                "_keys": [keys[place] for place in held],
                "_last_seen": np.zeros(len(held), dtype=np.int64),
                "_state": state["trackers"],
                **({"_trust": state["signs"]} if state.get("signs") else {}),
                **({"_waiting": unlabelled} if unlabelled else {}),
            }
        )
