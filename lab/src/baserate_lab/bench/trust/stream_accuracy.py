"""`estimated_accuracy` without labels on real streams: ``python -m baserate_lab.bench.trust.stream_accuracy``.

Streams in their own order, in which p(x|y) changes, too. Every 1,000 rows, the limits are compared with the share of
right predictions among the last 5,000, and `accuracy_in_doubt_` is read. A window counts as answered for if its limits
cover, or if there is a doubt.
"""

import argparse
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.protocols import FloatArray, IntArray
from baserate.trust.health import HoldoutWarning
from baserate_lab.bench.tables import to_markdown
from baserate_lab.bench.trust.accuracy import WINDOW
from baserate_lab.bench.trust.never_worse import LONGEST, REAL, holdout_rows
from baserate_lab.models import outputs

LEVEL, _LOOK, _BATCH = 0.9, 1_000, 50


class Looked(NamedTuple):
    """A window of a stream: its true accuracy, the estimate and its limits, and why it is in doubt."""

    truth: float
    value: float
    low: float
    high: float
    doubt: str

    @property
    def covers(self) -> bool:
        """True if the true accuracy is within the limits."""
        return self.low <= self.truth <= self.high


def looks(adapter: RegressAndReweight, proba: FloatArray, y: IntArray) -> list[Looked]:
    """Play a stream, and look at each window; a stream that is shorter than a window has one, all of it."""
    found, right = [], np.empty(len(y), dtype=bool)
    for start in range(0, len(y), _BATCH):
        part = slice(start, start + _BATCH)
        right[part] = adapter.step(proba[part]).labels == y[part]
        end = min(start + _BATCH, len(y))
        if (end >= WINDOW and end % _LOOK == 0) or (end == len(y) < WINDOW):
            truth = float(right[max(end - WINDOW, 0) : end].mean())
            found.append(Looked(truth, *adapter.estimated_accuracy(LEVEL), adapter.accuracy_in_doubt_))
    return found


def play(name: str, size: int, seed: int) -> list[Looked]:
    """Look at the windows of a real stream, with a holdout of its own for each seed."""
    both = outputs(*REAL[name], progress=False)
    held = holdout_rows(both.holdout_y, size, both.holdout_proba.shape[1], np.random.default_rng([seed, size, 11]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HoldoutWarning)
        adapter = RegressAndReweight().fit(both.holdout_proba[held], both.holdout_y[held])
    return looks(adapter, both.target_proba[:LONGEST], both.target_y[:LONGEST])


def _cells(windows: Sequence[Looked]) -> list[str]:
    calm = [window for window in windows if not window.doubt]
    answered = np.mean([window.covers or bool(window.doubt) for window in windows])
    errors = [abs(window.value - window.truth) for window in windows]
    return [
        f"{len(windows):,}",
        f"{100 * np.mean([window.truth for window in windows]):.1f}",
        f"{100 * np.mean(errors):.1f}",
        f"{100 * (1 - len(calm) / len(windows)):.0f}",
        f"{100 * np.mean([window.covers for window in windows]):.0f}",
        f"{100 * answered:.0f}",
        f"{100 * np.mean([window.covers for window in calm]):.0f}" if calm else "",
        f"{100 * np.median([window.high - window.low for window in calm]):.1f}" if calm else "",
    ]


def table(found: dict[tuple[str, int], list[Looked]]) -> str:
    """Windows of each stream and holdout as a Markdown table, and of all of them."""
    head = ["stream", "holdout", "windows", "accuracy %", "mean error, points", "in doubt %", "covers %"]
    rows = [[name, f"{size:,}", *_cells(windows)] for (name, size), windows in found.items()]
    for size in dict.fromkeys(size for _, size in found):
        rows.append(
            ["all", f"{size:,}", *_cells([w for (_, of), windows in found.items() if of == size for w in windows])]
        )
    more = ["covers, or in doubt %", "covers where not in doubt %", "median width where not in doubt, points"]
    return to_markdown([*head, *more], rows, text=(0,))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", nargs="*", default=list(REAL), choices=list(REAL))
    parser.add_argument("--holdouts", nargs="+", type=int, default=[1000])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    asked = parser.parse_args()
    seeds = range(asked.first_seed, asked.first_seed + asked.seeds)
    cells = [(name, size) for size in asked.holdouts for name in asked.streams]
    print(table({cell: [window for seed in seeds for window in play(*cell, seed)] for cell in cells}))  # noqa: T201


if __name__ == "__main__":
    main()
