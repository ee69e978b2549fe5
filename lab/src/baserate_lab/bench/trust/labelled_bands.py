"""`prior_interval` with few labels: ``python -m baserate_lab.bench.trust.labelled_bands``.

A model of two classes whose outputs stay as they were, or become noisy in the middle, which no class mix explains.
Every tenth round of the second half, or of less of it, the limits are compared with the true share.
"""

import argparse
import warnings

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.shifts import Constant, Monotone, RandomWalk, Sinusoidal, Square
from baserate_lab.bench.tables import to_markdown

_SHIFTS = {
    "Constant": Constant(),
    "Monotone": Monotone(),
    "Sinusoidal": Sinusoidal(),
    "RandomWalk": RandomWalk(),
    "Square": Square(),
}
_LOOK = 10


def scored(rng: np.random.Generator, n: int, share: float, noise: float) -> tuple[FloatArray, IntArray]:
    """Outputs of a model of two Gaussian classes, and labels."""
    y = (rng.random(n) < share).astype(np.int64)
    odds = np.exp(2.0 * rng.normal(2.0 * y - 1.0, noise))
    return np.column_stack([1.0 / (1.0 + odds), odds / (1.0 + odds)]), y


def draw(
    path: FloatArray, labelled: float, seed: int, *, rows: int, broken: bool, begin: float = 0.5, level: float = 0.9
) -> list[tuple[float, ...]]:
    """The true share, and limits with labels and by label shift, of one stream."""
    rng = np.random.default_rng([seed, rows])
    adapter = RegressAndReweight().fit(*scored(rng, 1000, 0.5, 1.0))
    found = []
    for t, share in enumerate(path[:, 1]):
        proba, y = scored(rng, rows, float(share), 2.0 if broken and 2 * t >= len(path) else 1.0)
        adapter.update(proba, np.where(rng.random(rows) < labelled, y, UNLABELLED))
        if t >= begin * len(path) and t % _LOOK == 0:
            both = (adapter.prior_interval(level, labels=told)[1] for told in (True, False))
            found.append((float(share), *(float(limit) for limits in both for limit in limits)))
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", nargs="+", type=float, default=[0.02, 0.1])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--rows", type=int, default=50)
    parser.add_argument("--begin", type=float, default=0.5, help="the share of the stream before the first look")
    asked = parser.parse_args()
    cells = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for broken in (False, True):
            for name, shift in _SHIFTS.items():
                for labelled in asked.labels:
                    found = []
                    for seed in range(asked.first_seed, asked.first_seed + asked.seeds):
                        path = shift.path(asked.rounds, 2, np.random.default_rng([seed, 1]))
                        found.append(draw(path, labelled, seed, rows=asked.rows, broken=broken, begin=asked.begin))
                    truth, low, high, least, most = np.array(found).transpose(2, 0, 1)
                    covered = ((low <= truth) & (truth <= high)).mean(axis=1)
                    cells.append(
                        [
                            f"{name}{', broken' if broken else ''}",
                            f"{100 * labelled:g}",
                            f"{100 * covered.mean():.1f}",
                            f"{100 * covered.std(ddof=1) / len(covered) ** 0.5:.1f}",
                            f"{100 * (high - low).mean():.1f}",
                            f"{100 * ((least <= truth) & (truth <= most)).mean():.1f}",
                            f"{100 * (most - least).mean():.1f}",
                        ]
                    )
    head = ["stream", "labels %", "coverage %", "+-", "width, points", "coverage %, by label shift", "width"]
    print(to_markdown(head, cells))  # noqa: T201


if __name__ == "__main__":
    main()
