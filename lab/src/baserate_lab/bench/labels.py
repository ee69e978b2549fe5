"""The worth of a few labels on real streams: ``python -m baserate_lab.bench.labels``.

The seventeen real streams of `never_worse`, the first `LONGEST` rows of each in rounds of ten; a share of all labels,
drawn at random, comes at once or some rounds late, by id. *Hindsight* re-weights each round to the class mix of the
rounds around it: about what re-weighting could gain, and no limit, because labels repair the calibration, too. The
share of its gain that is kept is capped at one; streams are averaged within their data set.

With ``--simulated``: shifts of the class mix alone, and the share kept of what the correction gains without a gate.
"""

import argparse
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.backtesting.hindsight import hindsight
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.shifts import sample_stream
from baserate_lab.bench.tables import to_markdown
from baserate_lab.bench.trust.never_worse import ALLOWED, BATCH, REAL, ROUNDS, SHIFTS, SIMULATED, holdout_rows
from baserate_lab.models import outputs

LONGEST = 20_000  # rows of a real stream: all of them, except of Covertype, Employment and Elec2
GAIN = 0.5  # least gain of hindsight, or of the ungated correction, in points, for which a share is computed
FURTHEST = 1.0  # points by which no single run may be worse


class Run(NamedTuple):
    """One stream with one holdout: which samples were wrong, of the model alone, adapted, and of what could be."""

    base: FloatArray
    adapted: FloatArray
    best: FloatArray


class LabelsRow(NamedTuple):
    """Errors in %, means over seeds; the standard error of adapted minus base in points; the worst single run."""

    stream: str
    holdout: int
    base: float
    adapted: float
    best: float
    error: float
    worst: float

    @property
    def worse(self) -> bool:
        """True if worse than allowed by more than two standard errors, or one run by far."""
        return self.adapted - self.base - ALLOWED > 2.0 * self.error or self.worst > FURTHEST

    @property
    def kept(self) -> float:
        """The share of the gain that is kept, at most 1; NaN where there is little to gain."""
        gain = self.base - self.best
        return min((self.base - self.adapted) / gain, 1.0) if gain >= GAIN else np.nan


def play(adapter: RegressAndReweight, raw: FloatArray, told: IntArray | None, late: int) -> IntArray:
    """Step through a stream in rounds of ten; labels come with their round, or `late` rounds after it, by id."""
    predicted, ids = np.empty(len(raw), dtype=np.int64), np.arange(len(raw))
    for t, start in enumerate(range(0, len(raw), BATCH)):
        part = slice(start, start + BATCH)
        if told is None or not late:
            predicted[part] = adapter.step(raw[part], None if told is None else told[part]).labels
            continue
        predicted[part] = adapter.step(raw[part], ids=ids[part].tolist()).labels
        due = ids[max(start - late * BATCH, 0) : start - (late - 1) * BATCH] if t >= late else ids[:0]
        due = due[told[due] != UNLABELLED]
        if len(due):
            adapter.update_labels(due.tolist(), told[due])
    return predicted


