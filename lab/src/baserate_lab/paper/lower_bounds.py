"""The lower bounds of the paper, by the loss and the adversary of their own proofs.

``python -m baserate_lab.paper.lower_bounds`` prints the table (minutes on one core).

In both proofs there are two classes, and the share of class 1 is 1/2 + delta or 1/2 - delta, drawn anew in each block
of (T / V)^(2/3) rounds. Every method then has a regret of the order T^(2/3) V^(1/3).

- Without labels (UOLS): the loss of a round is 1 - q if the share is above a half, and q if it is below, for the share
  q that a method plays in [1/2 - delta, 1/2 + delta].
- With labels (SOLS): the hypotheses are the two constants. A method plays the one with the lower loss by the class mix
  that it tracks, as training by weights does; the loss is the probability of a mistake.
"""

import argparse
import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed  # type: ignore[import-untyped]
from rich.console import Console
from rich.table import Table

from baserate.protocols import FloatArray, Tracker
from baserate.shifts import Adversary
from baserate.trackers import FLHFTL, Aligator, Arrows, FollowTheHistory
from baserate_lab.paper.rates import Slope, slope_of_mean

LENGTHS = tuple(2**i for i in range(8, 15))
N_SEEDS = 6
VARIATION = 1.0
_RIGHT = 0.9  # of the base model without labels, on both classes: its confusion matrix is invertible
_SLOPE = 2 / 3

TRACKERS: dict[str, Callable[[], Tracker]] = {
    "FLH-FTL": lambda: FLHFTL(2),
    "FLH-FTL (window)": lambda: FLHFTL(2, experts="window"),
    "Aligator": lambda: Aligator(2),
    "Arrows": lambda: Arrows(2),
    "global mean": lambda: FollowTheHistory(2),
}


class Regrets(NamedTuple):
    """Regret of a method on the adversary, by the losses of the two proofs."""

    unlabelled: float
    labelled: float


def sightings(labels: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Unbiased estimates of the share of class 1, each from the prediction for one sample without its label."""
    said = np.where(rng.random(len(labels)) < _RIGHT, labels, 1 - labels)
    return np.asarray((said - (1 - _RIGHT)) / (2 * _RIGHT - 1))


def played(tracker: Tracker, shares: FloatArray) -> FloatArray:
    """Share of class 1 that a tracker predicts before each round."""
    found = np.empty(len(shares))
    for t, share in enumerate(shares):
        found[t] = tracker.predict()[1]
        tracker.update(np.array([1 - share, share]))
    return found


def regret_without_labels(share: FloatArray, q: FloatArray) -> float:
    """Regret by the loss of the first proof; `share` is clipped to the domain of the proof, where the path lies."""
    inside = np.clip(share, q.min(), q.max())
    return float(np.where(q >= 0.5, q - inside, inside - q).sum())


def regret_with_labels(share: FloatArray, q: FloatArray) -> float:
    """Regret by the loss of the second proof: 2 delta wherever the more frequent class is mistaken."""
    return float(np.abs(2 * q - 1)[(share >= 0.5) != (q >= 0.5)].sum())


def regrets(name: str, n_rounds: int, seed: int) -> Regrets:
    """Regret of one tracker; all trackers of a seed see the same labels."""
    rng = np.random.default_rng([seed, n_rounds])
    q = Adversary(variation=VARIATION).path(n_rounds, 2, rng)[:, 1]
    labels = (rng.random(n_rounds) < q).astype(float)
    return Regrets(
        regret_without_labels(played(TRACKERS[name](), sightings(labels, rng)), q),
        regret_with_labels(played(TRACKERS[name](), labels), q),
    )


def run(
    trackers: Sequence[str] = tuple(TRACKERS),
    lengths: Sequence[int] = LENGTHS,
    n_seeds: int = N_SEEDS,
    *,
    n_jobs: int = 1,
) -> dict[str, FloatArray]:
    """Regrets of every tracker: arrays of shape (lengths, seeds, 2)."""
    cells = list(itertools.product(trackers, lengths, range(n_seeds)))
    done = Parallel(n_jobs=n_jobs)(delayed(regrets)(*cell) for cell in cells)
    found = {name: np.empty((len(lengths), n_seeds, 2)) for name in trackers}
    for (name, n_rounds, seed), result in zip(cells, done, strict=True):
        found[name][lengths.index(n_rounds), seed] = result
    return found


def least(n_rounds: int, labels: bool) -> float:
    """The bound itself, with the constant of its proof: T^(2/3) V^(1/3) exp(-16/3) / 16, or / (16 e) with labels."""
    constant = np.exp(-1.0) if labels else np.exp(-16 / 3)
    return float(n_rounds ** (2 / 3) * VARIATION ** (1 / 3) * constant / 16)


def within(fitted: Slope, tolerance: float = 0.1) -> bool:
    """True if a slope is within the tolerance of 2/3."""
    return abs(fitted.value - _SLOPE) <= tolerance


def table(found: dict[str, FloatArray], lengths: Sequence[int] = LENGTHS) -> Table:
    """Regret at the ends, slope against log T, and the lowest ratio to the bound with its constant."""
    shown = Table(
        "bound", "tracker", f"T = {lengths[0]:,}", f"T = {lengths[-1]:,}", "slope", "within 0.1 of 2/3",
        "least / bound", title="Regret on the adversary of the lower bounds, V = 1 (bound's slope 2/3)",
    )  # fmt: skip
    for i, bound in enumerate(("Theorem 2, without labels", "Theorem 4, with labels")):
        for name, values in found.items():
            fitted = slope_of_mean(values[:, :, i], lengths)
            means = values[:, :, i].mean(axis=1)
            ratio = min(mean / least(n, bool(i)) for mean, n in zip(means, lengths, strict=True))
            ends = (f"{means[0]:.1f}", f"{means[-1]:.1f}")
            said = f"{fitted.value:.2f} +- {fitted.margin:.2f}"
            shown.add_row(bound, name, *ends, said, "yes" if within(fitted) else "no", f"{ratio:.0f}")
            bound = ""
    return shown


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Regret on the adversary of the paper's lower bounds.")
    parser.add_argument("--jobs", type=int, default=-1, help="processes (default: one per core)")
    parser.add_argument("--seeds", type=int, default=N_SEEDS, help=f"paths of each length (default: {N_SEEDS})")
    parser.add_argument("--trackers", nargs="+", choices=list(TRACKERS), default=list(TRACKERS))
    options = parser.parse_args(arguments)
    found = run(options.trackers, n_seeds=options.seeds, n_jobs=options.jobs)
    Console(width=130, highlight=False).print(table(found))


if __name__ == "__main__":
    main()
