"""Comparison of the default adapter with no adaptation at all: ``python -m baserate_lab.bench.trust.never_worse``.

The streams are simulated shifts on the outputs of many models, and real streams in their own order, in which p(x|y)
changes too. Of a real stream the first `LONGEST` rows are used; for Employment these all lie in 2016. Every seed has
its own holdout. Two adapters are measured: the default one, and the same with ``gate=False``.
"""

import argparse
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.protocols import UNLABELLED, FloatArray, IntArray, Shift
from baserate.shifts import Bernoulli, Constant, Monotone, Sinusoidal, Square, sample_stream
from baserate_lab.bench.tables import to_markdown
from baserate_lab.bench.trust._draws import MODELS
from baserate_lab.models import outputs

_HAPT = {
    "HAPT": ("hapt", "mlp"),
    "HAPT, linear": ("hapt", "linear"),
    "HAPT, forest": ("hapt", "forest"),
}
SIMULATED = {
    **MODELS,
    "MNIST, forest": ("mnist", "forest"),
    "Fashion": ("fashion", "mlp"),
    **_HAPT,
    "Crop": ("crop", "mlp"),
    "Crop, forest": ("crop", "forest"),
    "Newsgroups": ("newsgroups", "tfidf"),
}
REAL = {
    **_HAPT,
    "arXiv, sentences": ("arxiv", "minilm"),
    "arXiv, words": ("arxiv", "tfidf"),
    "SpamAssassin": ("spam_assassin", "tfidf"),
    "Reuters": ("reuters", "tfidf"),
    "Elec2": ("elec2", "logistic"),
    "Elec2, forest": ("elec2", "forest"),
    "Weather": ("weather", "logistic"),
    "Weather, forest": ("weather", "forest"),
    "Occupancy": ("occupancy", "logistic"),
    "Occupancy, forest": ("occupancy", "forest"),
    "Covertype": ("covertype", "logistic"),
    "Covertype, forest": ("covertype", "forest"),
    "Employment": ("employment", "logistic"),
    "Employment, forest": ("employment", "forest"),
}
SHIFTS: dict[str, type[Monotone | Square | Sinusoidal | Bernoulli]] = {
    "Monotone": Monotone,
    "Square": Square,
    "Sinusoidal": Sinusoidal,
    "Bernoulli": Bernoulli,
}
STILL, ORDER = "none", "real order"
ROUNDS, BATCH = 1000, 10
LONGEST = 60_000  # rows of a real stream: Covertype has ten times as many, Employment three times
ALLOWED = 0.2  # points
_GAIN = 0.5  # least ungated gain, in points, for which the share kept by the gate is computed


class NeverWorseRow(NamedTuple):
    """Errors in %; standard errors of gated minus base in points (over rounds, holdouts); mean weight of the gate."""

    model: str
    shift: str
    holdout: int
    base: float
    ungated: float
    gated: float
    error: float
    weight: float

    @property
    def worse(self) -> bool:
        """True if worse than allowed by more than two standard errors."""
        return self.gated - self.base - ALLOWED > 2.0 * self.error


def holdout_rows(y: IntArray, size: int, n_classes: int, rng: np.random.Generator) -> IntArray:
    """Rows of a random holdout with at least one sample of each class; all rows if there are no more than `size`."""
    if size >= len(y):
        return np.arange(len(y))
    shuffled = rng.permutation(len(y))
    first = np.array([shuffled[np.flatnonzero(y[shuffled] == c)[0]] for c in range(n_classes)])
    return np.concatenate([first, shuffled[~np.isin(shuffled, first)][: size - n_classes]])


def play_stream(
    model: tuple[str, str], shift: str, size: int, seed: int, labelled: float
) -> tuple[FloatArray, FloatArray, int]:
    """Errors of base, ungated and gated per sample, (3, n); the gate's weight in each round; size of the holdout."""
    found = outputs(*model, progress=False)
    k = found.holdout_proba.shape[1]
    rng = np.random.default_rng([seed, size])
    held = holdout_rows(found.holdout_y, size, k, rng)
    proba, y = found.holdout_proba[held], found.holdout_y[held]
    ungated, gated = RegressAndReweight(gate=False).fit(proba, y), RegressAndReweight().fit(proba, y)
    rows = np.arange(min(len(found.target_y), LONGEST))
    if shift != ORDER:
        still = np.bincount(found.holdout_y, minlength=k) / len(found.holdout_y)
        moves: Shift = Constant(still) if shift == STILL else SHIFTS[shift]()
        stream = sample_stream(found.target_proba, found.target_y, moves, n_rounds=ROUNDS, batch_size=BATCH, rng=rng)
        rows = np.concatenate([batch.rows for batch in stream])
    raw, labels = found.target_proba[rows], found.target_y[rows]
    starts = np.append(np.arange(0, len(rows), BATCH), len(rows))
    told = np.where(rng.random(len(rows)) < labelled, labels, UNLABELLED) if labelled else None
    wrong, weights = np.empty((3, len(rows))), np.empty(len(starts) - 1)
    wrong[0] = raw.argmax(axis=1) != labels
    for t in range(len(weights)):
        part = slice(starts[t], starts[t + 1])
        weights[t] = gated.correction_weight_
        for row, adapter in ((1, ungated), (2, gated)):
            step = adapter.step(raw[part], None if told is None else told[part])
            wrong[row, part] = step.labels != labels[part]
    return wrong, weights, len(held)


