"""Growth of the trackers' error, the regret and LPA's switches with the number of rounds, against the theory.

``python -m baserate_lab.paper.rates`` prints the tables, and draws the figure with ``--figure FILE`` (a quarter of an
hour on two cores).
"""

import argparse
import copy
import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed  # type: ignore[import-untyped]
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.stats import t as student

from baserate.adapters import Base, RegressAndReweight
from baserate.datasets import synthetic
from baserate.evaluation import evaluate
from baserate.metrics import dynamic_regret, reweighting_losses
from baserate.protocols import FloatArray, Tracker
from baserate.shifts import Adversary, Monotone, Sinusoidal, Square, sample_stream
from baserate.state import dumps
from baserate.trackers import FLHFTL, Aligator, Arrows, FollowTheHistory, LowSwitching, OnlineGradientDescent
from baserate_lab.models import LinearSGD

K, BATCH_SIZE, N_SEEDS = 3, 10, 10
LENGTHS = tuple(2**i for i in range(8, 16))


def _mixed(alpha: FloatArray) -> FloatArray:
    """Path between the uniform mix (alpha 0) and class 0 alone (alpha 1)."""
    return np.asarray((1 - alpha)[:, np.newaxis] / K + alpha[:, np.newaxis] * np.eye(K)[0])


