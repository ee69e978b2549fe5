"""HullTest: a test of label shift in which no class mix has to be identified.

Whatever path the class mix takes, the shares of a stream in cells of the model's outputs are a mixture of the classes'
shares in them. So the distance of the stream's shares to the nearest mixture is tested: a model that can hardly tell
classes apart only makes the set of mixtures thinner. What is not known of the classes' shares, from a small holdout, is
part of the covariance that distances are measured by.
"""

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
from baserate.trust.assumption.rounding import GRIDS, rounded

WINDOWS = (0, 500, 2000)
"""Samples after which a window starts anew; 0 for the whole stream."""
_FIRST, _GROWTH = 200.0, 1.5  # samples at the first look at the whole stream, and their ratio from look to look
_WHOLE, _WINDOW = 0.4, 0.3  # shares of the error probability for the whole stream and for each other window
_PASSES = 3  # the covariance depends on the mix, and the mix on the covariance
_LEAST = 1e-6  # share of a class below which the nearest mixture does without it
_RIDGE = 1e-9
_THIN = 20.0  # samples of a class, below which its share is taken to be the largest one possible
_COMMON = 0.1  # share of a class in a cell, from which on few rows in that cell mean that the class is rare
_SURE = 1e3  # weight of the equation that shares sum to one
_UNTOLD = 1e-4  # of a contrast's variance, below which the class mix explains all of it
MOST_EVIDENCE = float(np.log(1e6))
"""Logarithm of the evidence beyond which a normal approximation says nothing."""


class System(NamedTuple):
    """Shares of the classes in one system of cells.

    Attributes
    ----------
    means, smooth : (k, cells) arrays
        Each class's shares, and the same with pseudo-samples, for the covariance.
    unsure : (k,) array
        The variance of a class's shares, relative to that of a single sample.
    thin : (k,) array of bool
        Classes with few samples.
    contrasts : (c, cells) array
        Sums of cells to look at; none: all cells together.
    """

    means: FloatArray
    smooth: FloatArray
    unsure: FloatArray
    thin: NDArray[np.bool_]
    contrasts: FloatArray


class Nearest(NamedTuple):
    """The nearest mixture: its shares, the difference, and its statistic.

    Attributes
    ----------
    mix : (k,) array
    residual : (cells,) array
    chi2 : float
    z, errors : (c,) arrays
        Contrasts in standard errors, and the standard errors.
    """

    mix: FloatArray
    residual: FloatArray
    chi2: float
    z: FloatArray
    errors: FloatArray


def system(counts: FloatArray, pooled: float, even: float, few: float, contrasts: FloatArray) -> System:
    """Make a system of cells of the holdout's counts, (k, cells).

    `pooled` and `even` are pseudo-samples of each class, spread as the whole holdout is and, per cell, evenly. A class
    with fewer samples than `few` is hardly relied on at all: its shares are not yet normal.
    """
    cells = counts.shape[1]
    sizes = np.maximum(counts.sum(axis=1), 1.0)
    total = (counts.sum(axis=0) + 0.5) / (counts.sum() + 0.5 * cells)
    smooth = (counts + pooled * total + even) / (counts.sum(axis=1) + pooled + even * cells)[:, np.newaxis]
    return System(counts / sizes[:, np.newaxis], smooth, (1.0 + (few / sizes) ** 2) / sizes, sizes < _THIN, contrasts)


def _most(shares: FloatArray, n: float, of: System) -> FloatArray:
    """Return the largest share that each thin class can have, by the cells it is usually in; 0 for the others.

    Where little is known of a class, the nearest mixture has too little of it, and would seem more certain than it is.
    """
    room = shares + 3.0 * np.sqrt(shares / n) + 1.0 / n
    most = np.where(of.smooth >= _COMMON, room / np.maximum(of.smooth, _COMMON), 1.0).min(axis=1)
    return np.asarray(np.where(of.thin, most, 0.0))


