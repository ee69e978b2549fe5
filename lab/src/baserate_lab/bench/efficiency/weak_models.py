"""Section "weak models": the shifts of the trackers' benchmark on models that are often wrong, and on the others."""

import functools
import itertools
import warnings
from typing import NamedTuple

import numpy as np

from baserate import RegressAndReweight
from baserate.protocols import Evidence, FloatArray
from baserate.trackers import LikelihoodMixture
from baserate.trust import HoldoutWarning
from baserate_lab.bench.efficiency.cells import DEFAULT, LIGHT, Cell, Problem, Results, Section, block, mixture
from baserate_lab.bench.tables import to_markdown
from baserate_lab.bench.trackers.bars import Bar, at_most, not_run
from baserate_lab.bench.trackers.sets import SETS, WEAK_RECIPES, distorted, holdout, load
from baserate_lab.bench.trackers.streams import DRAWN, EVEN, path_of

WEAK = ("forest", *WEAK_RECIPES)
STRONG = tuple(name for name in SETS if name not in WEAK)
MODELS = (*WEAK, *STRONG)
SHIFTS = (*EVEN, *DRAWN)
SIZES = (1, 10, 100)
ROUNDS = 1_000
METHODS = (DEFAULT, LIGHT)
LIMIT = 0.8
"""Largest geometric mean of MSE beside that of the light profile, for weak models, n = 10 and 100."""
STRONG_LIMIT = 1.01
"""The same for other models, every n: what is measured must not get worse beyond its error bar."""

_WORDS = (
    "Weak: a forest on MNIST, and words of 20 Newsgroups and of arXiv titles and abstracts; then the other models of "
    "the trackers' benchmark. The model's outputs on held-out samples, drawn with replacement along the shifts of that "
    f"benchmark, {ROUNDS:,} rounds; calibrated on the whole holdout. MSE beside that of the light profile, geometric "
    "means. Where the mix jumps every 31 rounds or so (Square, Bernoulli), most of the MSE is that of the round of the "
    "jump itself, in which only a season can know of it, and only of Square."
)


class WeakResult(NamedTuple):
    """Mean squared distance of the tracked mix to the true one, before each round."""

    mse: float


class PoolStream(NamedTuple):
    """True class mix of each round, and the model's outputs on its rows."""

    path: FloatArray
    proba: FloatArray


def plan() -> list[tuple[Problem, tuple[str, ...]]]:
    """Every model, shift and number of rows per round."""
    return [(problem, METHODS) for problem in itertools.product(MODELS, SHIFTS, SIZES)]


@functools.lru_cache(maxsize=2)
def pool_stream(cell: Cell, rounds: int = ROUNDS) -> PoolStream:
    """The stream of a cell, whose method is ignored (and should be empty, to find the stream again)."""
    pool = load(cell.case)
    rng = cell.rng(cell.case, cell.variant, cell.n)
    path, _ = path_of(cell.variant, rounds, pool.source_prior, rng)
    # Labels by the inverse of the distribution function, then any sample of that label.
    up_to = path.cumsum(axis=1)
    up_to[:, -1] = 1.0
    y = (rng.random((rounds, cell.n))[:, :, np.newaxis] >= up_to[:, np.newaxis]).sum(axis=2).ravel()
    by_class = np.argsort(pool.y, kind="stable")
    counts = np.bincount(pool.y, minlength=pool.n_classes)
    first = counts.cumsum() - counts
    rows = by_class[first[y] + (rng.random(len(y)) * counts[y]).astype(np.int64)]
    return PoolStream(path, distorted(pool.logits, "", 0)[rows])


def run(cell: Cell) -> WeakResult:
    """Run a cell; the result depends on the cell alone."""
    along = pool_stream(cell._replace(method=""))
    learnt = holdout(cell.case, 0, "", cell.seed)
    tracker = mixture(along.path.shape[1], light=cell.method == LIGHT)
    adapter = RegressAndReweight(tracker, calibrator=learnt.calibrator, gate=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HoldoutWarning)  # the models are weak on purpose
        adapter.fit(learnt.proba, learnt.y)
    starts = np.arange(0, len(along.proba) + 1, cell.n)
    evidence = Evidence(adapter.calibrate(along.proba), adapter.source_prior_, starts=starts)
    assert isinstance(adapter.tracker_, LikelihoodMixture)
    tracked = adapter.tracker_.play(evidence)
    return WeakResult(float(((tracked - along.path) ** 2).sum(axis=1).mean()))


def bars(kept: Results) -> list[Bar]:
    """Acceptance bars of the section."""
    found = []
    for text, models, sizes, limit in (
        ("weak models, n >= 10", WEAK, SIZES[1:], LIMIT),
        *((f"the other models, n = {n}", STRONG, (n,), STRONG_LIMIT) for n in SIZES),
    ):
        line = f"{text}: MSE beside that of the light profile, geometric mean over models and shifts"
        mses = block(kept, list(itertools.product(models, SHIFTS, sizes)), METHODS, "mse")
        bar = at_most(line, limit, mses.geometric(DEFAULT, LIGHT)) if mses.problems else not_run(line, f"<= {limit:g}")
        found.append(bar)
    return found


def tables(kept: Results) -> str:
    """Text and tables of the section."""
    rows, each = [], []
    for model, n in itertools.product(MODELS, SIZES):
        some = block(kept, [(model, shift, n) for shift in SHIFTS], METHODS, "mse")
        if some.problems:
            kinds = [block(kept, [(model, shift, n) for shift in kind], METHODS, "mse") for kind in (EVEN, DRAWN)]
            shown = [part.geometric(DEFAULT, LIGHT).shown() if part.problems else "-" for part in (*kinds, some)]
            rows.append([model, str(n), *shown])
            for problem, ratio, mse in zip(
                some.problems, some.ratios(DEFAULT, LIGHT), some.of(LIGHT).mean(axis=1), strict=True
            ):
                each.append([model, problem[1], str(n), f"{mse:.5f}", f"{ratio:.3f}"])
    if not rows:
        return ""
    head = ["model", "n", "even ends", "drawn ends", "all shifts"]
    return "\n\n".join(
        [
            _WORDS,
            to_markdown(head, rows),
            "Every cell.",
            to_markdown(["model", "shift", "n", "MSE of light", "default / light"], each, text=(0, 1)),
        ]
    )


SECTION = Section(
    title="Weak models",
    result=WeakResult,
    protocol=1,
    seeds=10,
    plan=plan,
    run=run,
    bars=bars,
    tables=tables,
)
