"""Coverage and size of prediction sets: ``python -m baserate_lab.bench.trust.sets``.

Streams and holdouts are drawn as in `never_worse`. Plain sets are those of split conformal prediction: the holdout as
it is, and the model's own probabilities. Every fourth round is looked at.
"""

import argparse
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.protocols import FloatArray, Shift
from baserate.shifts import Constant, sample_stream
from baserate.trust import HoldoutWarning
from baserate.trust.prediction_sets import least_probabilities, prediction_sets
from baserate_lab.bench.tables import to_markdown
from baserate_lab.bench.trust.never_worse import BATCH, ORDER, REAL, SHIFTS, SIMULATED, STILL, holdout_rows
from baserate_lab.models import outputs

LEVEL, ROUNDS, LONGEST, SIZE, EVERY = 0.9, 1_000, 12_000, 1_000, 4


class SetRow(NamedTuple):
    """Coverage in %, and mean size: plain sets, ours, and ours where they may be empty; % of rounds in alarm, in doubt.

    What is in doubt is counted where there is no alarm.
    """

    model: str
    shift: str
    plain: float
    plain_size: float
    ours: float
    size: float
    exact: float
    exact_size: float
    alarmed: float
    doubted: float


def run_sets(name: str, model: tuple[str, str], shift: str, seed: int) -> SetRow:
    """Predict the sets of each round before it is learned from; rounds in alarm are left out of the coverage."""
    found = outputs(*model, progress=False)
    k, rng = found.holdout_proba.shape[1], np.random.default_rng([seed, SIZE, 7])
    held = holdout_rows(found.holdout_y, SIZE, k, rng)
    proba, y = found.holdout_proba[held], found.holdout_y[held]
    rows = np.arange(min(len(found.target_y), LONGEST))
    if shift != ORDER:
        still = np.bincount(found.holdout_y, minlength=k) / len(found.holdout_y)
        moves: Shift = Constant(still) if shift == STILL else SHIFTS[shift]()
        stream = sample_stream(found.target_proba, found.target_y, moves, n_rounds=ROUNDS, batch_size=BATCH, rng=rng)
        rows = np.concatenate([batch.rows for batch in stream])
    raw, labels = found.target_proba[rows], found.target_y[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HoldoutWarning)
        adapter = RegressAndReweight().fit(proba, y)
    alike = np.bincount(y, minlength=k) / len(y)
    plain = prediction_sets(raw, least_probabilities(proba, y, alike[np.newaxis], LEVEL))
    sums: FloatArray = np.zeros(8)
    looked_at = 0
    for first in range(0, len(raw), BATCH):
        part = slice(first, first + BATCH)
        at, told = np.arange(len(raw[part])), labels[part]
        looks = first % (EVERY * BATCH) == 0
        looked_at += looks * len(at)
        if looks and adapter.assumption_alarm_:
            sums[6] += len(at)
        elif looks:
            sums[7] += len(at) * bool(adapter.accuracy_in_doubt_)
            ours = adapter.predict_set(raw[part], LEVEL)
            exact = adapter.predict_set(raw[part], LEVEL, allow_empty=True)
            for place, sets in enumerate((plain[part], ours, exact)):
                sums[2 * place] += sets[at, told].sum()
                sums[2 * place + 1] += sets.sum()
        adapter.step(raw[part])
    calm = looked_at - sums[6]
    means = sums[:6] / calm if calm > 0 else np.full(6, np.nan)
    shown = [100 * mean if i % 2 == 0 else mean for i, mean in enumerate(means)]
    return SetRow._make([name, shift, *shown, *(100 * sums[6:] / looked_at)])


def table(rows: Sequence[SetRow]) -> str:
    """Rows as a Markdown table: means over seeds, and the least and largest coverage of sets that may be empty."""
    head = [
        "model",
        "shift",
        "plain: covers %",
        "size",
        "ours: covers %",
        "size",
        "may be empty: covers %",
        "size",
        "in alarm %",
        "else in doubt %",
        "may be empty, by draw: covers %",
    ]
    cells = []
    for key in dict.fromkeys((row.model, row.shift) for row in rows):
        of_key = [row for row in rows if row[:2] == key]
        counted = [row for row in of_key if not np.isnan(row.exact)]
        means: FloatArray = np.mean([row[2:8] for row in counted] or np.zeros((1, 0)), axis=0)
        shares = np.mean([row[8:] for row in of_key], axis=0)
        exact = [row.exact for row in counted]
        cells.append(
            [*key, *(f"{m:.2f}" if i % 2 else f"{m:.1f}" for i, m in enumerate(means)), *([""] * (6 - len(means)))]
            + [f"{share:.0f}" for share in shares]
            + [f"{min(exact):.1f} to {max(exact):.1f}" if exact else ""]
        )
    return to_markdown(head, cells, text=(0, 1, 10))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2, metavar="N", help="holdouts of each stream")
    parser.add_argument("--first-seed", type=int, default=100, metavar="N")
    parser.add_argument("--models", nargs="*", default=[*SIMULATED], choices=[*SIMULATED], metavar="MODEL")
    parser.add_argument("--streams", nargs="*", default=[*REAL], choices=[*REAL], metavar="STREAM")
    options = parser.parse_args(arguments)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    cells = [(name, SIMULATED[name], shift) for name in options.models for shift in (*SHIFTS, STILL)]
    cells += [(name, REAL[name], ORDER) for name in options.streams]
    print(table([run_sets(*cell, seed) for cell in cells for seed in seeds]))  # noqa: T201


if __name__ == "__main__":
    main()
