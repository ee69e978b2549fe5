"""KeyTrust: the trust signals of many streams that share a model, as arrays."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baserate.protocols import FloatArray, IntArray
from baserate.trust.accuracy import NO_LABELS, NO_WEIGHTS, Accuracy, AccuracyEstimate
from baserate.trust.assumption.hull import MOST_EVIDENCE, HullTest, look_at_whole, look_where_due, looks_are_due
from baserate.trust.assumption.rounding import normalised, rounded, row_grids
from baserate.trust.dependence import judge, limits, sum_of_classes
from baserate.trust.doubt import MOVED, Doubt, Signs, doubt, told_apart
from baserate.trust.gate import IN_DOUBT, Gate, alarm_lasts
from baserate.trust.gate.gate import MOVED as REHEARSED_BEYOND
from baserate.trust.keyed.counting import count_cells, count_pairs, count_windows
from baserate.trust.keyed.parts import KeyedRounds, KeyParts, KeySigns
from baserate.trust.keyed.state import State, new_state
from baserate.trust.monitor import COLLECTED, EARLY, MOST

_ALIKE = 0.1  # class mixes that differ by less in every class share a part of the accuracy's window
_STEP = 0.25  # of log-odds, to which class mixes are rounded before they are rehearsed
_LOWEST = -20.0  # log-odds to the source's, below which a class is as good as gone
_REMEMBERED = 20_000  # rehearsals


class KeyTrust:
    """Gate, check of label shift, dependence and accuracy of many streams, which share a model and its holdout.

    Each stream is judged by its own rows alone. The parts of the check and of the dependence are those of a single
    stream; bets, unknown mass and the portfolio of corrections are left out. State: 2.6 KB a stream for ten classes,
    1.1 KB for two.

    Parameters
    ----------
    parts : KeyParts
    pools : bool
        Whether there is a check of all streams together.

    Attributes
    ----------
    state : State
    pooled : HullTest or None
        The check of all streams together, on some 512 rows of a round: it also tells where each has too few rows.
    """

    def __init__(self, parts: KeyParts, *, pools: bool = True) -> None:
        self.parts, self.pools = parts, pools
        self._rehearsals: dict[bytes, float] = {}
        self._told_apart: float | None = None
        self.state = self.born(0)
        self.pooled: HullTest | None = None
        self.restore_pooled(None)

    def restore_pooled(self, pooled: HullTest | None) -> None:
        """Go on with the check of all streams together, or begin it anew."""
        if not self.pools:
            return
        self.pooled = copy.copy(self.parts.hull) if pooled is None else copy.deepcopy(pooled)
        if pooled is None and self.pooled is not None:
            self.pooled.start(self.parts.grid)

    def is_of(self, parts: KeyParts) -> bool:
        """Tell whether these are the parts that it was made with."""
        own = self.parts
        same = own.hull is parts.hull and own.gate is parts.gate and own.accuracy is parts.accuracy
        return same and own.source_prior is parts.source_prior

    def born(self, n: int) -> State:
        """Return the state of new streams."""
        return new_state(n, len(self.parts.source_prior), self.parts.n_cells)

    def take_in(self, seen: KeyedRounds, tracked: Callable[[IntArray], FloatArray]) -> None:
        """Take in a round of each of some streams.

        Parameters
        ----------
        seen : KeyedRounds
        tracked : callable
            Returns the class mixes that are tracked after the round, given the places of streams.
        """
        state, places = self.state, seen.places
        before = state.rows[places, 0]
        state.rows[places] += np.column_stack([np.diff(seen.starts), np.ones(len(places), dtype=np.int64)])
        if self.parts.accuracy is not None:
            count_windows(
                seen.calibrated, seen.adapted, seen.used, seen.starts,
                NO_LABELS if seen.labels is None else seen.labels,
                NO_LABELS if seen.predicted is None else seen.predicted,
                NO_WEIGHTS, self.parts.accuracy.window, _ALIKE, places, state.part, state.sizes, state.confidence,
                state.outputs, state.priors, state.labelled,
            )  # fmt: skip
        self._compare(seen, before)
        self._check(seen)
        self._rehearse(places[_crosses(before, state.rows[places, 0])], tracked)

    def take_late(self, place: int, numbers: IntArray, right: NDArray[np.bool_], confidence: FloatArray) -> None:
        """Count labels of samples of a stream that were taken in before; those of the number -1 are left out."""
        kept = numbers >= 0
        if self.parts.accuracy is not None and kept.any():
            ages = self.state.rows[place, 0] - 1 - numbers[kept]
            self._window(place).take_late(ages, right[kept], confidence[kept])

    def _window(self, place: int) -> AccuracyEstimate:
        """Return the accuracy's window of a stream, which shares its arrays."""
        if self.parts.accuracy is None:
            raise ValueError("an accuracy needs a labelled holdout with every class; fit on one.")
        state = self.state
        sums = (state.sizes, state.confidence, state.outputs, state.priors, state.labelled)
        return self.parts.accuracy.of_window(int(state.part[place]), *(array[place] for array in sums))

    def _compare(self, seen: KeyedRounds, before: IntArray) -> None:
        """Compare neighbours; the first ones early, and once more from the beginning."""
        state, places = self.state, seen.places
        count_pairs(seen.raw, seen.starts, MOST, places, state.last, state.pairs, state.collected)
        full = state.collected[places] >= COLLECTED
        first = before < COLLECTED
        due = np.flatnonzero(full | (first & _crosses(before, state.rows[places, 0])))
        if len(due) == 0:
            return
        at = places[due]
        pairs, both, products, squares = np.ascontiguousarray(np.moveaxis(state.pairs[at], -1, 0))
        means = both / np.maximum(2.0 * pairs, 1.0)
        about = products - means * both + pairs * means**2
        spread = 0.5 * squares - means * both + pairs * means**2
        fade = np.where(first[due], 0.0, np.exp(-state.collected[at] / self.parts.memory))
        state.likeness[at] = fade[:, np.newaxis] * state.likeness[at] + sum_of_classes(about, spread, pairs)
        dependent = state.dependent[at]
        judge(state.likeness[at], dependent)
        state.dependent[at] = dependent
        at = places[full]
        state.pairs[at], state.collected[at], state.last[at, 0] = 0.0, 0, -1.0

    def _check(self, seen: KeyedRounds) -> None:
        """Count cells, and test the streams of which a look is due."""
        hull, state, places = self.parts.hull, self.state, seen.places
        if hull is None:
            return
        alike = seen.raw
        on = state.on_grid[places]
        grids = np.full(len(places), self.parts.grid)
        if on.any():
            grids, alike = self._on_grids(seen, on)
        alarmed = state.alarms[places, 0] >= 0
        count_cells(
            alike, seen.starts, MOST, places, hull.columns, hull.cells.edges, state.cells, state.whole, alarmed,
            state.windows,
        )  # fmt: skip
        for j in np.flatnonzero(looks_are_due(state.windows[:, 0], state.looks, places)).tolist():
            place, holdout = int(places[j]), hull.holdout(int(grids[j]))
            sizes, turns = state.windows[place]
            state.looks[place], look = look_where_due(
                holdout, state.cells[place], sizes, turns, int(state.looks[place])
            )
            if look is not None and look.log > state.evidence[place, 0]:
                state.evidence[place, 0] = min(look.log, MOST_EVIDENCE)
                if not alarmed[j]:
                    state.evidence[place, 1] = state.evidence[place, 0]
                if state.evidence[place, 0] >= -np.log(self.parts.alpha):
                    self._raise_alarm(place)
        self._pool(alike, seen.starts, (grids == self.parts.grid) & ~state.dependent[places])
        if alarmed.any():
            self._look_past_alarms(hull, places[alarmed], grids[alarmed])

    def _pool(self, alike: FloatArray, starts: IntArray, usable: NDArray[np.bool_]) -> None:
        """Test the rows of all usable streams together: mixtures of mixtures are mixtures."""
        rows = alike if usable.all() else alike[np.repeat(usable, np.diff(starts))]
        if self.pooled is not None and len(rows) > 0:
            self.pooled.add(np.ascontiguousarray(rows[:: max(len(rows) // MOST, 1)]))

    def _look_past_alarms(self, hull: HullTest, places: IntArray, grids: IntArray) -> None:
        """Look at whole streams where that is due, as if they had had no alarm, so that evidence grows with rows."""
        state = self.state
        sizes = state.whole[places, : len(hull.cells.centres)].sum(axis=1)
        for place, grid, n in zip(places.tolist(), grids.tolist(), sizes.tolist(), strict=True):
            state.whole_looks[place], look = look_at_whole(
                hull.holdout(grid), state.whole[place], n, int(state.whole_looks[place])
            )
            if look is not None:
                state.evidence[place, 1] = max(state.evidence[place, 1], min(look.log, MOST_EVIDENCE))

    def _raise_alarm(self, place: int) -> None:
        """Note an alarm, and check anew, so that its end can be seen."""
        state = self.state
        now, (last, lasted, began) = state.rows[place, 1], state.alarms[place]
        if last < 0:
            state.whole[place], state.whole_looks[place] = state.cells[place, 0], state.looks[place]
        state.alarms[place] = now, alarm_lasts(now - began, lasted), now
        state.evidence[place, 0] = 0.0
        self._check_anew(place)

    def _check_anew(self, place: Any) -> None:
        self.state.cells[place] = 0
        self.state.windows[place] = 0
        self.state.looks[place] = 0

    def _on_grids(self, seen: KeyedRounds, on: NDArray[np.bool_]) -> tuple[IntArray, FloatArray]:
        """Return the grid that the outputs of each stream are compared on, and the rows as they are compared."""
        sizes = np.diff(seen.starts)
        asked = np.repeat(on.any(axis=1), sizes)
        holds = np.ones((len(seen.raw), on.shape[1]), dtype=bool)
        holds[asked] = row_grids(seen.raw[asked])
        filled = np.flatnonzero(sizes > 0)
        now = on.copy()
        now[filled] &= np.logical_and.reduceat(holds, seen.starts[filled], axis=0)
        self.state.on_grid[seen.places] = now
        was, own = ((rows * np.arange(1, on.shape[1] + 1)).max(axis=1) for rows in (on, now))  # the coarsest, or 0
        least = self.parts.grid
        turned = np.maximum(own, least) != np.maximum(was, least)
        self._check_anew(seen.places[turned])
        self.state.whole[seen.places[turned]] = 0
        alike = seen.raw.copy()
        if least > 0:
            coarse = np.repeat(own < least, sizes)
            alike[coarse] = rounded(seen.raw[coarse], least)
        fine = np.repeat((own >= least) & (own > 0), sizes)
        alike[fine] = normalised(seen.raw[fine])
        return np.maximum(own, least), alike

    def _rehearse(self, places: IntArray, tracked: Callable[[IntArray], FloatArray]) -> None:
        """Rehearse the correction of streams that have grown, at nearly their class mix."""
        gate = self.parts.gate
        if gate is None or not self.parts.gated or len(places) == 0:
            return
        mixes, source = tracked(places), self.parts.source_prior
        far = 0.5 * np.abs(mixes - source).sum(axis=1) > REHEARSED_BEYOND
        with np.errstate(divide="ignore"):
            steps = np.round(np.maximum(np.log(mixes / source), _LOWEST) / _STEP)
        steps = np.maximum(steps - steps.max(axis=1, keepdims=True), _LOWEST / _STEP)
        for place, row, moved in zip(places.tolist(), steps, far.tolist(), strict=True):
            self.state.rehearsed[place] = self._rehearsal(gate, row) if moved else 1.0

    def _rehearsal(self, gate: Gate, steps: FloatArray) -> float:
        name = steps.astype(np.int8).tobytes()
        found = self._rehearsals.get(name)
        if found is None:
            mix = self.parts.source_prior * np.exp(_STEP * steps)
            found = gate.rehearse_at(mix / mix.sum())
            if len(self._rehearsals) >= _REMEMBERED:
                self._rehearsals.clear()
            self._rehearsals[name] = found
        return found

    def in_alarm(self, places: IntArray) -> NDArray[np.bool_]:
        """Return of which streams an alarm lasts."""
        at, lasts, _ = self.state.alarms[places].T
        return np.asarray((at >= 0) & (self.state.rows[places, 1] - at < lasts))

    def weights(self, places: IntArray) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Return the part of the correction that is used, and where the model is left alone."""
        if not self.parts.gated:
            return np.ones(len(places)), np.zeros(len(places), dtype=bool)
        off, part = self.state.dependent[places], self.state.rehearsed[places]
        part = np.where(self.in_alarm(places), np.minimum(part, IN_DOUBT), part)
        return np.where(off, 0.0, part), off

    def signs(self, places: IntArray) -> KeySigns:
        """Return the trust signals of some streams."""
        state, alarm = self.state, self.in_alarm(places)
        part, _ = self.weights(places)
        logs = np.where(alarm, state.evidence[places].max(axis=1), state.evidence[places, 0])
        return KeySigns(state.rows[places, 0], np.exp(logs), alarm, state.dependent[places].copy(), part, part < 1.0)

    def p_values(self, places: IntArray) -> FloatArray:
        """Return for each stream an upper limit of the probability of the evidence that it has had, if all is well.

        That is the check's until its first alarm, and from there on its looks at the whole stream, as if there had been
        no alarm.
        """
        return np.asarray(np.exp(-self.state.evidence[places, 1]))

    def doubt(self, place: int, prior: FloatArray) -> Doubt:
        """Return the doubt about estimates of a stream that rely on label shift, given its class mix."""
        one = np.array([place])
        signs, accuracy = self.signs(one), self.parts.accuracy
        moved = 0.5 * float(np.abs(prior - self.parts.source_prior).sum())
        if self._told_apart is None and accuracy is not None:
            self._told_apart = told_apart(*accuracy.kept(), self.parts.source_prior)
        correlation, low = limits(*self.state.likeness[place].tolist())
        return doubt(
            Signs(
                untested=self.parts.untested,
                alarm=bool(signs.alarm[0]),
                evidence=float(signs.evidence[0]),
                needed=1.0 / self.parts.alpha,
                correlation=correlation if signs.dependent[0] else low,
                sigma_min=1.0 if self._told_apart is None or moved <= MOVED else self._told_apart,
                moved=moved,
                unknown=0.0,
            )
        )

    def estimate(self, place: int, prior: FloatArray, level: float) -> tuple[Accuracy, str]:
        """Return the estimated accuracy of a stream's last rows, and why it is in doubt; see `AccuracyEstimate`."""
        own = self._window(place)
        if own.labels_suffice_:
            return own.estimate(level), ""
        reason = self.doubt(place, prior)
        return own.doubted(reason.degree, level), reason.reason


def _crosses(before: IntArray, after: IntArray) -> NDArray[np.bool_]:
    """Return which streams are to be looked at, by their numbers of rows before a round and after it."""
    early = [(before < rows) & (after >= rows) for rows in EARLY]
    return np.asarray(np.any([*early, before // COLLECTED < after // COLLECTED], axis=0))
