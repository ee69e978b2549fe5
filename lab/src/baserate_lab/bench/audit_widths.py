"""A table of the widths that audits buy: ``python -m baserate_lab.bench.audit_widths``.

Audits of one period, chosen at random, put a model right whose scores of two classes are normal, and calibrated for the
share. Nothing is drawn: what the audits add up to on average goes through `prediction_powered.powered`, whose limits
`baserate prevalence`, `estimated_accuracy` and `prior_interval` use.
"""

import argparse
from collections.abc import Sequence

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

from baserate.trust.prediction_powered import LabelledSums, powered, wilson
from baserate_lab.bench.tables import to_markdown

SHARES, AUCS, AUDITS = (0.01, 0.05, 0.2), (0.75, 0.85, 0.95, 0.99), (25, 50, 100, 200, 500, 1000)


def explained(share: float, auc: float) -> float:
    """The share of a label's variance that calibrated probabilities explain, r^2.

    Examples
    --------
    >>> round(explained(0.5, 0.85), 2), round(explained(0.01, 0.85), 2)
    (0.37, 0.05)
    """
    distance = float(np.sqrt(2.0) * norm.ppf(auc))
    odds = share / (1.0 - share)

    def square(x: float) -> float:
        ratio = odds * np.exp(distance * x - 0.5 * distance**2)
        density = (1.0 - share) * norm.pdf(x) + share * norm.pdf(x - distance)
        return float((ratio / (1.0 + ratio)) ** 2 * density)

    mean = quad(square, -10.0, 10.0 + distance, limit=200)[0]
    return float((mean - share**2) / (share * (1.0 - share)))


def width(share: float, auc: float, audits: int, level: float = 0.9) -> float:
    """The width of the limits in points, by audits and model.

    Examples
    --------
    >>> round(width(0.2, 0.95, 100), 1), round(width(0.2, 0.5001, 100), 1)
    (8.6, 13.3)
    """
    both = share**2 + explained(share, auc) * share * (1.0 - share)  # of a calibrated model, means of y f and of f f
    per_label = (1.0, 1.0, share, share, both, both)
    sums = LabelledSums(*(np.array(audits * each) for each in per_label))
    low, high = powered(sums, np.array(share), np.array(np.inf)).limits(level)
    return 100.0 * float(high - low)


def table(shares: Sequence[float] = SHARES, audits: Sequence[int] = AUDITS, level: float = 0.9) -> str:
    """Widths in points as a Markdown table."""
    cells = []
    for share in shares:
        for n in audits:
            low, high = wilson(np.array(share), np.array(float(n)), level)
            alone = 100.0 * float(high - low)
            cells.append([f"{100 * share:g} %", f"{n:,}", *(f"{w:.1f}" for w in (alone, *_widths(share, n, level)))])
    return to_markdown(["share", "audits", "audits alone", *(f"AUC {auc:g}" for auc in AUCS)], cells, text=())


def _widths(share: float, audits: int, level: float) -> list[float]:
    return [width(share, auc, audits, level) for auc in AUCS]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shares", type=float, nargs="+", default=SHARES)
    parser.add_argument("--audits", type=int, nargs="+", default=AUDITS)
    parser.add_argument("--level", type=float, default=0.9)
    asked = parser.parse_args()
    explains = [f"{auc:g}: {', '.join(f'{explained(s, auc):.2f}' for s in asked.shares)}" for auc in AUCS]
    print(f"r^2 by AUC, for these shares: {'; '.join(explains)}\n\n{table(asked.shares, asked.audits, asked.level)}")  # noqa: T201


if __name__ == "__main__":
    main()
