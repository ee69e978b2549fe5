"""Results of the trackers' benchmark, made up: a run in which all is well, and what may go wrong."""

import numpy as np

from baserate_lab.bench.trackers.cells import (
    BASE,
    CALIBRATED,
    CAUSAL,
    HISTORY,
    ORACLE,
    START,
    TOLD,
    TRANSDUCTIVE,
    WINDOW,
    TrackingCell,
    TrackingProblem,
    TrackingResult,
)

ONE, TWO = TrackingProblem("digits", "Square", 10), TrackingProblem("mnist", "Square", 10)
# What a run in which all is well might give; errors as shares.
MSE = {
    BASE: 1.0,
    CALIBRATED: 1.0,
    START: 0.40,
    WINDOW: 0.30,
    CAUSAL: 0.10,
    TRANSDUCTIVE: 0.05,
    ORACLE: 0.0,
    TOLD: 0.05,
    HISTORY: 0.5,
}
ERROR = {
    BASE: 0.10,
    CALIBRATED: 0.09,
    START: 0.08,
    WINDOW: 0.075,
    CAUSAL: 0.07,
    TRANSDUCTIVE: 0.069,
    ORACLE: 0.068,
    TOLD: 0.069,
    HISTORY: 0.09,
}


def well(plan, n_seeds=3, change=lambda cell, result: result):
    """Results with noise that a seed has in common for all methods, changed here and there."""
    kept = {}
    for problem, methods in plan:
        for seed in range(n_seeds):
            noise = np.random.default_rng([seed, hash(problem.n) % 97]).uniform(0, 0.02)
            for method in methods:
                cell = TrackingCell(method, seed, *problem)
                same = method == TRANSDUCTIVE and problem.n == 1
                error = ERROR[CAUSAL] if same else ERROR[method]
                mse = MSE[method] * (4.0 if problem.n == 1 and method == CAUSAL else 1.0)
                if problem.n == 1 and method in (START, WINDOW):
                    mse *= 2.0
                kept[cell] = change(cell, TrackingResult(mse, error + noise))
    return kept


def numbers(of, methods):
    """Results of problems: {problem: {method: one number per seed}}."""
    kept = {
        TrackingCell(method, seed, *problem): TrackingResult(value, value)
        for problem, found in of.items()
        for method, values in found.items()
        for seed, value in enumerate(values)
    }
    return kept, [(problem, methods) for problem in of]


def broken(bars):
    assert all(bar.holds is not None for bar in bars)
    return [bar.text for bar in bars if not bar.holds]


def scale_mse(method, factor, where=lambda cell: True):
    def change(cell, result):
        return result._replace(mse=result.mse * factor) if cell.method == method and where(cell) else result

    return change


def add_error(method, points, where=lambda cell: True):
    def change(cell, result):
        moved = cell.method == method and where(cell)
        return result._replace(error=result.error + points / 100) if moved else result

    return change
