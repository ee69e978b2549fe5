"""False alarms and delays of `AssumptionCheck`: ``python -m baserate_lab.bench.trust.assumption``.

Every run draws its own holdout from a pool of labelled outputs, and its stream from the rest. The check is updated as
by the default adapter, so alarms come in the same rounds as for a user. The tables are written to a folder as
Markdown, and the delays also as a figure.
"""

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.protocols import FloatArray, IntArray, Shift
from baserate.shifts import Adversary, Bernoulli, Constant, Monotone, RandomWalk, Sinusoidal, Square
from baserate.trackers import LikelihoodMixture
from baserate.trust import AssumptionCheck
from baserate.trust.monitor import COLLECTED
from baserate_lab.bench.tables import to_markdown
from baserate_lab.bench.trust._violations import (
    Violation,
    all_moved,
    blur,
    costing,
    gaussian_pool,
    image_pool,
    noise,
    one_moved,
    onto,
    unseen,
)
from baserate_lab.bench.trust.assumption_figure import save_delays
from baserate_lab.bench.trust.assumption_tables import (
    LONGEST,
    SOON,
    Case,
    CheckedStream,
    delays,
    summary_table,
    true_table,
)
from baserate_lab.models import outputs

HOLDOUT, BATCH = 2000, 10
ROUNDS_COLLECTED = -(-COLLECTED // BATCH)
"""Rounds that an adapter collects before it updates the check."""
SHIFTS: tuple[Shift, ...] = (Monotone(), Square(), Sinusoidal(), Bernoulli(), Constant(), RandomWalk(), Adversary())
OUTPUTS = (("mnist", "mlp"), ("fashion", "mlp"), ("synthetic", "linear"))
_UNSEEN = (9, 5, 1, 8, 3)
_POINTS = (0.5, 1.0, 2.0, 5.0, 10.0)
_SHARES = (1.0, 2.0, 5.0, 11.1, 20.0)
_DIRECTIONS = (0, 1, 2)
_WAYS = ((0, 1), (1, 2), (2, 0))


def draw_rows(by_class: list[IntArray], path: FloatArray, rng: np.random.Generator) -> IntArray:
    """Rows of a stream, (T * BATCH,); the classes of each round are drawn from the path."""
    sums = np.cumsum(path, axis=1)
    labels = np.minimum(
        (rng.random((len(path), BATCH, 1)) > sums[:, np.newaxis]).sum(axis=2), path.shape[1] - 1
    ).ravel()
    rows = np.empty(len(labels), dtype=np.int64)
    for c, members in enumerate(by_class):
        rows[labels == c] = rng.choice(members, size=int((labels == c).sum()))
    return rows


def run_check(check: AssumptionCheck, proba: FloatArray) -> CheckedStream:
    """Update a check until the first alarm, in blocks of rounds like an adapter; ignores an incomplete last block."""
    block = ROUNDS_COLLECTED * BATCH
    for start in range(0, len(proba) - block + 1, block):
        check.take_in(proba[start : start + block], ROUNDS_COLLECTED)
        if check.since_ is not None:
            return CheckedStream(float(check.since_), str(check.explain()[0]))
    return CheckedStream(np.inf, "")


def false_alarms(
    proba: FloatArray, y: IntArray, shift: Shift, n_rounds: int, seeds: Iterable[int], *, calibrated: bool = False
) -> list[CheckedStream]:
    """Alarms on streams under label shift, for raw probabilities or probabilities calibrated on the same holdout."""
    k, found = proba.shape[1], []
    for seed in seeds:
        rng = np.random.default_rng([seed, 1])
        order = rng.permutation(len(y))
        held, rest = order[:HOLDOUT], order[HOLDOUT:]
        rows = draw_rows([rest[y[rest] == c] for c in range(k)], shift.path(n_rounds, k, rng), rng)
        seen = proba
        if calibrated:
            seen = RegressAndReweight(LikelihoodMixture(k)).fit(proba[held], y[held]).calibrate(proba)
        found.append(run_check(AssumptionCheck().fit(seen[held], y[held]), seen[rows]))
    return found


def violated(found: Violation, seed: int, n_rounds: int) -> tuple[IntArray, IntArray]:
    """Rows of a holdout, and of a stream that violates label shift from the first round on."""
    rng = np.random.default_rng([seed, 2])
    order = rng.permutation(len(found.y))
    known = found.y[order] < found.before.shape[1]
    held = order[known][:HOLDOUT]
    rest = np.concatenate([order[known][HOLDOUT:], order[~known]])
    by_class = [rest[found.y[rest] == c] for c in range(len(found.mix))]
    return held, draw_rows(by_class, np.tile(found.mix, (n_rounds, 1)), rng)


def true_alarms(found: Violation, seeds: Iterable[int], n_rounds: int = LONGEST) -> list[CheckedStream]:
    """Runs on streams that violate label shift."""
    runs = []
    for seed in seeds:
        held, rows = violated(found, seed, n_rounds)
        runs.append(run_check(AssumptionCheck().fit(found.before[held], found.y[held]), found.after[rows]))
    return runs


def false_table(n_runs: int, n_rounds: int, *, calibrated: bool) -> str:
    """Table of false alarms."""
    rows = []
    for name, model in OUTPUTS[:1] if calibrated else OUTPUTS:
        found = outputs(name, model)
        proba = np.concatenate([found.holdout_proba, found.target_proba]).astype(np.float64)
        y = np.concatenate([found.holdout_y, found.target_y])
        for shift in SHIFTS:
            runs = false_alarms(proba, y, shift, n_rounds, range(n_runs), calibrated=calibrated)
            alarms = sum(np.isfinite(run.since) for run in runs)
            rows.append([f"{name} {model}", type(shift).__name__, str(alarms)])
    return to_markdown(["outputs", "shift", f"false alarms in {n_runs} runs of {n_rounds:,} rounds"], rows, text=(0, 1))


def violations(kinds: Iterable[str]) -> Iterator[tuple[str, str, str, Violation]]:
    """Kind, model, details and violation of each case; `kinds` are the kinds of image models."""
    lost = "points of accuracy lost"
    for name in ("mnist", "fashion"):
        for kind in kinds:
            whole = image_pool(name, kind)
            for how, change in (("noise", noise), ("blur", blur)):
                for found in costing(whole, change, _POINTS):
                    yield f"{how}: {lost}", f"{name} {kind}", "", found
            for without in _UNSEEN:
                for found in unseen(image_pool(name, kind, without), _SHARES):
                    yield "unseen class: % of the stream", f"{name} {kind}", f"class {without}", found
    classes = gaussian_pool()
    for seed in _DIRECTIONS:
        for found in costing(classes, all_moved(classes, seed), _POINTS):
            yield f"all means moved: {lost}", "synthetic linear", f"direction {seed}", found
    for label, towards in _WAYS:
        for found in costing(classes, one_moved(classes, label, towards), _POINTS):
            yield f"one mean moved: {lost}", "synthetic linear", f"class {label} towards {towards}", found
    yield f"one mean moved onto another: {lost}", "synthetic linear", "class 0 onto 1", onto(classes, 0, 1)


def cases(n_runs: int, kinds: Iterable[str]) -> Iterator[Case]:
    """All violations, each with `n_runs` runs."""
    for kind, model, details, found in violations(kinds):
        yield Case(kind, model, details, found.size, true_alarms(found, range(n_runs)))


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
            table = false_table(given.runs, given.rounds, calibrated=part == "calibrated")
            (given.out / f"assumption_{part}.md").write_text(table + "\n", encoding="utf-8")
    if given.part in ("true", "all"):
        found = list(cases(given.violated, given.models))
        (given.out / "assumption_summary.md").write_text(summary_table(found) + "\n", encoding="utf-8")
        (given.out / "assumption_true.md").write_text(true_table(found) + "\n", encoding="utf-8")
        save_delays(delays(found), given.out / "assumption_delays.svg", LONGEST, SOON)


if __name__ == "__main__":
    main()
