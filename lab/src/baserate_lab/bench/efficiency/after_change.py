"""Section "efficiency": the tracked mix after one change, beside the most likely mix of all rows since the change."""

import functools
import itertools
from typing import NamedTuple

import numpy as np

from baserate.marginals import MLLS
from baserate.protocols import Evidence, FloatArray, IntArray
from baserate_lab.bench.efficiency.cells import ALONE, DEFAULT, LIGHT, ML, ORACLE, Cell, Problem, mixture
from baserate_lab.bench.efficiency.score_models import CASES

START, LATER = "at the start", "after 30 rounds"
VARIANTS = {START: 0, LATER: 30}
"""Rounds of the source mix before the change."""

SIZES = (100, 10, 1)
ROWS = 10_000
"""Rows after the change."""

MARKS = (500, 2_000, 5_000, 10_000)
"""Rows after the change at which the bars compare."""

DRAWN_MARKS = (100, 200, 500, 1_000, 2_000, 5_000, 10_000)
"""Rows after the change that the figure shows."""

METHODS = (DEFAULT, LIGHT, ML, ALONE, ORACLE)


class AfterChange(NamedTuple):
    """Squared distances to the true mix after the change, and quality of the predictions; NaN where not computed.

    Attributes
    ----------
    mse_100, ..., mse_10000 : float
        After so many rows.
    mse_mean : float
        Mean over the rounds after the change, each after its own rows were seen.
    mse_used : float
        The same of the mixes that the predictions used, before their rows were seen: one round earlier.
    error, log_loss : float
        Of the corrected predictions of the rows after the change.
    """

    mse_100: float = np.nan
    mse_200: float = np.nan
    mse_500: float = np.nan
    mse_1000: float = np.nan
    mse_2000: float = np.nan
    mse_5000: float = np.nan
    mse_10000: float = np.nan
    mse_mean: float = np.nan
    mse_used: float = np.nan
    error: float = np.nan
    log_loss: float = np.nan


class ChangedStream(NamedTuple):
    """Outputs, and labels after the change; the first `before` rounds of n rows have the source mix."""

    proba: FloatArray
    y: IntArray
    source: FloatArray
    mix: FloatArray
    before: int


def plan() -> list[tuple[Problem, tuple[str, ...]]]:
    """Every case, change and number of rows per round."""
    return [(problem, METHODS) for problem in itertools.product(CASES, VARIANTS, SIZES)]


@functools.lru_cache(maxsize=2)
def changed_stream(cell: Cell, rows: int = ROWS) -> ChangedStream:
    """The stream of a cell, whose method is ignored (and should be empty, to find the stream again)."""
    model, mix = CASES[cell.case](cell.rng(cell.case))
    rng = cell.rng(cell.case, cell.variant, cell.n)
    before = VARIANTS[cell.variant]
    quiet, _ = model.draw(model.source, before * cell.n, rng)
    proba, y = model.draw(mix, rows, rng)
    return ChangedStream(np.concatenate([quiet, proba]), y, model.source, mix, before)


def run(cell: Cell) -> AfterChange:
    """Run a cell; the result depends on the cell alone."""
    along = changed_stream(cell._replace(method=""))
    after = along.proba[len(along.proba) - ROWS :]
    if cell.method == ML:
        return AfterChange(**most_likely(along, after))
    if cell.method in (ALONE, ORACLE):
        used = along.mix if cell.method == ORACLE else along.source
        error, log_loss = quality(after, along.y, used[np.newaxis] / along.source)
        return AfterChange(error=error, log_loss=log_loss)
    tracker = mixture(len(along.mix), light=cell.method == LIGHT, prior=along.source)
    # An empty last round shows the mix after all rows.
    starts = np.append(np.arange(0, len(along.proba) + 1, cell.n), len(along.proba))
    tracked = tracker.play(Evidence(along.proba, along.source, starts=starts))[along.before :]
    squared = ((tracked - along.mix) ** 2).sum(axis=1)
    error, log_loss = quality(after, along.y, np.repeat(tracked[:-1] / along.source, cell.n, axis=0))
    at = {f"mse_{mark}": float(squared[mark // cell.n]) for mark in DRAWN_MARKS}
    means = {"mse_mean": float(squared[1:].mean()), "mse_used": float(squared[:-1].mean())}
    return AfterChange(**at, **means, error=error, log_loss=log_loss)


def most_likely(along: ChangedStream, after: FloatArray) -> dict[str, float]:
    """Squared distances of the most likely mix of all rows since the change."""
    estimator = MLLS(base="prior", source_prior=along.source).fit()
    found = {}
    for mark in DRAWN_MARKS:
        found[f"mse_{mark}"] = float(((estimator.estimate(after[:mark]) - along.mix) ** 2).sum())
    return found


def quality(proba: FloatArray, y: IntArray, ratios: FloatArray) -> tuple[float, float]:
    """Share of wrong labels, and log loss, of predictions re-weighted by ratios of class mixes."""
    adapted = proba * ratios
    own = adapted[np.arange(len(y)), y] / adapted.sum(axis=1)
    return float((adapted.argmax(axis=1) != y).mean()), float(-np.log(np.maximum(own, 1e-300)).mean())