MakePath = Callable[[int, np.random.Generator], FloatArray]
# With V fixed: the same shape for any number of rounds.
FIXED: dict[str, MakePath] = {
    "step": lambda n, _: _mixed((np.arange(n) >= n // 2).astype(float)),
    "ramp": lambda n, _: Monotone().path(n, K),
    "sine": lambda n, _: _mixed(np.sin(2 * np.pi * np.arange(n) / n) ** 2),
    "adversary": lambda n, rng: Adversary(variation=1.0).path(n, K, rng),
}
# With V like sqrt(T): a shape of sqrt(T) rounds, repeated.
GROWING: dict[str, MakePath] = {
    "steps": lambda n, _: Square().path(n, K),
    "ramps": lambda n, _: _mixed(1 - np.abs(np.arange(n) / np.sqrt(n) % 2 - 1)),
    "sines": lambda n, _: Sinusoidal().path(n, K),
    "adversary, V ~ sqrt T": lambda n, rng: Adversary(variation=np.sqrt(n)).path(n, K, rng),
}
PATHS = {**FIXED, **GROWING}

TRACKERS: dict[str, Callable[[FloatArray], Tracker]] = {
    "FLH-FTL": lambda _: FLHFTL(K),
    "FLH-FTL (window)": lambda _: FLHFTL(K, experts="window"),
    "Aligator": lambda _: Aligator(K),
    "Arrows": lambda _: Arrows(K),
    "LPA around FLH-FTL": lambda _: LowSwitching(FLHFTL(K)),
    "gradient descent, told V": lambda path: OnlineGradientDescent(K, variation=variation(path), horizon=len(path)),
    "global mean": lambda _: FollowTheHistory(K),
}


def variation(path: FloatArray) -> float:
    """Total variation V of a path, in the L1 norm."""
    return float(np.abs(np.diff(path, axis=0)).sum())


class PathResult(NamedTuple):
    """One tracker on one path: total squared error, and number of changes of its prediction."""

    error: float
    switches: int


def track_path(tracker: Tracker, path: FloatArray, rng: np.random.Generator) -> PathResult:
    """PathResult a tracker on the label frequencies of batches drawn along a path."""
    estimates = rng.multinomial(BATCH_SIZE, path) / BATCH_SIZE
    played = np.empty_like(path)
    for t, z in enumerate(estimates):
        played[t] = tracker.predict()
        tracker.update(z)
    switches = int((np.diff(played, axis=0) != 0).any(axis=1).sum())
    return PathResult(float(((played - path) ** 2).sum()), switches)


def track_all(path_name: str, n_rounds: int, seed: int, trackers: Sequence[str]) -> dict[str, PathResult]:
    """PathResult several trackers on the same batches."""
    runs = {}
    for name in trackers:
        rng = np.random.default_rng([seed, n_rounds, list(PATHS).index(path_name)])
        path = PATHS[path_name](n_rounds, rng)
        runs[name] = track_path(TRACKERS[name](path), path, rng)
    return runs


def run_rates(
    paths: Iterable[str] = tuple(PATHS),
    trackers: Sequence[str] = tuple(TRACKERS),
    lengths: Sequence[int] = LENGTHS,
    n_seeds: int = N_SEEDS,
    *,
    n_jobs: int = 1,
) -> dict[tuple[str, str], FloatArray]:
    """Total squared error and switches of every tracker on every path: arrays of shape (lengths, seeds, 2)."""
    # The longest first, so that no core is idle at the end.
    cells = list(itertools.product(sorted(lengths, reverse=True), list(paths), range(n_seeds)))
    jobs = (delayed(track_all)(path, n_rounds, seed, trackers) for n_rounds, path, seed in cells)
    done = Parallel(n_jobs=n_jobs, return_as="generator")(jobs)
    console = Console(stderr=True)
    found: dict[tuple[str, str], FloatArray] = {}
    for (n_rounds, path, seed), runs in zip(
        cells, track(done, "rates", total=len(cells), console=console), strict=True
    ):
        for name, result in runs.items():
            array = found.setdefault((path, name), np.empty((len(lengths), n_seeds, 2)))
            array[lengths.index(n_rounds), seed] = result
    return found


class Slope(NamedTuple):
    """Slope of log error against log T, and half the width of its 95 % confidence interval over seeds."""

    value: float
    margin: float


def slope(errors: FloatArray, lengths: Sequence[int] = LENGTHS) -> Slope:
    """Fit a power of T to errors of shape (lengths, seeds), seed by seed."""
    slopes = np.polyfit(np.log(lengths), np.log(errors), 1)[0]
    n = len(slopes)
    margin = float(student.ppf(0.975, n - 1) * slopes.std(ddof=1) / np.sqrt(n)) if n > 1 else np.inf
    return Slope(float(slopes.mean()), margin)


def slope_of_mean(values: FloatArray, lengths: Sequence[int]) -> Slope:
    """Fit a power of T to the mean over seeds, as single seeds may be negative; the margin is from the jackknife."""
    n = values.shape[1]
    logs = np.log(lengths)
    left_out = (values.sum(axis=1, keepdims=True) - values) / (n - 1)
    slopes = np.polyfit(logs, np.log(np.maximum(left_out, 1e-9)), 1)[0]
    error = np.sqrt((n - 1) / n * ((slopes - slopes.mean()) ** 2).sum())
    whole = np.polyfit(logs, np.log(np.maximum(values.mean(axis=1), 1e-9)), 1)[0]
    return Slope(float(whole), float(student.ppf(0.975, n - 1) * error))


def optimal_order(path_name: str, n_rounds: int) -> float:
    """T^(1/3) V^(2/3), the optimal order of the squared error, and the order of LPA's switches."""
    rng = np.random.default_rng(0)
    mean_variation = np.mean([variation(PATHS[path_name](n_rounds, rng)) for _ in range(N_SEEDS)])  # some are random
    return float(n_rounds ** (1 / 3) * mean_variation ** (2 / 3))


REGRET_LENGTHS = LENGTHS[:6]
REGRET_PATHS = ("step", "steps")
REGRET_TRACKERS = ("FLH-FTL", "FLH-FTL (window)", "Arrows", "global mean")


def regrets(path_name: str, n_rounds: int, seed: int) -> dict[str, float]:
    """Dynamic regret in log loss of adapters on the paper's synthetic data, over the whole labelled pool.

    Every class has at least a tenth of the true mix, and tracked mixes are projected to at least a hundredth, so that
    the log loss is Lipschitz, as the theorem assumes.
    """
    rng = np.random.default_rng([seed, n_rounds])
    data = synthetic.load()
    rows = rng.permutation(len(data.source_y))
    train, held = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    model = LinearSGD(rng=rng).fit(data.source_X[train], data.source_y[train])
    holdout = model.predict_proba(data.source_X[held]), data.source_y[held]
    pool = rng.permutation(len(data.target_y))[:3000]
    proba, y = model.predict_proba(data.target_X[pool]), data.target_y[pool]
    path = 0.3 / K + 0.7 * PATHS[path_name](n_rounds, rng)
    stream = list(sample_stream(proba, y, path, batch_size=BATCH_SIZE, rng=rng))
    methods = {name: RegressAndReweight(TRACKERS[name](path), floor=0.01, gate=False) for name in REGRET_TRACKERS}
    found = {}
    compared: dict[str, RegressAndReweight | Base] = {**methods, "left alone": Base()}
    for name, method in compared.items():
        played = evaluate(method.fit(*holdout), stream).prior
        losses, best = (reweighting_losses(q, proba, y, method.source_prior_, loss="log") for q in (played, path))
        found[name] = float(dynamic_regret(losses, best, path)[-1])
    return found


def run_regrets(*, n_jobs: int = 1) -> dict[str, dict[str, FloatArray]]:
    """Regret of every method on every path: arrays of shape (lengths, seeds)."""
    jobs = list(itertools.product(REGRET_PATHS, REGRET_LENGTHS, range(N_SEEDS)))
    done = Parallel(n_jobs=n_jobs)(delayed(regrets)(*job) for job in jobs)
    regret: dict[str, dict[str, FloatArray]] = {}
    for (path, n_rounds, seed), values in zip(jobs, done, strict=True):
        for name, value in values.items():
            empty = np.empty((len(REGRET_LENGTHS), N_SEEDS))
            regret.setdefault(path, {}).setdefault(name, empty)[REGRET_LENGTHS.index(n_rounds), seed] = value
    return regret


class Cost(NamedTuple):
    """Time per round of a tracker after many rounds, and size of its state."""

    seconds: float
    n_bytes: int


def cost(make: Callable[[], Tracker], n_rounds: int, repeats: int = 100) -> Cost:
    """Measure the last 256 of `n_rounds` rounds; the fastest of several repeats counts."""
    rng = np.random.default_rng(0)
    estimates = rng.multinomial(BATCH_SIZE, np.full(10, 0.1), size=n_rounds) / BATCH_SIZE
    before, timed = estimates[:-256], estimates[-256:]
    tracker = make()
    for z in before:
        tracker.update(z)
    turns = []
    for _ in range(repeats):
        running = copy.deepcopy(tracker)
        start = time.perf_counter()
        for z in timed:
            running.predict()
            running.update(z)
        turns.append((time.perf_counter() - start) / len(timed))
    return Cost(min(turns), len(dumps(running)))


COSTS: dict[str, Callable[[], Tracker]] = {
    "FLH-FTL": lambda: FLHFTL(10),
    "Aligator": lambda: Aligator(10),
    "Arrows": lambda: Arrows(10),
}
COST_LENGTHS = {"FLH-FTL": (2**10, 2**12, 2**14), "Aligator": (2**10, 2**14, 2**17), "Arrows": (2**10, 2**14, 2**17)}


def rates_table(results: dict[tuple[str, str], FloatArray]) -> Table:
    """Table of the slopes of all trackers on all paths, beside those of the theory."""
    table = Table("path", "theory", *TRACKERS, title="Slope of log total squared error against log T")
    for path in PATHS:
        theory = "1/3" if path in FIXED else "2/3"
        slopes = [slope(results[path, name][:, :, 0]) for name in TRACKERS]
        table.add_row(path, theory, *(f"{s.value:.2f} +- {s.margin:.2f}" for s in slopes))
        if path == list(FIXED)[-1]:
            table.add_section()
    return table


def errors_table(results: dict[tuple[str, str], FloatArray]) -> Table:
    """Table of the errors at the shortest and longest lengths."""
    table = Table("path", "T", *TRACKERS, title="Total squared error")
    for path in PATHS:
        for i in (0, -1):
            errors = [results[path, name][i, :, 0].mean() for name in TRACKERS]
            table.add_row(path if i == 0 else "", f"{LENGTHS[i]:,}", *(f"{e:,.1f}" for e in errors))
    return table


def switches_table(results: dict[tuple[str, str], FloatArray]) -> Table:
    """Table of the changes of LPA's prediction, beside the order of its bound."""
    shown = LENGTHS[::2]
    table = Table("path", *(f"T = {n:,}" for n in shown), title="Switches of LPA around FLH-FTL (T^(1/3) V^(2/3))")
    for path in PATHS:
        counts = results[path, "LPA around FLH-FTL"][:, :, 1].mean(axis=1)[::2]
        table.add_row(path, *(f"{c:.0f} ({optimal_order(path, n):.0f})" for c, n in zip(counts, shown, strict=True)))
    return table


def regret_table(found: dict[str, dict[str, FloatArray]]) -> Table:
    """Table of the regret at the shortest and longest lengths and its slope, beside that of the bound."""
    first, last = REGRET_LENGTHS[0], REGRET_LENGTHS[-1]
    table = Table(
        "path", "method", f"T = {first:,}", f"T = {last:,}", "slope", "bound's slope", title="Dynamic regret, log loss"
    )
    for path, methods in found.items():
        bound = "2/3" if path in FIXED else "5/6"
        for name, values in methods.items():
            fitted = slope_of_mean(values, REGRET_LENGTHS)
            ends = (f"{values[i].mean():.1f}" for i in (0, -1))
            table.add_row(path, name, *ends, f"{fitted.value:.2f} +- {fitted.margin:.2f}", bound)
    return table


def cost_table() -> Table:
    """Table of measured time and memory, beside the paper's table."""
    claims = {"FLH-FTL": ("O(T^2)", "O(T^2)"), "Aligator": ("O(T log T)", "O(T)"), "Arrows": ("O(T log T)", "O(1)")}
    table = Table(
        "tracker", "paper: time in all", "paper: memory", "T", "time a round", "state", title="Complexity, K = 10"
    )
    for name, make in COSTS.items():
        for i, n in enumerate(COST_LENGTHS[name]):
            measured = cost(make, n)
            shown = (f"{n:,}", f"{1e6 * measured.seconds:.1f} us", f"{measured.n_bytes / 1000:,.1f} kB")
            table.add_row(*((name, *claims[name]) if i == 0 else ("", "", "")), *shown)
    return table


def draw_rates(
    results: dict[tuple[str, str], FloatArray], regret: dict[str, dict[str, FloatArray]], target: Path
) -> None:
    """Draw the figure: errors on four paths, LPA's switches, and the regret, all against T."""
    from baserate_lab.bench.figures import Panel, save_panels

    panels = []
    for path in ("step", "ramp", "adversary", "steps"):
        lines = {name: results[path, name][:, :, 0].mean(axis=1) for name in TRACKERS}
        order = np.array([optimal_order(path, n) for n in LENGTHS])
        theory = order * lines["FLH-FTL"][0] / order[0]
        title = f"{path}, V {'fixed' if path in FIXED else '~ sqrt T'}: total squared error"
        panels.append(Panel(title, np.array(LENGTHS), lines, {"T^(1/3) V^(2/3)": theory}))
    path = "steps"
    switches = {"LPA around FLH-FTL": results[path, "LPA around FLH-FTL"][:, :, 1].mean(axis=1)}
    order = np.array([optimal_order(path, n) for n in LENGTHS])
    panels.append(Panel("steps: switches of LPA", np.array(LENGTHS), switches, {"T^(1/3) V^(2/3)": order}))
    lines = {name: values.mean(axis=1) for name, values in regret["step"].items()}
    bound = np.array(REGRET_LENGTHS) ** (2 / 3)
    bound *= lines["FLH-FTL"][0] / bound[0]
    panels.append(
        Panel("step: dynamic regret in log loss", np.array(REGRET_LENGTHS), lines, {"T^(2/3) V^(1/3)": bound})
    )
    save_panels(panels, target)


def main() -> None:
    """Print the tables and draw the figure."""
    parser = argparse.ArgumentParser(description="Rates of the trackers, of the regret and of LPA's switches.")
    parser.add_argument("--figure", type=Path, help="where to write the figure (.svg or .png)")
    parser.add_argument("--jobs", type=int, default=-1, help="processes (default: one per core)")
    options = parser.parse_args()
    console = Console(width=150, highlight=False)
    console.print(cost_table())  # first, while nothing else runs
    results = run_rates(n_jobs=options.jobs)
    regret = run_regrets(n_jobs=options.jobs)
    for table in (rates_table(results), errors_table(results), switches_table(results), regret_table(regret)):
        console.print(table)
    if options.figure:
        draw_rates(results, regret, options.figure)


if __name__ == "__main__":
    main()
