"""Online Feature Updates on CIFAR-10: errors with and without them, on the same streams.

``python -m baserate_lab.paper.feature_updates_on_cifar10`` prints the table (a quarter of an hour on one core; with
``--rounds 1000 --train 40000`` as printed, many hours). Needs torch, and trains the network if it is not in the cache.
"""

import argparse
import itertools
import time
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.special import softmax

from baserate.adapters import RegressAndReweight
from baserate.calibrators import TemperatureScaling
from baserate.evaluation import evaluate
from baserate.protocols import Batch, FloatArray
from baserate.shifts import Bernoulli, Sinusoidal, sample_stream
from baserate.trackers import FLHFTL
from baserate.trust import HoldoutWarning
from baserate_lab.datasets import load
from baserate_lab.models import outputs, train
from baserate_lab.models._split import split
from baserate_lab.paper.claims import standard_error
from baserate_lab.paper.feature_updates import OnlineFeatureUpdates
from baserate_lab.paper.runs.base_models import choose_holdout
from baserate_lab.paper.runs.problems import CIFAR10

SHIFTS = {"sin": Sinusoidal(), "ber": Bernoulli()}
PRINTED = {"entropy": (11.63, 7.04), "rotation": (12.02, 7.45)}
"""Error of FLH-FTL without and with updates under Sin, as printed by Wu et al. (2024)."""
WITHOUT, ONCE = "without", "layer refitted, features as they are"


class Settings(NamedTuple):
    """Everything that decides a run, except its shift and its seed."""

    n_rounds: int = 100
    batch_size: int = 10
    every: int = 100
    n_train: int = 1000
    n_holdout: int = 300
    step_size: float = 1e-3
    steps: int = 1
    c: float = 0.1


class Outcome(NamedTuple):
    """Error in percent, and seconds."""

    error: float
    seconds: float


def adapter() -> RegressAndReweight:
    """Algorithm 1 with FLH-FTL in windows, as the printed numbers of this project's tables have it."""
    return RegressAndReweight(FLHFTL(10, experts="window"), calibrator=TemperatureScaling(), gate=False)


def run(shift: str, seed: int, losses: Sequence[str], settings: Settings) -> dict[str, Outcome]:
    """Outcomes by method, on one stream; a seed has its own stream, holdout and, in turns, network."""
    data = load("cifar10")
    number = CIFAR10.network(seed)
    model = train("cifar10", CIFAR10.model, seed=number, progress=False)
    said = outputs("cifar10", CIFAR10.model, seed=number, progress=False)
    rows, held = split(data.source_y, number)
    rng = np.random.default_rng([seed, 7])
    trained_on = rows[choose_holdout(data.source_y[rows], settings.n_train, rng)]
    part = choose_holdout(said.holdout_y, settings.n_holdout, rng)
    holdout = data.source_X[held[part]], data.source_y[held[part]]
    stream = list(
        sample_stream(
            said.target_proba,
            said.target_y,
            SHIFTS[shift],
            n_rounds=settings.n_rounds,
            batch_size=settings.batch_size,
            features=data.target_X,
            rng=rng,
        )
    )
    alone = adapter().fit(np.asarray(softmax(said.holdout_logits[part].astype(np.float64), axis=1)), holdout[1])
    found = {WITHOUT: _evaluated(alone, stream)}
    fitted_to = data.source_X[trained_on], data.source_y[trained_on]
    for loss in (ONCE, *losses):
        updates = OnlineFeatureUpdates(
            model._network(),
            adapter(),
            every=settings.every,
            loss="rotation" if loss == "rotation" else "entropy",
            step_size=settings.step_size,
            steps=0 if loss == ONCE else settings.steps,
            c=settings.c,
        )
        found[loss] = _evaluated(updates.fit(*holdout, train=fitted_to), stream)
    return found


def _evaluated(method: Any, stream: list[Batch]) -> Outcome:
    began = time.perf_counter()
    error = 100 * evaluate(method, stream).error_rate
    return Outcome(error, time.perf_counter() - began)


def table(found: dict[str, list[dict[str, Outcome]]]) -> Table:
    """Errors, gains over the same tracker without updates with standard errors, and times, by shift and method."""
    shown = Table("shift", "updates", "error %", "gain", "two standard errors", "seconds a run", "printed gain")
    for shift, runs in found.items():
        base = _errors(runs, WITHOUT)
        for method in runs[0]:
            errors = _errors(runs, method)
            gaps = base - errors
            seconds = f"{np.mean([outcomes[method].seconds for outcomes in runs]):.0f}"
            printed = f"{np.subtract(*PRINTED[method]):.2f}" if shift == "sin" and method in PRINTED else ""
            gain = ("", "") if method == WITHOUT else (f"{gaps.mean():+.2f}", f"{2 * standard_error(gaps):.2f}")
            shown.add_row(shift, method, f"{errors.mean():.2f}", *gain, seconds, printed)
    return shown


def _errors(runs: list[dict[str, Outcome]], method: str) -> FloatArray:
    return np.array([outcomes[method].error for outcomes in runs])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and print the table."""
    parser = argparse.ArgumentParser(description="Online Feature Updates on CIFAR-10.")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--losses", nargs="+", choices=list(PRINTED), default=list(PRINTED))
    defaults = Settings()
    parser.add_argument("--rounds", type=int, default=defaults.n_rounds)
    parser.add_argument("--train", type=int, default=defaults.n_train, help="labelled images to refit the layer on")
    parser.add_argument("--step-size", type=float, default=defaults.step_size)
    parser.add_argument("--steps", type=int, default=defaults.steps)
    options = parser.parse_args(arguments)
    settings = defaults._replace(
        n_rounds=options.rounds, n_train=options.train, step_size=options.step_size, steps=options.steps
    )
    console = Console(width=130, highlight=False)
    found: dict[str, list[dict[str, Outcome]]] = {shift: [] for shift in SHIFTS}
    for seed, shift in itertools.product(range(options.seeds), SHIFTS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HoldoutWarning)  # a small holdout, as each update goes over all of it
            found[shift].append(run(shift, seed, options.losses, settings))
        console.print(shift, seed, {method: round(outcome.error, 2) for method, outcome in found[shift][-1].items()})
    console.print(table(found))


if __name__ == "__main__":
    main()
