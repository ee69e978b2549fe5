"""Section "one batch": a single batch after the source mix, beside EM to convergence on that batch."""

import functools
import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from baserate import RegressAndReweight
from baserate.marginals import MLLS
from baserate.protocols import FloatArray, IntArray
from baserate_lab.bench.efficiency.after_change import quality
from baserate_lab.bench.efficiency.cells import ALONE, DEFAULT, LIGHT, ORACLE, Cell, Problem, mixture
from baserate_lab.bench.efficiency.score_models import CASES, Setting, two_classes

SIZES = (100, 1_000, 10_000)
MAP = "EM on the batch"
METHODS = (DEFAULT, LIGHT, MAP, ALONE, ORACLE)

DRAWN, ONE_CLASS = "mixed", "all of one class"

BATCH_CASES: dict[str, Callable[[np.random.Generator], Setting]] = {
    "5 % to 40 %, distance 1.2": CASES["5 % to 40 %, distance 1.2"],
    "5 % to 40 %, distance 3": two_classes(3.0, 0.05, 0.40),
    "ten classes, medium": CASES["ten classes, medium"],
    "ten classes, well separated": CASES["ten classes, well separated"],
}
"""A weak and a strong model for two and for ten classes."""


class OneBatch(NamedTuple):
    """Squared distance of the mix after the batch to the true one; its largest share; share of right labels.

    Labels are those of the batch itself, by the mix that the batch suggests.
    """

    mse: float
    largest: float
    accuracy: float


class BatchDrawn(NamedTuple):
    """One batch of outputs and labels, the class mix of the source and that of the batch."""

    proba: FloatArray
    y: IntArray
    source: FloatArray
    mix: FloatArray


def plan() -> list[tuple[Problem, tuple[str, ...]]]:
    """Every model and size; for ten classes also a batch of 1,000 rows of one class."""
    drawn: list[Problem] = list(itertools.product(BATCH_CASES, [DRAWN], SIZES))
    alone: list[Problem] = [(case, ONE_CLASS, 1_000) for case in BATCH_CASES if case.startswith("ten")]
    return [(problem, METHODS) for problem in [*drawn, *alone]]


@functools.lru_cache(maxsize=2)
def one_batch(cell: Cell) -> BatchDrawn:
    """The batch of a cell, whose method is ignored (and should be empty, to find the batch again)."""
    model, mix = BATCH_CASES[cell.case](cell.rng(cell.case))
    if cell.variant == ONE_CLASS:
        mix = np.eye(len(mix))[0]
    proba, y = model.draw(mix, cell.n, cell.rng(cell.case, cell.variant, cell.n, "batch"))
    return BatchDrawn(proba, y, model.source, mix)


def run(cell: Cell) -> OneBatch:
    """Run a cell; the result depends on the cell alone."""
    drawn = one_batch(cell._replace(method=""))
    if cell.method in (DEFAULT, LIGHT):
        tracker = mixture(len(drawn.mix), light=cell.method == LIGHT)
        adapter = RegressAndReweight(
            tracker, calibrator=None, transductive=True, gate=False, source_prior=drawn.source
        ).fit()
        labels = adapter.step(drawn.proba).labels
        return _result(adapter.prior_, float((labels == drawn.y).mean()), drawn)
    mix = {ALONE: drawn.source, ORACLE: drawn.mix}.get(cell.method)
    if mix is None:
        mix = most_probable(drawn.proba, drawn.source)
    wrong, _ = quality(drawn.proba, drawn.y, mix[np.newaxis] / drawn.source)
    return _result(mix, 1 - wrong, drawn)


def _result(mix: FloatArray, accuracy: float, drawn: BatchDrawn) -> OneBatch:
    return OneBatch(float(((mix - drawn.mix) ** 2).sum()), float(mix[drawn.mix.argmax()]), accuracy)


def most_probable(proba: FloatArray, source: FloatArray) -> FloatArray:
    """The most probable mix of a batch, if the source mix counts as one labelled sample that is split among classes.

    EM to convergence; it starts near the end, from the most likely mix.
    """
    n = len(proba)
    likelihoods = np.ascontiguousarray((proba / source).T)
    q = (n * MLLS(base="prior", source_prior=source).fit().estimate(proba) + source) / (n + 1)
    for _ in range(10_000):
        posteriors = likelihoods * q[:, np.newaxis]
        posteriors /= posteriors.sum(axis=0)
        previous, q = q, (posteriors.sum(axis=1) + source) / (n + 1)
        if abs(q - previous).sum() < 1e-9:
            break
    return q
