"""Runs of cells without labels: a base model, a stream, and a method that adapts the model."""

import warnings
import zlib
from functools import lru_cache

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from baserate.evaluation import Evaluation, evaluate
from baserate.protocols import Batch, FloatArray
from baserate.shifts import Bernoulli, Monotone, Sinusoidal, Square, replay_stream, sample_stream
from baserate.trust import HoldoutWarning
from baserate_lab.paper.runs import base_models, problems
from baserate_lab.paper.runs.cells import REAL, PaperCell, PaperResult
from baserate_lab.paper.runs.methods import METHODS, NEED_FEATURES, Setting

SHIFTS = {"mon": Monotone(), "squ": Square(), "sin": Sinusoidal(), "ber": Bernoulli()}
BLOCKS = 60
"""Number of blocks of a stream that is shown over time."""


def run_adapting(cell: PaperCell) -> PaperResult:
    """Run a cell. The result depends on the cell alone, bit for bit; all methods are given the same stream."""
    with_features = cell.method in NEED_FEATURES
    key = cell.dataset, cell.model, cell.model_seed, cell.train_share, with_features
    base = base_models.load(*key)
    rows = base_models.choose_holdout(base.holdout_y, cell.holdout, np.random.default_rng([cell.seed, 0]))
    holdout, labels = base.holdout[rows], base.holdout_y[rows]
    stream = _stream(key, cell.shift, cell.seed, cell.batch_size, cell.n_rounds)
    problem = problems.find(cell.dataset, cell.model)
    if problem is None:
        raise ValueError(f"{cell.dataset} {cell.model} is no problem of the paper.")
    setting = Setting(
        stream,
        holdout,
        labels,
        cell.marginal,
        problem.calibrator,
        problem.lipschitz,
        problem.uogd_lipschitz,
        base.layer,
    )
    # One thread: bit-identical on any machine, and faster for small matrices.
    with threadpool_limits(1), warnings.catch_warnings():
        # The tables use small holdouts on purpose.
        warnings.filterwarnings("ignore", message="the confusion matrix is nearly singular")
        warnings.simplefilter("ignore", HoldoutWarning)  # small holdouts are compared on purpose
        method = METHODS[cell.method](setting)
        if with_features:
            assert base.holdout_features is not None
            method.fit(base.holdout_features[rows], labels)
        else:
            method.fit(holdout, labels)
        return _result(evaluate(method, stream), cell.shift == REAL)


@lru_cache(maxsize=2)
def _stream(
    key: tuple[str, str, int, float, bool], shift: str, seed: int, batch_size: int, n_rounds: int
) -> list[Batch]:
    base = base_models.load(*key)
    pool, seen = (base.target, base.target_y), base.target_features
    if shift == REAL:
        return list(replay_stream(*pool, batch_size=batch_size, features=seen))[:n_rounds]
    rng = np.random.default_rng([seed, zlib.crc32(shift.encode())])
    kind = SHIFTS[shift]
    return list(sample_stream(*pool, kind, n_rounds=n_rounds, batch_size=batch_size, features=seen, rng=rng))


def _result(found: Evaluation, over_time: bool) -> PaperResult:
    def known(value: float) -> float | None:
        return None if np.isnan(value) else value

    errors = mses = None
    if over_time:
        errors = _blocks(100 * found.wrong / found.n)
        if not np.isnan(found.prior).any():
            mses = _blocks(((found.prior - found.frequencies) ** 2).sum(axis=1))
    return PaperResult(
        100 * found.error_rate,
        known(found.mse_to_frequencies),
        None if over_time else known(found.mse),  # the true mix of a real stream is unknown
        float(found.seconds.sum()),
        None,
        errors,
        mses,
    )


def _blocks(values: FloatArray) -> list[float]:
    return [float(block.mean()) for block in np.array_split(values, min(BLOCKS, len(values)))]
