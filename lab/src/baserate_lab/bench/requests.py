"""Labels that are asked for against labels at random: ``python -m baserate_lab.bench.requests``.

The first `LONGEST` rows of real streams in their own order, in rounds of 10. After every 20 rounds some of their rows
are labelled, and the labels are handed over by ids (`update_labels`). They are drawn at random, or asked for
(`label_requests`) at half of the number, and given with the probability of each. The bar: half of the labels asked for
are as good as all of them at random, on average over the streams. The same half at random is beside it. Every seed has
its own holdout and draws.
"""

import argparse
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.protocols import FloatArray
from baserate_lab.bench.labels import LONGEST
from baserate_lab.bench.tables import to_markdown
from baserate_lab.bench.trust.never_worse import BATCH, REAL, holdout_rows
from baserate_lab.models import outputs

BLOCK = 20
"""Rounds after which labels are handed over."""
ARMS = ("half at random", "all at random", "half asked for")


class RequestsRow(NamedTuple):
    """Errors in %, of the model alone and of each arm; standard error of asked for minus all at random, in points."""

    model: str
    labels: float
    base: float
    half_random: float
    random: float
    requested: float
    error: float

    @property
    def difference(self) -> float:
        """Error with half of the labels asked for minus that with all of them at random, in points."""
        return self.requested - self.random


def play(model: tuple[str, str], size: int, seed: int, labels: float) -> FloatArray:
    """Errors per sample, (4, n): of the model alone, and of the arms in their order; `labels` is the whole budget."""
    found = outputs(*model, progress=False)
    k = found.holdout_proba.shape[1]
    rng = np.random.default_rng([seed, size])
    held = holdout_rows(found.holdout_y, size, k, rng)
    n = min(len(found.target_y), LONGEST)
    raw, y = found.target_proba[:n], found.target_y[:n]
    wrong = np.empty((1 + len(ARMS), n))
    wrong[0] = raw.argmax(axis=1) != y
    for arm, name in enumerate(ARMS, 1):
        draws = np.random.default_rng([seed, size, arm])
        adapter = RegressAndReweight().fit(found.holdout_proba[held], found.holdout_y[held])
        share = labels if name == "all at random" else 0.5 * labels
        for begin in range(0, n, BLOCK * BATCH):
            end = min(begin + BLOCK * BATCH, n)
            for start in range(begin, end, BATCH):
                rows = np.arange(start, min(start + BATCH, end))
                wrong[arm, rows] = adapter.step(raw[rows], ids=rows.tolist()).labels != y[rows]
            wanted = share * (end - begin)
            number = int(wanted) + int(draws.random() < wanted % 1.0)  # the budget is kept on average
            if number == 0:
                continue
            chosen = None
            if name == "half asked for":
                asked = adapter.label_requests(raw[begin:end], number, draws)
                rows, chosen = begin + asked.indices, asked.probabilities
            else:
                rows = begin + draws.choice(end - begin, min(number, end - begin), replace=False)
            adapter.update_labels(rows.tolist(), y[rows], y_probability=chosen)
    return wrong


def compare(name: str, size: int, seeds: range, labels: float) -> RequestsRow:
    """One row of the table, over some seeds."""
    errors, differences = [], []
    for seed in seeds:
        wrong = play(REAL[name], size, seed, labels)
        errors.append(wrong.mean(axis=1))
        whole = wrong.shape[1] // BATCH * BATCH
        differences.append((wrong[3] - wrong[2])[:whole].reshape(-1, BATCH).mean(axis=1))
    # A real stream is the same for all seeds; at most its rounds are independent.
    rounds = np.mean(differences, axis=0)
    of_seeds = np.var([part.mean() for part in differences], ddof=1) / len(seeds) if len(seeds) > 1 else 0.0
    error = 100.0 * float(np.sqrt(rounds.var() / len(rounds) + of_seeds))
    base, half_random, random, requested = (100.0 * np.mean(errors, axis=0)).tolist()
    return RequestsRow(name, labels, base, half_random, random, requested, error)


def table(rows: Sequence[RequestsRow]) -> str:
    """Rows as a Markdown table."""
    head = ["model", "labels %", "base %", *(f"{arm} %" for arm in ARMS), "asked for - all at random", "standard error"]
    cells = [
        [
            r.model,
            f"{100 * r.labels:g}",
            *(f"{error:.2f}" for error in (r.base, r.half_random, r.random, r.requested)),
            f"{r.difference:+.2f}",
            f"{r.error:.2f}",
        ]
        for r in rows
    ]
    return to_markdown(head, cells)


def summary(rows: Sequence[RequestsRow]) -> str:
    """A sentence for each budget: the means over streams, and whether half of the labels were as good."""
    parts = []
    for labels in sorted({r.labels for r in rows}):
        chosen = [r for r in rows if r.labels == labels]
        means = [np.mean([getattr(r, name) for r in chosen]) for name in ("half_random", "random", "requested")]
        error = float(np.sqrt(np.sum([r.error**2 for r in chosen]))) / len(chosen)
        difference = means[2] - means[1]
        verdict = "as good" if difference <= 0.0 else "as good within two standard errors"
        parts.append(
            f"{100 * labels:g} % of labels, {len(chosen)} streams: mean error {means[0]:.2f} % with half at random, "
            f"{means[1]:.2f} % with all at random, {means[2]:.2f} % with half asked for; asked for minus all "
            f"{difference:+.2f} points (standard error {error:.2f}): "
            f"{verdict if difference <= 2.0 * error else 'not as good'}."
        )
    return "\n".join(parts)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", nargs="+", default=list(REAL), choices=list(REAL))
    parser.add_argument("--labels", nargs="+", type=float, default=[0.02, 0.1], help="budgets at random")
    parser.add_argument("--holdout", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    asked = parser.parse_args()
    seeds = range(asked.first_seed, asked.first_seed + asked.seeds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        rows = [compare(name, asked.holdout, seeds, labels) for labels in asked.labels for name in asked.streams]
    print(f"{table(rows)}\n\n{summary(rows)}")  # noqa: T201


if __name__ == "__main__":
    main()