def _covariance(of: System, mix: FloatArray, n: float, most: FloatArray) -> FloatArray:
    weights = np.maximum(mix, most) ** 2 * of.unsure
    shares = mix @ of.smooth
    covariance = -(of.smooth.T * weights) @ of.smooth - np.outer(shares, shares) / n
    covariance[np.diag_indices(len(shares))] += shares / n + weights @ of.smooth
    return np.asarray(covariance)


def nearest(counts: FloatArray, of: System, start: FloatArray) -> Nearest:
    """Return the mixture of classes that is nearest to a stream's counts, (cells,)."""
    n, mix = counts.sum(), start
    shares = counts / n
    cells, most = len(shares), _most(shares, n, of)
    for _ in range(_PASSES):
        covariance = _covariance(of, mix, n, most)
        from scipy.optimize import nnls  # slow to import, and seldom needed

        size = np.trace(covariance)
        # Shares sum to one, so that the covariance has no inverse without some variance of their sum.
        root = np.linalg.cholesky(covariance + size / cells + _RIDGE * size * np.eye(cells))
        columns, target = np.linalg.solve(root, of.means.T), np.linalg.solve(root, shares)
        whole = _SURE * float(np.abs(columns).max())
        try:
            found = nnls(np.vstack([columns, np.full(len(mix), whole)]), np.append(target, whole))[0]
        except RuntimeError:  # it takes too long, among classes that are nearly the same: the mix so far will do
            break
        mix = found / found.sum()
    residual = shares - mix @ of.means
    white = np.linalg.solve(root, residual)
    chi2 = float(white @ white)
    if len(of.contrasts) == 0:
        return Nearest(mix, residual, chi2, np.zeros(0), np.zeros(0))
    used = columns[:, mix > _LEAST]
    left, sizes, _ = np.linalg.svd(used - used.mean(axis=1, keepdims=True), full_matrices=False)
    ways = left[:, sizes > 1e-6 * max(float(sizes[0]), 1e-300)]  # in which the mix may move
    tilted = of.contrasts @ root
    rest = tilted - (tilted @ ways) @ ways.T
    noise = np.linalg.solve(root, np.linalg.solve(root, _covariance(of, mix, n, most)).T)
    variances = np.einsum("ij,jk,ik->i", rest, noise, rest)
    told = variances > _UNTOLD * np.einsum("ij,jk,ik->i", tilted, noise, tilted)
    errors = np.sqrt(np.maximum(variances, 1e-300))
    return Nearest(mix, residual, chi2, np.where(told, rest @ white / errors, 0.0), errors)


def _due(look: int) -> float:
    return _FIRST * _GROWTH**look


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
        if sizes[window] >= WINDOWS[window]:
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
            due[j] |= sizes[place, w] >= WINDOWS[w]
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
            free = max(holdout.first - 1 - 0.5 * (int((found.mix > _LEAST).sum()) - 1), 1.0)
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
    if sizes[0] >= _due(state["_looks"]) or any(0 < w <= s for w, s in zip(WINDOWS, sizes, strict=True)):
        return "missed a look"
    if len(state["_findings"]) > 1 or not are_hull_findings(state["_findings"], k):
        return "has findings of other classes"
    return ""


class HullTest(Component, saved_as="assumption_hull"):
    """Tests whether a stream's outputs are a mixture of the holdout's classes, by counts in cells.

    It looks at the whole stream each time it has grown by half, and at windows of 500 and of 2,000 samples. Its error
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

    def fit(self, proba: FloatArray, labels: IntArray) -> Self:
        """Learn the classes of a holdout that has every class, and start anew."""
        self._cells = fit_cells(proba)
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
        return {name: value for name, value in super().get_state().items() if name != "_prepared"}

    def set_state(self, state: dict[str, Any]) -> Self:
        super().set_state(state)
        if state:
            self._cells = Cells(*self._cells)
            self._prepared = {}
        return self

    def add(self, rows: FloatArray) -> None:
        """Count samples, and look if a look is due."""
        new = np.zeros(self._counts.shape[1])
        add_to_cells(rows, *self._cells, new)
        self._counts += new
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
        covariance = _covariance(of, found.mix, counts.sum(), np.zeros_like(found.mix))
        errors = np.sqrt(np.maximum(np.diag(covariance), 1e-12))
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
