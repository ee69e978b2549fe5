"""Section "fraud": a rare class whose share rises and falls, decisions by cost, beside sliding windows."""

import functools
import itertools
import warnings
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm

from baserate import RegressAndReweight
from baserate.decisions import decide
from baserate.protocols import FloatArray, IntArray
from baserate.simplex import normalise
from baserate.trackers import FLHFTL
from baserate_lab.bench.efficiency.cells import ALONE, DEFAULT, LIGHT, ORACLE, Cell, Problem, mixture
from baserate_lab.bench.efficiency.score_models import ScoreModel
from baserate_lab.bench.efficiency.windows import WINDOWS, quapy_emq, sliding_window_em

AUCS = {"AUC 0.80": 0.80, "AUC 0.90": 0.90, "AUC 0.97": 0.97}
HOLDOUTS = (500, 2_000, 10_000)
SHARES = (0.01, 0.08, 0.02)
"""Share of fraud in each third of the stream; the holdout has the first."""

ROWS, N = 50_000, 100
COSTS = np.array([[0.0, 1.0], [20.0, 0.0]])
"""Cost by true class and decision: a false alarm costs 1, a missed fraud 20."""

EXACT, DISTORTED = "exact", "temperature 1.3"
TEMPERATURE = 1.3

UNGATED, FLH = "default, gate=False", "FLH-FTL"
OURS = {window: f"EM, last {window:,}" for window in WINDOWS}
QUAPY = {window: f"QuaPy EMQ, last {window:,}" for window in WINDOWS}
METHODS = (DEFAULT, UNGATED, LIGHT, *OURS.values(), *QUAPY.values(), FLH, ALONE, ORACLE)
DISTORTED_METHODS = (DEFAULT, UNGATED, LIGHT, *OURS.values(), ALONE, ORACLE)


class FraudResult(NamedTuple):
    """Cost per 1,000 rows; MSE of the mix used; share of fraud tracked, mean of the later half of each third."""

    cost: float
    mse: float = np.nan
    share_1: float = np.nan
    share_2: float = np.nan
    share_3: float = np.nan


class FraudStream(NamedTuple):
    """Outputs and labels of holdout and stream, exact posteriors under the mix of the holdout, and true shares."""

    holdout: FloatArray
    holdout_y: IntArray
    proba: FloatArray
    y: IntArray
    exact: FloatArray
    path: FloatArray


def plan() -> list[tuple[Problem, tuple[str, ...]]]:
    """Every model and size of the holdout; distorted outputs of one model."""
    exact: list[Problem] = list(itertools.product(AUCS, [EXACT], HOLDOUTS))
    distorted: list[Problem] = [("AUC 0.90", DISTORTED, size) for size in HOLDOUTS]
    return [*((problem, METHODS) for problem in exact), *((problem, DISTORTED_METHODS) for problem in distorted)]


@functools.lru_cache(maxsize=2)
def fraud_stream(cell: Cell, rows: int = ROWS) -> FraudStream:
    """The stream of a cell, whose method is ignored (and should be empty, to find the stream again)."""
    rng = cell.rng(cell.case, cell.n)
    source = np.array([1 - SHARES[0], SHARES[0]])
    model = ScoreModel(np.array([[0.0], [np.sqrt(2) * norm.ppf(AUCS[cell.case])]]), source)
    frauds = 0
    while frauds < 2:  # nobody would fit anything on fewer
        frauds = int(rng.binomial(cell.n, SHARES[0]))
    holdout_y = (np.arange(cell.n) < frauds).astype(np.int64)
    holdout = model.outputs(holdout_y, rng)
    n_rounds = rows // N
    path = np.repeat(SHARES, -(-n_rounds // 3))[:n_rounds]
    y = (rng.random(rows) < np.repeat(path, N)).astype(np.int64)
    exact = model.outputs(y, rng)
    if cell.variant == DISTORTED:
        return FraudStream(distorted(holdout), holdout_y, distorted(exact), y, exact, path)
    return FraudStream(holdout, holdout_y, exact, y, exact, path)


def distorted(proba: FloatArray) -> FloatArray:
    """Outputs that are less sure than they should be."""
    second = expit(logit(proba[:, 1]) / TEMPERATURE)
    return np.column_stack([1 - second, second])


def run(cell: Cell) -> FraudResult:
    """Run a cell; the result depends on the cell alone."""
    return measure(cell.method, fraud_stream(cell._replace(method="")))


def measure(method: str, along: FraudStream) -> FraudResult:
    """Run a method along a stream."""
    holdout_mix = np.bincount(along.holdout_y, minlength=2) / len(along.holdout_y)
    if method == ALONE:
        return FraudResult(cost(along.proba, along.y))
    if method == ORACLE:
        mixes = np.column_stack([1 - along.path, along.path])
        return _result(_reweighted(along.exact, mixes, np.array([1 - SHARES[0], SHARES[0]])), mixes, along)
    for names, windowed in ((OURS, sliding_window_em), (QUAPY, quapy_emq)):
        for window, name in names.items():
            if name == method:
                mixes = windowed(along.proba, holdout_mix, window, N)
                return _result(_reweighted(along.proba, mixes, holdout_mix), mixes, along)
    adapter = adapters(method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a holdout is small
        adapter.fit(along.holdout, along.holdout_y)
    steps = [adapter.step(rows) for rows in np.split(along.proba, len(along.path))]
    return _result(np.concatenate([step.proba for step in steps]), np.array([step.prior for step in steps]), along)


def adapters(method: str) -> RegressAndReweight:
    """Our own method of this name, not fitted."""
    if method == FLH:
        return RegressAndReweight(FLHFTL(2))
    return RegressAndReweight(mixture(2, light=method == LIGHT), gate=method != UNGATED, alpha=0.05)


def _reweighted(proba: FloatArray, mixes: FloatArray, source: FloatArray) -> FloatArray:
    return normalise(proba * np.repeat(mixes / source, N, axis=0))


def _result(proba: FloatArray, mixes: FloatArray, along: FraudStream) -> FraudResult:
    shares = mixes[:, 1]
    later = [float(third[len(third) // 2 :].mean()) for third in np.array_split(shares, 3)]
    return FraudResult(cost(proba, along.y), float(2 * ((shares - along.path) ** 2).mean()), *later)


def cost(proba: FloatArray, y: IntArray) -> float:
    """Cost of the best decisions per 1,000 rows."""
    return float(1000 * COSTS[y, decide(proba, COSTS)].mean())
