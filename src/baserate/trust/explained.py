"""ExplainedShare: how much of the change of a model's outputs a class mix explains."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.compiled import compiled
from baserate.protocols import FloatArray
from baserate.state import Component
from baserate.state.declarations import Flag, Saved, Saves, Whole, floats, priors
from baserate.validation import check_fitted, check_holdout, check_proba

BLOCK = 1000
"""Samples whose outputs are counted together."""
ENOUGH = 0.8
"""Explained share from which on the change counts as one of the class mix."""
_OVER = 0.7  # below which it no longer does
_HARDLY = 0.25  # explained share below which the change counts as none of the class mix
_LARGE = 0.5  # least change of outputs, as chi2 per sample: a smaller one is not worth explaining
_SOME = 0.1  # the same for a change that is left unexplained
_FADES = 0.25  # part of the sums that each block replaces
_PSEUDO = 2.0  # samples, spread as the whole holdout is, that stand beside those of each class
_PASSES = 30  # of expectation-maximisation; each block goes on from the mix of the one before
_LEAST = 0.5  # expected count below which a cell's share of chi2 is not divided by less


def _fits_together(saved: Saved) -> str:
    if saved.sizes["cells"] != 2 * saved.sizes["k"]:
        return "has other cells than two for each class"
    before, after = saved.state["_changes"]
    if after > before + 1e-6 * (1.0 + before):
        return "has a best class mix that is worse than the source's"
    if saved.state["_counts"].sum() != saved.state["_n"]:
        return "has counted other samples than it says"
    return ""


class ExplainedShare(Component, saved_as="explained_share"):
    r"""Measures how much of the change of a model's outputs a class mix explains.

    Outputs are counted in two cells for each predicted class, above and below its median confidence. For every 1,000
    samples, ``1 - chi2(best class mix) / chi2(source mix)`` says which part of the difference between stream and
    holdout goes away if the holdout's classes are mixed anew. Repeated samples make both terms large, and leave their
    ratio as it is; so it tells where serial correlation alone does not.

    Attributes
    ----------
    share_ : float
        The explained share over the last few thousand samples, from 0 to 1; 0 before the first 1,000.
    explained_ : bool
        True if the outputs have changed much, and a class mix explains at least 80 % of it; until it explains less than
        70 %.
    unexplained_ : bool
        True if the outputs have changed, and a class mix explains less than a quarter of it.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> def outputs(n, share, noise=1.0):
    ...     y = (rng.random(n) < share).astype(int)
    ...     odds = np.exp(rng.normal(2.0 * y - 1.0, noise) * 2.0)
    ...     return np.column_stack([1 / (1 + odds), odds / (1 + odds)]), y
    >>> watch = ExplainedShare().fit(*outputs(1000, 0.3))
    >>> watch.update(outputs(3000, 0.9)[0])
    >>> watch.explained_, watch.share_ > 0.9
    (True, True)
    >>> watch.update(outputs(9000, 0.3, noise=9.0)[0])
    >>> watch.explained_
    False
    """

    saves = Saves(
        state={
            "_cuts": floats("k", low=0.0, high=1.0),
            "_cells": priors("k", "cells", within=1e-6),
            "_source": priors("k", within=1e-6),
            "_mix": priors("k", within=1e-6),
            "_counts": floats("cells", low=0.0, high=float(BLOCK)),
            "_n": Whole(0, BLOCK - 1),
            "_changes": floats(2, low=0.0, high=1e15),
            "explained_": Flag(),
        },
        may_be_empty=True,
        check=_fits_together,
    )

    def fit(self, proba: ArrayLike, y: ArrayLike) -> Self:
        """Learn how the outputs of each class are spread over the cells.

        Parameters
        ----------
        proba : (n, k) array
            The model's probabilities on a holdout.
        y : (n,) array of int
            Its labels, every class at least once.
        """
        rows, labels = check_holdout(proba, y, every_class=True)
        k = rows.shape[1]
        predicted, largest = rows.argmax(axis=1), rows.max(axis=1)
        self._cuts = np.array([np.median(largest[predicted == c]) if (predicted == c).any() else 0.5 for c in range(k)])
        found = np.zeros((k, 2 * k))
        for c in range(k):
            of_class = np.ascontiguousarray(rows[labels == c])
            _count(of_class, 0, len(of_class), self._cuts, found[c])
        sizes = found.sum(axis=1)
        # A class with few samples leans on the others: cells that it was never seen in are not thereby ruled out.
        self._cells = (found + _PSEUDO * found.sum(axis=0) / len(rows)) / (sizes + _PSEUDO)[:, np.newaxis]
        self._source = sizes / len(rows)
        self.reset()
        return self

    def reset(self) -> None:
        """Forget the stream."""
        check_fitted(self, "_source")
        self._mix = self._source.copy()
        self._counts, self._n = np.zeros(self._cells.shape[1]), 0
        self._changes = np.zeros(2)  # chi2 of the source mix and of the best one
        self.explained_ = False

    @property
    def share_(self) -> float:
        before, after = self._changes
        return max(1.0 - float(after / before), 0.0) if before > 0.0 else 0.0

    @property
    def unexplained_(self) -> bool:
        return bool(self._changes[0] >= _SOME * BLOCK) and self.share_ < _HARDLY

    def update(self, proba: ArrayLike) -> None:
        """Count samples.

        Parameters
        ----------
        proba : (n, k) array
            The model's probabilities.
        """
        check_fitted(self, "_source")
        self.take_in(check_proba(proba, len(self._source)))

    def take_in(self, rows: FloatArray) -> None:
        """Do what `update` does, without checks, for callers that have made them."""
        first = 0
        while first < len(rows):
            end = min(first + BLOCK - self._n, len(rows))
            _count(rows, first, end, self._cuts, self._counts)
            self._n += end - first
            first = end
            if self._n == BLOCK:
                self._look()

    def _look(self) -> None:
        changes = np.zeros(2)
        _compare(self._counts, self._cells, self._source, self._mix, changes)
        self._changes = (1.0 - _FADES) * self._changes + _FADES * changes
        self._counts, self._n = np.zeros(len(self._counts)), 0
        seen_much = self._changes[0] >= _LARGE * BLOCK
        self.explained_ = seen_much and self.share_ >= (_OVER if self.explained_ else ENOUGH)


@compiled
def _count(rows: FloatArray, first: int, end: int, cuts: FloatArray, counts: FloatArray) -> None:
    """Add the rows `first` to `end` to the counts of their cells."""
    for i in range(first, end):
        predicted = 0
        for c in range(1, rows.shape[1]):
            if rows[i, c] > rows[i, predicted]:
                predicted = c
        counts[2 * predicted + (1 if rows[i, predicted] > cuts[predicted] else 0)] += 1.0


@compiled
def _compare(counts: FloatArray, cells: FloatArray, source: FloatArray, mix: FloatArray, out: FloatArray) -> None:
    """Write chi2 of counts to the source mix and to the best mix, which is found from `mix` on, in place."""
    k, m = cells.shape
    total, expected, new = counts.sum(), np.empty(m), np.empty(k)
    floor = 1e-6
    for c in range(k):
        mix[c] = (mix[c] + floor) / (1.0 + k * floor)  # a class that was ruled out can come back
    for round_ in range(_PASSES + 2):
        for j in range(m):
            expected[j] = 0.0
            for c in range(k):
                expected[j] += (source[c] if round_ == 0 else mix[c]) * cells[c, j]
        if round_ == 0 or round_ == _PASSES + 1:
            change = 0.0
            for j in range(m):
                change += (counts[j] - total * expected[j]) ** 2 / max(total * expected[j], _LEAST)
            out[0 if round_ == 0 else 1] = change
            continue
        lost = 0.0  # the share of cells that no class has ever been in
        for j in range(m):
            if counts[j] > 0.0 and not expected[j] > 0.0:
                lost += counts[j] / total
        for c in range(k):
            new[c] = 0.0
            for j in range(m):
                if counts[j] > 0.0 and expected[j] > 0.0:
                    new[c] += mix[c] * cells[c, j] * counts[j] / (expected[j] * total)
        for c in range(k):
            if lost < 1.0 - 1e-9:
                mix[c] = new[c] / (1.0 - lost)
    out[1] = min(out[1], out[0])
