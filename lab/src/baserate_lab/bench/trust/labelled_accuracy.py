"""`estimated_accuracy` with few labels on real streams: ``python -m baserate_lab.bench.trust.labelled_accuracy``.

Streams in their own order, in which p(x|y) changes, too. Samples are chosen for labels at random. Every 500 samples,
once there are 20 labels, the limits are compared with the share of right predictions among the last 5,000. With
``--fewest 1 --most 19`` that is done while there are fewer, which count where label shift is in doubt.
"""

import argparse
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate_lab.bench.tables import to_markdown
from baserate_lab.bench.trust.accuracy import WINDOW
from baserate_lab.bench.trust.never_worse import REAL, holdout_rows
from baserate_lab.models import outputs

_LOOK, _BATCH, _HOLDOUT = 500, 50, 1000
ENOUGH = range(20, WINDOW + 1)


class LabelledRow(NamedTuple):
    """Coverage and width with labels, and of the same adapter's limits had it not been told any; errors in points.

    `spread` is the standard error of the coverage, over seeds.
    """

    stream: str
    labelled: float
    accuracy: float
    error: float
    coverage: float
    spread: float
    width: float
    coverage_without: float
    width_without: float


def looks(
    proba: FloatArray,
    y: IntArray,
    adapters: Sequence[RegressAndReweight],
    told: IntArray,
    level: float,
    n_labels: range = ENOUGH,
) -> list[list[float]]:
    """The true accuracy, and value and limits of each adapter's estimate; the first is given the labels.

    It is looked at while the number of labels in the window is one of `n_labels`.
    """
    found, right = [], [np.empty(len(y), dtype=bool) for _ in adapters]
    for start in range(0, len(y), _BATCH):
        part = slice(start, start + _BATCH)
        for i, adapter in enumerate(adapters):
            step = adapter.step(proba[part], told[part] if i == 0 else None)
            right[i][part] = step.proba.argmax(axis=1) == y[part]
        end = min(start + _BATCH, len(y))
        if end % _LOOK == 0 and int((told[max(end - WINDOW, 0) : end] != UNLABELLED).sum()) in n_labels:
            row: list[float] = []
            for i, adapter in enumerate(adapters):
                row += [float(right[i][max(end - WINDOW, 0) : end].mean()), *adapter.estimated_accuracy(level)]
            found.append(row)
    return found


def measure_labelled(
    name: str,
    model: tuple[str, str],
    labelled: float,
    seeds: range,
    *,
    longest: int = 20_000,
    level: float = 0.9,
    without: int = 3,
    n_labels: range = ENOUGH,
) -> LabelledRow:
    """One row of the table; each seed has its own holdout and its own choice of labels.

    The adapter without labels runs for the first `without` seeds.
    """
    found: list[list[list[float]]] = []
    both = outputs(*model, progress=False)
    for seed in seeds:
        k = both.holdout_proba.shape[1]
        rng = np.random.default_rng([seed, round(1000 * labelled)])
        held = holdout_rows(both.holdout_y, _HOLDOUT, k, rng)
        adapters = [
            RegressAndReweight().fit(both.holdout_proba[held], both.holdout_y[held])
            for _ in range(2 if seed < seeds[0] + without else 1)
        ]
        y = both.target_y[:longest]
        told = np.where(rng.random(len(y)) < labelled, y, UNLABELLED)
        found.append(looks(both.target_proba[:longest], y, adapters, told, level, n_labels))
    found = [each for each in found if each]
    truth, value, low, high = np.array([row[:4] for each in found for row in each]).T
    truth_without, _, low_without, high_without = np.array(
        [row[4:] for each in found for row in each if len(row) > 4]
    ).T
    by_seed = [np.mean([row[2] <= row[0] <= row[3] for row in each]) for each in found]
    return LabelledRow(
        name,
        labelled,
        100 * float(truth.mean()),
        100 * float(np.abs(value - truth).mean()),
        float(((low <= truth) & (truth <= high)).mean()),
        float(np.std(by_seed, ddof=1) / len(by_seed) ** 0.5) if len(by_seed) > 1 else float("nan"),
        100 * float(np.median(high - low)),
        float(((low_without <= truth_without) & (truth_without <= high_without)).mean()),
        100 * float(np.median(high_without - low_without)),
    )


def table(rows: Sequence[LabelledRow]) -> str:
    """Rows as a Markdown table."""
    head = ["stream", "labels %", "accuracy %", "mean error, points", "coverage %", "+-", "width, points"]
    cells = [
        [
            r.stream,
            f"{100 * r.labelled:g}",
            *(f"{number:.1f}" for number in (r.accuracy, r.error, 100 * r.coverage, 100 * r.spread, r.width)),
            *(f"{number:.1f}" for number in (100 * r.coverage_without, r.width_without)),
        ]
        for r in rows
    ]
    return to_markdown([*head, "coverage %, no labels", "width, no labels"], cells)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", nargs="*", default=list(REAL), choices=list(REAL))
    parser.add_argument("--labels", nargs="+", type=float, default=[0.02, 0.1])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--longest", type=int, default=20_000)
    parser.add_argument("--fewest", type=int, default=ENOUGH[0])
    parser.add_argument("--most", type=int, default=ENOUGH[-1])
    asked = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        rows = [
            measure_labelled(
                name,
                REAL[name],
                share,
                range(asked.first_seed, asked.first_seed + asked.seeds),
                longest=asked.longest,
                n_labels=range(asked.fewest, asked.most + 1),
            )
            for share in asked.labels
            for name in asked.streams
        ]
    print(table(rows))  # noqa: T201


if __name__ == "__main__":
    main()
