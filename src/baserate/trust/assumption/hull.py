"""HullTest: a test of label shift in which no class mix has to be identified.

Whatever path the class mix takes, the shares of a stream in cells of the model's outputs are a mixture of the classes'
shares in them. So the distance of the stream's shares to the nearest mixture is tested: a model that can hardly tell
classes apart only makes the set of mixtures thinner. What is not known of the classes' shares, from a small holdout, is
part of the covariance that distances are measured by.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr

from baserate.compiled import compiled
from baserate.protocols import FloatArray, IntArray
from baserate.state import Component
from baserate.state.declarations import LONGEST, Number, Saved, Saves, Together, Whole, floats, ints
from baserate.trust.assumption.cells import Cells, add_to_cells, fit_cells, groups, holdout_counts, n_cells
from baserate.trust.assumption.findings import NUMBERS, are_hull_findings, confidence_finding, neighbourhood_finding
from baserate.trust.assumption.mixtures import LEAST, Nearest, System, covariance, nearest, system
from baserate.trust.assumption.rounding import GRIDS, rounded

WINDOWS = (0, 500, 2000)
"""Samples after which a window starts anew; 0 for the whole stream."""
PARTS = (1, 32, 8)
"""As which part of the whole stream a window starts anew, once that is more."""
_FIRST, _GROWTH = 200.0, 1.5  # samples at the first look at the whole stream, and their ratio from look to look
_WHOLE, _WINDOW = 0.4, 0.3  # shares of the error probability for the whole stream and for each other window
MOST_EVIDENCE = float(np.log(1e6))
"""Logarithm of the evidence beyond which a normal approximation says nothing."""


def _due(look: int) -> float:
    return _FIRST * _GROWTH**look


def _full(window: int, sizes: Sequence[int]) -> bool:
    return sizes[window] >= max(WINDOWS[window], sizes[0] // PARTS[window])


class Counted(NamedTuple):
    """What a stream is compared with: a holdout that was counted in both systems of cells.

    Attributes
    ----------
    systems : tuple of System
        The neighbourhoods, and the ranges of confidence.
    start_mix : (k,) array
        The class mix of the holdout.
    first : int
        The number of neighbourhoods; the cells of the second system follow.
    """

    systems: tuple[System, System]
    start_mix: FloatArray
    first: int


class Look(NamedTuple):
    """A look at the counts of a window, in one system of cells.

    Attributes
    ----------
    log : float
        Logarithm of the evidence.
    place : int
        The system: 0 or 1.
    found : Nearest
    counts : (cells,) array
    """

    log: float
    place: int
    found: Nearest
    counts: FloatArray


def look_where_due(
    holdout: Counted, counts: NDArray[Any], sizes: IntArray, turns: IntArray, looks: int
) -> tuple[int, Look | None]:
    """Look at the windows of a stream where a look is due, and begin those that are full anew, in place.

    Parameters
    ----------
    holdout : Counted
    counts : (windows, cells) array
    sizes, turns : (windows,) arrays of int
        The number of samples in each window, and how often it began anew.
    looks : int
        Looks at the whole stream so far.

    Returns
    -------
    looks : int
    strongest : Look or None
        None if there was no look.
    """
    looks, found = _look_at_whole(holdout, counts[0], int(sizes[0]), looks)
    for window in range(1, len(WINDOWS)):
        if _full(window, sizes.tolist()):
            turn = int(turns[window])
            if turn > 0:  # in the first, a window holds what the whole stream does
                found += _look(holdout, counts[window], _WINDOW / (turn * (turn + 1.0)))
            counts[window] = 0
            sizes[window] = 0
            turns[window] += 1
    return looks, max(found, key=lambda look: look.log, default=None)


def look_at_whole(holdout: Counted, counts: NDArray[Any], size: int, looks: int) -> tuple[int, Look | None]:
    """Look at a whole stream where that is due, as `look_where_due` does, and at no window."""
    looks, found = _look_at_whole(holdout, counts, size, looks)
    return looks, max(found, key=lambda look: look.log, default=None)


def _look_at_whole(holdout: Counted, counts: NDArray[Any], size: int, looks: int) -> tuple[int, list[Look]]:
    if size < _due(looks):
        return looks, []
    while _due(looks + 1) <= size:
        looks += 1  # after a large batch, only the last look that is due
    return looks + 1, _look(holdout, counts, _WHOLE * 3.0 / ((looks + 3.0) * (looks + 4.0)))


@compiled
def looks_are_due(sizes: IntArray, looks: IntArray, places: IntArray) -> NDArray[np.bool_]:
    """Return of which of some streams a look is due, or a window full, (n,); `sizes` and `looks` are those of all."""
    due = np.zeros(len(places), dtype=np.bool_)
    for j in range(len(places)):
        place = places[j]
        due[j] = sizes[place, 0] >= _FIRST * _GROWTH ** looks[place]
        for w in range(1, len(WINDOWS)):
            due[j] |= sizes[place, w] >= max(WINDOWS[w], sizes[place, 0] // PARTS[w])
    return due


def _look(holdout: Counted, counts: NDArray[Any], share: float) -> list[Look]:
    """Look at a window in both systems of cells, with a share of the error probability for the two."""
    looks = []
    for place, of in enumerate(holdout.systems):
        seen = (counts[holdout.first :] if place else counts[: holdout.first]).astype(np.float64)
        found = nearest(seen, of, holdout.start_mix)
        if place:
            p = min(1.0, 2.0 * len(found.z) * float(ndtr(-np.abs(found.z).max())))
        else:
            # The mix takes some degrees of freedom, but not all where it is at the border of what is possible.
            free = max(holdout.first - 1 - 0.5 * (int((found.mix > LEAST).sum()) - 1), 1.0)
            p = float(chdtrc(free, found.chi2))
        looks.append(Look(float(np.log(0.5 * share) - np.log(max(p, 1e-300))), place, found, seen))
    return looks


def _fits_together(saved: Saved) -> str:
    state, k = saved.state, saved.sizes["k"]
    centres, edges = state["_cells"]
    cells = Cells(centres, edges)
    if saved.sizes["cells"] != n_cells(cells):
        return "has counts of other cells than it has"
    n, m = state["_holdouts"].sum(axis=2), len(centres)
    if (n[0] != n).any() or (n <= 0).any() or (state["_holdouts"][:, :, :m].sum(axis=2) * 2 != n).any():
        return "has holdouts of other sizes"
    sizes = state["_sizes"]
    if (state["_counts"].sum(axis=1) != 2 * sizes).any() or (state["_counts"][:, :m].sum(axis=1) != sizes).any():
        return "counts other samples than it says"
    if sizes[0] >= _due(state["_looks"]) or any(_full(w, sizes) for w in range(1, len(WINDOWS))):
        return "missed a look"
    if len(state["_findings"]) > 1 or not are_hull_findings(state["_findings"], k):
        return "has findings of other classes"
    return ""


class HullTest(Component, saved_as="assumption_hull", layout=2):
    """Tests whether a stream's outputs are a mixture of the holdout's classes, by counts in cells.

    It looks at the whole stream each time it has grown by half, and at windows of 500 and of 2,000 samples, later of
    the 32nd and of the eighth part of the stream. Its error
    probability holds in the limit of many samples, and has been measured; it is no bound at any time.

    Attributes
    ----------
    log_evidence : float
        Logarithm of the share of the error probability that was spent on the strongest look over its p-value.
    """

    saves = Saves(
        state={
            "_cells": Together((floats("centres", "k", high=0.01), floats("k", "edges", low=0.0, high=1.01))),
            "_holdouts": floats(len(GRIDS) + 1, "k", "cells", low=0.0, high=LONGEST),
            "_counts": floats(len(WINDOWS), "cells", low=0.0, high=LONGEST),
            "_sizes": ints(len(WINDOWS), low=0),
            "_turns": ints(len(WINDOWS), low=0),
            "_looks": Whole(0, 200),
            "grid": Whole(0, len(GRIDS)),
            "log_evidence": Number(0.0, MOST_EVIDENCE),
            "_findings": floats("findings", NUMBERS),
        },
        may_be_empty=True,
        check=_fits_together,
    )

    @classmethod
    def upgrade(
        cls, layout: int, params: dict[str, Any], state: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read layout 1, which knew fewer grids; on finer ones the holdout counts as it is."""
        if not state:
            return params, state
        holdouts = np.asarray(state["_holdouts"])
        more = len(GRIDS) + 1 - len(holdouts)
        grid = state["grid"] + (more if state["grid"] else 0)
        return params, {**state, "grid": grid, "_holdouts": np.insert(holdouts, [1] * more, holdouts[0], axis=0)}

    def fit(self, proba: FloatArray, labels: IntArray) -> Self:
        """Learn the classes of a holdout that has every class, and start anew."""
        self._cells = fit_cells(proba)
        self._columns = self._cells.columns
        self._prepared: dict[int, Counted] = {}  # what follows from the holdout, by grid
        self._holdouts = np.array(
            [holdout_counts(rounded(proba, grid), labels, self._cells) for grid in range(len(GRIDS) + 1)]
        )
        self.start()
        return self

    def start(self, grid: int = 0) -> None:
        """Forget the stream; expect outputs that are rounded to a grid."""
        self.log_evidence, self._findings = 0.0, np.zeros((0, NUMBERS))
        self.turn_to(grid)

    def turn_to(self, grid: int) -> None:
        """Count anew, outputs that are rounded to a grid; evidence stays."""
        self.grid = grid
        self._counts = np.zeros((len(WINDOWS), self._holdouts.shape[2]))
        self._sizes, self._turns = np.zeros((2, len(WINDOWS)), dtype=np.int64)
        self._looks = 0

    @property
    def cells(self) -> Cells:
        """Where the cells are."""
        return self._cells

    @property
    def columns(self) -> FloatArray:
        """The centres of the cells, (k, m)."""
        return self._columns

    @property
    def n_samples(self) -> int:
        """The number of samples that were counted."""
        return int(self._sizes[0])

    @property
    def n_cells(self) -> int:
        """The number of cells of both systems."""
        return n_cells(self._cells)

    def holdout(self, grid: int) -> Counted:
        """Return the holdout as it is when it is rounded to a grid."""
        if grid not in self._prepared:
            counts, m = self._holdouts[grid], len(self._cells.centres)
            k = len(counts)
            ranges = self._cells.edges.shape[1] + 1
            above = np.arange(ranges) > np.arange(ranges - 1)[:, np.newaxis]
            contrasts = np.tile(above, (1, groups(k))).astype(np.float64)
            systems = (
                system(counts[:, :m], 0.0, 0.5, 2.0 * m, np.zeros((0, m))),
                system(counts[:, m:], 2.0, 0.0, 20.0, contrasts),
            )
            sizes = counts.sum(axis=1)
            self._prepared[grid] = Counted(systems, sizes / sizes.sum(), m)
        return self._prepared[grid]

    def get_state(self) -> dict[str, Any]:
        derived = ("_prepared", "_columns")
        return {name: value for name, value in super().get_state().items() if name not in derived}

    def set_state(self, state: dict[str, Any]) -> Self:
        super().set_state(state)
        if state:
            self._cells = Cells(*self._cells)
            self._columns = self._cells.columns
            self._prepared = {}
        return self

    def add(self, rows: FloatArray) -> None:
        """Count samples, and look if a look is due."""
        add_to_cells(rows, self._columns, self._cells.edges, self._counts)
        self._sizes += len(rows)
        self._looks, look = look_where_due(self.holdout(self.grid), self._counts, self._sizes, self._turns, self._looks)
        if look is not None and look.log > self.log_evidence:
            self.log_evidence = min(look.log, MOST_EVIDENCE)
            self._findings = self._describe(look)

    def _describe(self, look: Look) -> FloatArray:
        _, place, found, counts = look
        of = self.holdout(self.grid).systems[place]
        shares, evidence = counts / counts.sum(), float(np.exp(self.log_evidence))
        if place:
            worst = int(np.abs(found.z).argmax())
            share, z = float(of.contrasts[worst] @ shares), float(found.z[worst])
            error = float(found.errors[worst])
            kept = (worst + 1.0) / (len(of.contrasts) + 1.0)
            return confidence_finding(kept, share, share - z * error, error, evidence)
        errors = np.sqrt(np.maximum(np.diag(covariance(of, found.mix, counts.sum())), 1e-12))
        cell = int(np.abs(found.residual / errors).argmax())
        centre = np.exp(self._cells.centres[cell])
        share, gap = float(shares[cell]), float(found.residual[cell])
        return neighbourhood_finding(
            int(centre.argmax()), float(min(centre.max(), 1.0)), share, share - gap, float(errors[cell]), evidence
        )

    @property
    def findings(self) -> FloatArray:
        """The largest deviations at the look that gave the evidence, as rows of numbers; see `findings.to_findings`."""
        return self._findings
