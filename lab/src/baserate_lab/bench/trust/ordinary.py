"""Alarms in ordinary situations: ``python -m baserate_lab.bench.trust.ordinary --first-seed 1000``.

Weak models, rare classes, copied rows, rounded outputs, the holdout played back; streams under label shift, noise that
costs five points of accuracy, a class of 10 % that the model does not know, and real streams in their own order. A
class is made unknown by leaving out its column. Streams have 5,000 rows, which are looked at 256 at a time, as by the
adapter. The check was designed on seeds below 100.
"""

import argparse
import zlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from baserate.protocols import FloatArray, IntArray
from baserate.shifts import Bernoulli, Constant, Monotone, Sinusoidal
from baserate.trust import AssumptionCheck, UnknownMass
from baserate.trust.copied_rows import distinct_rows
from baserate.trust.monitor import COLLECTED
from baserate_lab.bench.efficiency.score_models import ScoreModel
from baserate_lab.bench.tables import to_markdown
from baserate_lab.bench.trust.never_worse import REAL, SIMULATED, holdout_rows
from baserate_lab.models import outputs

ROWS, BATCH = 5000, 10
POINTS, UNKNOWN = 0.05, 0.1
TWO = {"AUC 0.8": (1.19, 0.3), "AUC 0.9": (1.81, 0.3), "AUC 0.9, 1 % positives": (1.81, 0.01)}
"""Two normal classes: their distance, and the share of the second in the holdout."""
IMAGES = ("MNIST", "MNIST, forest", "Fashion", "CIFAR-10", "HAPT", "Newsgroups", "arXiv, words")
_SHIFTS = (Monotone, Sinusoidal, Bernoulli, Constant)


class Play(NamedTuple):
    """A holdout and the outputs of a stream."""

    proba: FloatArray
    y: IntArray
    stream: FloatArray


def two_classes(name: str, kind: str, size: int, rng: np.random.Generator) -> Play:
    """A calibrated score of two classes; positives go from 1 to 8 %, or from 30 to 80 %, unless something else does."""
    distance, share = TWO[name]
    model = ScoreModel(np.array([[0.0], [distance]]), np.array([1.0 - share, share]))
    y = (rng.random(size) < share).astype(np.int64)
    y[:2] = 1
    now = share if kind in ("noise", "unknown") else 0.08 if share < 0.1 else 0.8
    labels = (rng.random(ROWS) < now).astype(np.int64)
    proba, stream = model.outputs(y, rng), model.outputs(labels, rng)
    if kind == "noise":
        logits = np.log(stream) + noise_level(np.log(stream), labels, rng)
        stream = softmax(logits, axis=1)
    if kind == "unknown":  # far from the others, on the side of the second
        odd = rng.random(ROWS) < UNKNOWN
        scores = 2.0 * distance + 0.5 * rng.standard_normal(int(odd.sum()))
        logits = np.outer(scores, model.centres[:, 0]) - 0.5 * model.centres[:, 0] ** 2 + np.log(model.source)
        stream[odd] = softmax(logits, axis=1)
    return Play(proba, y, stream)


def noise_level(logits: FloatArray, labels: IntArray, rng: np.random.Generator) -> FloatArray:
    """Noise on logits that costs five points of accuracy, or as much as it can."""
    noise, low, high = rng.standard_normal(logits.shape), 0.0, 20.0
    wanted = (logits.argmax(axis=1) == labels).mean() - POINTS
    for _ in range(20):
        middle = 0.5 * (low + high)
        good = ((logits + middle * noise).argmax(axis=1) == labels).mean() > wanted
        low, high = (middle, high) if good else (low, middle)
    return low * noise


