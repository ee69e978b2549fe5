"""How often `AssumptionCheck` is wrong, and how soon it is right: ``python -m baserate.bench.trust.assumption``.

Every run has a holdout of its own, drawn from a pool of labelled outputs; the stream is drawn from the rest. The tables
go to a folder as Markdown, and the delays as a figure too.
"""

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.bench.trust._violations import Violation, disturbed, moved, pool, unseen
from baserate.bench.trust.assumption_figure import quantile, save_delays
from baserate.models import outputs
from baserate.protocols import FloatArray, IntArray, Shift
from baserate.shifts import Bernoulli, Constant, Monotone, RandomWalk, Sinusoidal, Square
from baserate.trackers import LikelihoodMixture
from baserate.trust import AssumptionCheck

HOLDOUT, BATCH = 2000, 10
SHIFTS: tuple[Shift, ...] = (Monotone(), Square(), Sinusoidal(), Bernoulli(), Constant(), RandomWalk())
OUTPUTS = (("mnist", "mlp"), ("fashion", "mlp"), ("synthetic", "linear"))
LONGEST = 1000
"""Rounds of a stream that is not label shift."""
_SOON = 300
_LEFT_OUT = "logistic"  # much like the others, and a figure has room for few lines
_UNSEEN = (9, 5, 1, 8, 3)
_POINTS = (0.5, 1.0, 2.0, 5.0, 10.0)
_SHARES = (1.0, 2.0, 5.0, 11.1, 20.0)
_MOVES = (0.1, 0.25, 0.5, 1.0, 2.0)


class Run(NamedTuple):
    """One stream: the round of the alarm, infinite if there was none, and what the check had to say."""

    since: float
    finding: str


def draw(by_class: list[IntArray], path: FloatArray, rng: np.random.Generator) -> IntArray:
    """Rows of a stream of batches, (T * BATCH,), with the classes of each round drawn from the path."""
    sums = np.cumsum(path, axis=1)
    labels = np.minimum(
        (rng.random((len(path), BATCH, 1)) > sums[:, np.newaxis]).sum(axis=2), path.shape[1] - 1
    ).ravel()
    rows = np.empty(len(labels), dtype=np.int64)
    for c, members in enumerate(by_class):
        rows[labels == c] = rng.choice(members, size=int((labels == c).sum()))
    return rows


def watch(check: AssumptionCheck, proba: FloatArray) -> Run:
    """Feed a stream until the first alarm."""
    for t in range(0, len(proba), BATCH):
        check.update(proba[t : t + BATCH])
        if check.since_ is not None:
            return Run(float(check.since_), str(check.explain()[0]))
    return Run(np.inf, "")


def false_alarms(
    proba: FloatArray, y: IntArray, shift: Shift, n_rounds: int, seeds: Iterable[int], *, calibrated: bool = False
) -> list[Run]:
    """Streams under label shift; of probabilities as they are, or calibrated on the holdout that is compared with."""
    k, found = proba.shape[1], []
    for seed in seeds:
        rng = np.random.default_rng([seed, 1])
        order = rng.permutation(len(y))
        held, rest = order[:HOLDOUT], order[HOLDOUT:]
        rows = draw([rest[y[rest] == c] for c in range(k)], shift.path(n_rounds, k, rng), rng)
        seen = proba
        if calibrated:
            seen = RegressAndReweight(LikelihoodMixture(k)).fit(proba[held], y[held]).calibrate(proba)
        found.append(watch(AssumptionCheck().fit(seen[held], y[held]), seen[rows]))
    return found


def true_alarms(found: Violation, seeds: Iterable[int], n_rounds: int = LONGEST) -> list[Run]:
    """Streams with a violation from the first round on."""
    before, after, y = found.before, found.after, found.y
    runs = []
    for seed in seeds:
        rng = np.random.default_rng([seed, 2])
        order = rng.permutation(len(y))
        known = y[order] < before.shape[1]
        held = order[known][:HOLDOUT]
        rest = np.concatenate([order[known][HOLDOUT:], order[~known]])
        rows = draw([rest[y[rest] == c] for c in range(len(found.mix))], np.tile(found.mix, (n_rounds, 1)), rng)
        runs.append(watch(AssumptionCheck().fit(before[held], y[held]), after[rows]))
    return runs