def play_real(model: tuple[str, str], size: int, seed: int, share: float, late: int) -> Run:
    """Play a real stream in its own order, beside hindsight."""
    found = outputs(*model, progress=False)
    k = found.holdout_proba.shape[1]
    rng = np.random.default_rng([seed, size])
    held = holdout_rows(found.holdout_y, size, k, rng)
    adapter = RegressAndReweight().fit(found.holdout_proba[held], found.holdout_y[held])
    n = min(len(found.target_y), LONGEST) // BATCH * BATCH
    raw, y = found.target_proba[:n], found.target_y[:n]
    told = np.where(rng.random(n) < share, y, UNLABELLED) if share else None
    counts = np.zeros((n // BATCH, k), dtype=np.int64)
    np.add.at(counts, (np.arange(n) // BATCH, y), 1)
    path = hindsight(counts, adapter.source_prior_).path.repeat(BATCH, axis=0)
    best = (adapter.calibrate(adapter.check_rows(raw)) * path / adapter.source_prior_).argmax(axis=1)
    return _wrongs(y, raw.argmax(axis=1), play(adapter, raw, told, late), best)


def play_simulated(model: tuple[str, str], shift: str, size: int, seed: int, share: float) -> Run:
    """Play a simulated shift, beside the same adapter without a gate."""
    found = outputs(*model, progress=False)
    rng = np.random.default_rng([seed, size])
    held = holdout_rows(found.holdout_y, size, found.holdout_proba.shape[1], rng)
    proba, y = found.holdout_proba[held], found.holdout_y[held]
    stream = sample_stream(
        found.target_proba, found.target_y, SHIFTS[shift](), n_rounds=ROUNDS, batch_size=BATCH, rng=rng
    )
    rows = np.concatenate([batch.rows for batch in stream])
    raw, labels = found.target_proba[rows], found.target_y[rows]
    told = np.where(rng.random(len(rows)) < share, labels, UNLABELLED) if share else None
    gated, ungated = (RegressAndReweight(gate=gate).fit(proba, y) for gate in (True, False))
    return _wrongs(labels, raw.argmax(axis=1), play(gated, raw, told, 0), play(ungated, raw, told, 0))


def _wrongs(y: IntArray, *predicted: IntArray) -> Run:
    return Run(*(np.asarray(labels != y, dtype=np.float64) for labels in predicted))


def row(stream: str, size: int, runs: Sequence[Run], *, same: bool) -> LabelsRow:
    """Summarise the runs of a stream; `same` if all have the same samples, so that at most rounds are independent."""
    base, adapted, best = (100.0 * np.mean([wrong.mean() for wrong in part]) for part in zip(*runs, strict=True))
    changes = [100.0 * (run.adapted - run.base).reshape(-1, BATCH).mean(axis=1) for run in runs]
    rounds = np.mean(changes, axis=0) if same else np.concatenate(changes)
    means = np.array([change.mean() for change in changes])
    between = means.var(ddof=1) / len(means) if len(means) > 1 else 0.0
    error = float(np.sqrt(rounds.var() / len(rounds) + between))
    return LabelsRow(stream, size, float(base), float(adapted), float(best), error, float(means.max()))


def mean_kept(rows: Sequence[LabelsRow]) -> tuple[float, int, float, int]:
    """Return the mean share over data sets and their number, and the same over streams."""
    sets: dict[str, list[float]] = {}
    for found in rows:
        if not np.isnan(found.kept):
            sets.setdefault(found.stream.split(",")[0], []).append(found.kept)
    streams = [kept for part in sets.values() for kept in part]
    return float(np.mean([np.mean(part) for part in sets.values()])), len(sets), float(np.mean(streams)), len(streams)


def table(rows: Sequence[LabelsRow], best: str) -> str:
    """Rows as a Markdown table."""
    head = ["stream", "holdout", "base %", "adapted %", f"{best} %", "adapted - base", "standard error", "worst run"]
    cells = [
        [
            r.stream,
            f"{r.holdout:,}",
            *(f"{error:.2f}" for error in (r.base, r.adapted, r.best)),
            f"{r.adapted - r.base:+.2f}",
            f"{r.error:.2f}",
            f"{r.worst:+.2f}",
            "" if np.isnan(r.kept) else f"{r.kept:.2f}",
            "worse" if r.worse else "",
        ]
        for r in rows
    ]
    return to_markdown([*head, "kept", ""], cells, text=(0, 9))


def summary(rows: Sequence[LabelsRow]) -> str:
    """A sentence on the share that is kept, and on what loses."""
    of_sets, sets, of_streams, streams = mean_kept(rows)
    return (
        f"Kept: {of_sets:.3f} over {sets} data sets, {of_streams:.3f} over their {streams} streams. "
        f"{sum(r.worse for r in rows)} of {len(rows)} are worse than allowed; the largest mean loss is "
        f"{max(r.adapted - r.base for r in rows):.2f} points, of a single run {max(r.worst for r in rows):.2f}."
    )


def main() -> None:
    """Print a table for each share of labels and each delay."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", nargs="*", default=list(REAL), choices=list(REAL))
    parser.add_argument("--simulated", action="store_true", help="simulated shifts in the place of real streams")
    parser.add_argument("--models", nargs="*", default=list(SIMULATED), choices=list(SIMULATED))
    parser.add_argument("--holdout", type=int, default=1000)
    parser.add_argument("--labels", nargs="+", type=float, default=[0.0, 0.02, 0.1], help="shares of labelled samples")
    parser.add_argument("--late", nargs="+", type=int, default=[0, 50], help="rounds after which labels come")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    asked = parser.parse_args()
    seeds, size = range(asked.first_seed, asked.first_seed + asked.seeds), asked.holdout
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for share in asked.labels:
            for late in [0] if asked.simulated or not share else asked.late:
                if asked.simulated:
                    rows = [
                        row(
                            f"{name}, {shift}",
                            size,
                            [play_simulated(SIMULATED[name], shift, size, s, share) for s in seeds],
                            same=False,
                        )
                        for name in asked.models
                        for shift in SHIFTS
                    ]
                else:
                    rows = [
                        row(name, size, [play_real(REAL[name], size, seed, share, late) for seed in seeds], same=True)
                        for name in asked.streams
                    ]
                when = f", {late} rounds late" if late else ""
                best = "ungated" if asked.simulated else "hindsight"
                print(f"\n{100 * share:g} % of labels{when}\n\n{table(rows, best)}\n\n{summary(rows)}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