def drawn(name: str, kind: str, size: int, rng: np.random.Generator) -> Play:
    """Holdout and stream out of a model's outputs, as if these were the population."""
    data, model = SIMULATED.get(name, REAL.get(name, ("", "")))
    found = outputs("arxiv-random" if data == "arxiv" else data, model, progress=False)  # not split by time
    proba = np.concatenate([found.holdout_proba, found.target_proba]).astype(np.float64)
    y, k = np.concatenate([found.holdout_y, found.target_y]), proba.shape[1]
    unknown = np.zeros((0, k))
    if kind == "unknown":
        left_out = int(rng.integers(k))
        kept = np.delete(proba, left_out, axis=1)
        kept /= kept.sum(axis=1, keepdims=True)
        unknown, proba = kept[y == left_out], kept[y != left_out]
        y, k = y[y != left_out] - (y[y != left_out] > left_out), k - 1
    order = rng.permutation(len(y))
    held = order[holdout_rows(y[order], min(size, len(y) // 2), k, rng)]
    free = np.setdiff1d(order, held)
    still = kind in ("noise", "unknown")
    shift = Constant(np.bincount(y, minlength=k) / len(y)) if still else _SHIFTS[int(rng.integers(len(_SHIFTS)))]()
    path = np.repeat(shift.path(ROWS // BATCH, k, rng), BATCH, axis=0)
    labels = np.minimum((rng.random((ROWS, 1)) > path.cumsum(axis=1)).sum(axis=1), k - 1)
    rows = np.empty(ROWS, dtype=np.int64)
    for c in range(k):
        members = free[y[free] == c]
        rows[labels == c] = rng.choice(members if len(members) else held[y[held] == c], int((labels == c).sum()))
    stream = proba[rows]
    if kind == "noise":
        logits = np.log(np.maximum(stream, 1e-6))
        stream = softmax(logits + noise_level(logits, labels, rng), axis=1)
    if kind == "unknown":
        odd = rng.random(ROWS) < UNKNOWN
        stream[odd] = unknown[rng.integers(len(unknown), size=int(odd.sum()))]
    return Play(proba[held], y[held], stream)


def real(name: str, size: int, rng: np.random.Generator) -> Play:
    """The beginning of a real stream in its own order."""
    found = outputs(*REAL[name], progress=False)
    held = holdout_rows(found.holdout_y, size, found.holdout_proba.shape[1], rng)
    proba = found.holdout_proba.astype(np.float64)
    return Play(proba[held], found.holdout_y[held], found.target_proba[:ROWS].astype(np.float64))


def _copied(play: Play, rows: IntArray) -> Play:
    return play._replace(proba=play.proba[rows], y=play.y[rows])


def _normalised(rows: FloatArray) -> FloatArray:
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


HABITS: dict[str, Callable[[Play, np.random.Generator], Play]] = {
    "as it is": lambda play, _: play,
    "4 decimals": lambda play, _: play._replace(stream=_normalised(np.round(play.stream, 4))),
    "2 decimals": lambda play, _: play._replace(stream=_normalised(np.round(play.stream, 2))),
    "3 decimals": lambda play, _: play._replace(stream=_normalised(np.round(play.stream, 3))),
    "float16": lambda play, _: play._replace(stream=play.stream.astype(np.float16).astype(np.float64)),
    "holdout played back": lambda play, _: play._replace(stream=np.tile(play.proba, (ROWS // len(play.y), 1))),
    "holdout drawn with replacement": lambda play, rng: _copied(play, rng.integers(len(play.y), size=len(play.y))),
    "rarest class copied 6 times": lambda play, _: _copied(
        play, np.append(np.arange(len(play.y)), np.repeat(np.flatnonzero(play.y == np.bincount(play.y).argmin()), 5))
    ),
}
"""Under label shift, what people do to their data."""


class Run(NamedTuple):
    """The row of the alarm (infinite without one), whether bets were in force, and the peak of the unknown mass."""

    since: float
    bets: bool
    unknown: float


def watch(play: Play) -> Run:
    """Show a stream to the check and to the search for unknown mass, as an adapter does."""
    rows = distinct_rows(play.proba, play.y).rows
    check = AssumptionCheck().fit(play.proba[rows], play.y[rows])
    mass = UnknownMass(window=500).fit(play.proba[rows], play.y[rows])
    since, peak = np.inf, 0.0
    for start in range(0, len(play.stream) - COLLECTED + 1, COLLECTED):
        part = np.ascontiguousarray(play.stream[start : start + COLLECTED])
        check.take_in(part, COLLECTED // BATCH)
        if check.alarm_ and np.isinf(since):
            since = float(start + COLLECTED)
        alike = check.comparable(part[::4] / part[::4].sum(axis=1, keepdims=True))
        if alike is not None:
            mass.update(alike)
        peak = max(peak, mass.mass_)
    return Run(since, check.bets_, peak)


def row(name: str, kind: str, size: int, seeds: range) -> list[str]:
    """One row of the table."""
    runs = []
    for seed in seeds:
        rng = np.random.default_rng([seed, size, zlib.crc32(f"{name} {kind}".encode())])
        if kind == "real order":
            runs.append(watch(real(name, size, rng)))
            continue
        play = two_classes(name, kind, size, rng) if name in TWO else drawn(name, kind, size, rng)
        runs.append(watch(HABITS[kind](play, rng) if kind in HABITS else play))
    since = np.array([run.since for run in runs])
    median = np.median(since)
    return [
        name,
        kind,
        f"{size:,}",
        f"{np.isfinite(since).sum()} of {len(runs)}",
        f"{median:,.0f}" if np.isfinite(median) else "",
        "yes" if all(run.bets for run in runs) else "in some" if any(run.bets for run in runs) else "no",
        f"{100 * np.mean([run.unknown < 0.03 for run in runs]):.0f}",
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="*", default=[*TWO, *IMAGES])
    parser.add_argument("--streams", nargs="*", default=list(REAL), choices=list(REAL))
    parser.add_argument("--kinds", nargs="*", default=["noise", "unknown", *HABITS])
    parser.add_argument("--holdouts", nargs="+", type=int, default=[1000])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    asked = parser.parse_args()
    seeds = range(asked.first_seed, asked.first_seed + asked.runs)
    cells = [(name, kind) for name in asked.models for kind in asked.kinds]
    cells += [(name, "real order") for name in asked.streams]
    rows = [row(*cell, size, seeds) for size in asked.holdouts for cell in cells]
    head = ["model", "stream", "holdout", f"alarms within {ROWS:,} rows", "median row of the alarm", "bets"]
    print(to_markdown([*head, "unknown mass below 3 %, % of runs"], rows, text=(0, 1, 5)))  # noqa: T201


if __name__ == "__main__":
    main()