def compare_with_base(
    name: str, model: tuple[str, str], shift: str, size: int, seeds: range, labelled: float = 0.0
) -> NeverWorseRow:
    """One row of the table, over some seeds."""
    errors, differences, weights, used = [], [], [], size
    for seed in seeds:
        wrong, weight, used = play_stream(model, shift, size, seed, labelled)
        errors.append(wrong.mean(axis=1))
        whole = wrong.shape[1] // BATCH * BATCH
        differences.append((wrong[2] - wrong[0])[:whole].reshape(-1, BATCH).mean(axis=1))
        weights.append(weight.mean())
    # A real stream is the same for all seeds; at most its rounds are independent.
    rounds = np.mean(differences, axis=0) if shift == ORDER else np.concatenate(differences)
    base, ungated, gated = 100.0 * np.mean(errors, axis=0)
    of_seeds = np.var([part.mean() for part in differences], ddof=1) / len(seeds) if len(seeds) > 1 else 0.0
    error = 100.0 * float(np.sqrt(rounds.var() / len(rounds) + of_seeds))
    return NeverWorseRow(name, shift, used, base, ungated, gated, error, float(np.mean(weights)))


def table(rows: Sequence[NeverWorseRow]) -> str:
    """Rows as a Markdown table."""
    head = ["model", "shift", "holdout", "base %", "ungated %", "gated %", "gated - base", "standard error"]
    cells = [
        [
            r.model,
            r.shift,
            f"{r.holdout:,}",
            *(f"{error:.2f}" for error in (r.base, r.ungated, r.gated)),
            f"{r.gated - r.base:+.2f}",
            f"{r.error:.2f}",
            f"{r.weight:.2f}",
            "worse" if r.worse else "",
        ]
        for r in rows
    ]
    return to_markdown([*head, "mean weight", ""], cells, text=(0, 1, 9))


def summary(rows: Sequence[NeverWorseRow]) -> str:
    """Sentences on how many cells are worse, and how much of the gain the gate keeps."""
    gains = np.array([(r.base - r.ungated, r.base - r.gated) for r in rows])
    parts = [
        f"{sum(r.worse for r in rows)} of {len(rows)} cells are more than {ALLOWED} points worse than the base by more "
        f"than two standard errors; the largest loss is {-gains[:, 1].min():.2f} points gated, {-gains[:, 0].min():.2f}"
        " ungated."
    ]
    for what, chosen in (
        ("simulated shifts", np.array([r.shift != ORDER for r in rows])),
        ("all cells", np.full(len(rows), True)),
    ):
        asked = chosen & (gains[:, 0] > _GAIN)
        if asked.any():
            kept = gains[asked, 1] / gains[asked, 0]
            parts.append(
                f"Of {what} where the ungated gain is above {_GAIN} points ({asked.sum()}), the gate keeps "
                f"{100 * kept.mean():.1f} % of it on average, at least {100 * kept.min():.1f} %, and "
                f"{100 * gains[asked, 1].sum() / gains[asked, 0].sum():.1f} % of the sum."
            )
    return "\n".join(parts)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="*", default=list(SIMULATED), choices=list(SIMULATED))
    parser.add_argument("--streams", nargs="*", default=list(REAL), choices=list(REAL))
    parser.add_argument("--holdouts", nargs="+", type=int, default=[200, 1000])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--labels", type=float, default=0.0, help="share of samples whose labels are given")
    asked = parser.parse_args()
    cells = [(name, REAL[name], ORDER) for name in asked.streams]
    cells += [(name, SIMULATED[name], shift) for name in asked.models for shift in (*SHIFTS, STILL)]
    seeds = range(asked.first_seed, asked.first_seed + asked.seeds)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for size in asked.holdouts:
            rows += [compare_with_base(*cell, size, seeds, asked.labels) for cell in cells]
    print(f"{table(rows)}\n\n{summary(rows)}")  # noqa: T201


if __name__ == "__main__":
    main()