def false_table(n_runs: int, n_rounds: int, *, calibrated: bool) -> Iterator[list[object]]:
    """Rows of the table of false alarms."""
    yield ["outputs", "shift", f"false alarms in {n_runs} runs of {n_rounds:,} rounds"]
    for name, model in OUTPUTS[:1] if calibrated else OUTPUTS:
        found = outputs(name, model)
        proba = np.concatenate([found.holdout_proba, found.target_proba]).astype(np.float64)
        y = np.concatenate([found.holdout_y, found.target_y])
        for shift in SHIFTS:
            runs = false_alarms(proba, y, shift, n_rounds, range(n_runs), calibrated=calibrated)
            yield [f"{name} {model}", type(shift).__name__, sum(np.isfinite(run.since) for run in runs)]


def violations(kinds: Iterable[str]) -> Iterator[tuple[str, str, str, Violation]]:
    """Kind, model, details, and the violation; of these kinds of models."""
    for name in ("mnist", "fashion"):
        for kind in kinds:
            whole = pool(name, kind)
            for how in ("noise", "blur"):
                for found in disturbed(whole, how, _POINTS):
                    yield f"{how}: points of accuracy lost", f"{name} {kind}", "", found
            for without in _UNSEEN:
                for found in unseen(pool(name, kind, without), _SHARES):
                    yield "unseen class: % of the stream", f"{name} {kind}", f"class {without}", found
    for found in moved(_MOVES):
        yield "class 0's own logit: standard deviations", "synthetic linear", "", found


def true_table(n_runs: int, kinds: Iterable[str], folder: Path) -> Iterator[list[object]]:
    """Rows of the table of true alarms; at the end the figure, of all models but the logistic ones."""
    delays: dict[str, dict[str, dict[float, list[float]]]] = {}
    soon = f"alarms within {_SOON} rounds"
    yield ["model", "violation", "size", soon, f"within {LONGEST:,}", "median round", "90 % by round", "first finding"]
    for kind, model, details, found in violations(kinds):
        runs = true_alarms(found, range(n_runs))
        rounds = [run.since for run in runs]
        if not model.endswith(_LEFT_OUT):
            delays.setdefault(kind, {}).setdefault(model.split()[0], {}).setdefault(found.size, []).extend(rounds)
        ends = [f"{delay:.0f}" if np.isfinite(delay := quantile(rounds, share)) else "none" for share in (0.5, 0.9)]
        within = [f"{sum(since <= limit for since in rounds)} of {n_runs}" for limit in (_SOON, LONGEST)]
        said = next((run.finding for run in runs if run.finding), "")
        yield [model, f"{kind} {details}".strip(), f"{found.size:g}", *within, *ends, said]
    save_delays(delays, folder / "assumption_delays.svg", LONGEST)


def write(path: Path, rows: Iterator[list[object]]) -> None:
    """Write a table of Markdown line by line, as rows come."""
    with path.open("w", encoding="utf-8") as file:
        for i, row in enumerate(rows):
            file.write("| " + " | ".join(str(cell) for cell in row) + " |\n")
            file.write("|" + " --- |" * len(row) + "\n" if i == 0 else "")
            file.flush()


def main() -> None:
    """Write the tables and the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=("false", "calibrated", "true", "all"), default="all")
    parser.add_argument("--runs", type=int, default=200, help="streams under label shift")
    parser.add_argument("--rounds", type=int, default=5000, help="rounds of each")
    parser.add_argument("--violated", type=int, default=20, help="streams of each violation")
    parser.add_argument("--models", nargs="+", choices=("logistic", "mlp"), default=("logistic", "mlp"))
    parser.add_argument("--out", type=Path, required=True, help="folder for the tables and the figure")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for part in ("false", "calibrated"):
        if given.part in (part, "all"):
            rows = false_table(given.runs, given.rounds, calibrated=part == "calibrated")
            write(given.out / f"assumption_{part}.md", rows)
    if given.part in ("true", "all"):
        write(given.out / "assumption_true.md", true_table(given.violated, given.models, given.out))


if __name__ == "__main__":
    main()
