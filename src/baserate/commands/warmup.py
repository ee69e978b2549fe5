"""``baserate warmup``: compile everything that runs will need, so that none of them has to wait for it."""

import os
import time
import warnings
from typing import TYPE_CHECKING, Annotated

import typer

from baserate.commands.progress import progress_bars
from baserate.commands.streams import say

if TYPE_CHECKING:
    from baserate.protocols import FloatArray, IntArray


def warmup(
    many_classes: Annotated[
        bool, typer.Option("--many-classes", help="Also compile for models with more than 32 classes.")
    ] = False,
    every_tracker: Annotated[
        bool, typer.Option("--every-tracker", help="Also compile every method of baserate backtest.")
    ] = False,
) -> None:
    """Compile now, so that the first run does not wait. For container images: RUN baserate warmup."""
    import numpy as np

    from baserate.backtesting import backtest
    from baserate.backtesting.run import FEWEST

    begun = time.perf_counter()
    with progress_bars() as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # these are no data that anybody should be warned of
        task = progress.add_task("Compiling", total=None)
        for k in (2, 40) if many_classes else (2,):
            proba, y = _made_up(k, max(25 * FEWEST, 40 * k))
            _use_everything(proba, y)
            progress.update(task, description="Compiling: backtest")
            costs = 1.0 - np.eye(k)
            backtest(proba, y, holdout=(proba, y), rounds=10, methods=None if every_tracker else [], costs=costs)
            proba.flags.writeable = False  # as frames have them: other code is compiled for these
            _use_everything(proba, y)
            backtest(proba, y, holdout=(proba, y), rounds=10, methods=[], costs=costs)
    say(f"Compiled in {time.perf_counter() - begun:.1f} s, and kept in {_folder()}.")


def _made_up(k: int, n: int) -> "tuple[FloatArray, IntArray]":
    """Probabilities and labels of n samples of k classes, by a model that is good enough for every check."""
    import numpy as np

    y = np.arange(n) % k
    odds = np.exp(np.random.default_rng(0).normal(4.0 * np.eye(k)[y], 1.0))
    return odds / odds.sum(axis=1, keepdims=True), y


def _use_everything(proba: "FloatArray", y: "IntArray") -> None:
    """Call what a stream, late labels, a bank of keys, and files of them call."""
    import numpy as np

    from baserate.adapters import RegressAndReweight
    from baserate.bank import Bank
    from baserate.files.adapting.steppers import place
    from baserate.marginals.active_set import minimise_quadratic
    from baserate.protocols import UNLABELLED

    adapter = RegressAndReweight(transductive=True).fit(proba, y)
    ids = list(range(len(y)))
    for i in range(0, 100, 20):
        part = slice(i, i + 20)
        adapter.step(proba[part], np.where(y[part] == 0, 0, UNLABELLED), ids=ids[part])
    adapter.update_labels(ids[:40], y[:40])
    fresh = 0.9 * proba + 0.1 * np.roll(proba, 1, axis=0)  # rows of the holdout itself would tell the check nothing
    fresh.flags.writeable = proba.flags.writeable
    for rows in (fresh, fresh[y == 0]) * 5:  # until label shift is tested, and a correction rehearsed
        adapter.update(rows)
    adapter.idle(1)
    adapter.prior_interval()
    adapter.estimated_accuracy()
    adapter.predict_proba(proba[:1])
    bank = Bank(RegressAndReweight().fit(proba, y))
    for _ in range(2):
        bank.step(np.arange(20) % 3, proba[:20])
    place(proba, 0, np.empty(proba.T.shape), y.copy())
    minimise_quadratic(np.eye(2), np.ones(2), np.ones(2))  # where the check of label shift finds a class missing


def _folder() -> str:
    """The folder that machine code is kept in: numba's choice, beside the package if it may write there."""
    from baserate import simplex

    folder = getattr(getattr(simplex.reweight, "stats", None), "cache_path", None)
    return os.environ.get("NUMBA_CACHE_DIR") or (
        "no folder, because none can be written; set NUMBA_CACHE_DIR" if folder is None else str(folder)
    )
