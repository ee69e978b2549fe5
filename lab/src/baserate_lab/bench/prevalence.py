"""A year of weekly shares with a few audits: ``python -m baserate_lab.bench.prevalence``.

A model of AUC 0.85 scores 2,000 rows a week; 1 % are positive, and 50 rows a week are audited at random. The holdout
has 5,000 rows, a tenth of them positive. `baserate.smoothing.prevalence` is compared with the audits of each week alone
(Wilson's limits) and with QuaPy's bootstrap on each week, if QuaPy is installed. In *broken* years the negatives move
towards the positives in week 20, which is no label shift; in years broken *gradually* they do so over the year, and in
those of *hidden* positives it is these that move towards the negatives. Scores may have other shapes than a normal one:
logistic, with heavy tails, or those of a model that knows eight levels only. With ``--top``, so many of a week's audits
are of the tenth of rows with the highest scores, and have weights.
"""

import argparse
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.stats import logistic, norm

from baserate.adapters import RegressAndReweight
from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.smoothing import prevalence
from baserate_lab.bench.tables import to_markdown
from baserate_lab.bench.trust.quapy_bands import Bootstrap

WEEKS, SHARE, SOURCE, HOLDOUT = 52, 0.01, 0.1, 5000
KINDS = ("constant", "season", "jump", "noisy", "walk", "outbreak")
SHAPES, BREAKS = ("normal", "logistic", "levels"), ("", "broken", "gradually", "hidden")
BROKEN = 20
"""The week in which a broken year breaks."""
_DISTANCE = float(np.sqrt(2.0) * norm.ppf(0.85))  # of two normal classes with that AUC
_MOVED = 0.3
_LEVELS = np.concatenate([[-np.inf], np.linspace(-1.0, 2.5, 7), [np.inf]])


def _auc_of_logistic(distance: float) -> float:
    """The AUC of two logistic classes."""
    return float((1.0 - (1.0 + distance) * np.exp(-distance)) / (1.0 - np.exp(-distance)) ** 2)


_LOGISTIC = float(brentq(lambda distance: _auc_of_logistic(distance) - 0.85, 0.1, 10.0))


class PrevalenceRow(NamedTuple):
    """Coverage of the true rate over weeks and years, its standard error over years; mean width and RMSE in points."""

    kind: str
    broken: str
    method: str
    coverage: float
    error: float
    width: float
    rmse: float


def rates(kind: str, rng: np.random.Generator) -> FloatArray:
    """The true share of positives in each week."""
    t = np.arange(WEEKS)
    return {
        "constant": np.full(WEEKS, SHARE),
        "season": SHARE * (1.0 + 0.6 * np.sin(2.0 * np.pi * t / WEEKS)),
        "jump": np.where(t < WEEKS // 2, 0.6 * SHARE, 1.4 * SHARE),
        "noisy": SHARE * np.exp(0.4 * rng.normal(size=WEEKS) - 0.08),
        "walk": SHARE * np.exp(np.cumsum(0.15 * rng.normal(size=WEEKS))),
        "outbreak": SHARE * np.where((t >= 30) & (t < 34), 4.0, 0.8),
    }[kind]


def scores(
    y: IntArray, rng: np.random.Generator, moved: float = 0.0, *, hidden: float = 0.0, shape: str = "normal"
) -> FloatArray:
    """Calibrated outputs for a tenth of positives, while nothing has moved."""
    away = moved * (y == 0) - hidden * (y == 1)
    if shape == "logistic":
        x = rng.logistic(size=len(y)) + _LOGISTIC * y + away
        ratio = np.exp(logistic.logpdf(x, _LOGISTIC) - logistic.logpdf(x))
    else:
        x = rng.normal(size=len(y)) + _DISTANCE * y + away
        ratio = np.exp(_DISTANCE * x - 0.5 * _DISTANCE**2)
    if shape == "levels":
        mass = np.diff(norm.cdf(_LEVELS, _DISTANCE)) / np.diff(norm.cdf(_LEVELS))
        ratio = mass[np.searchsorted(_LEVELS, x) - 1]
    odds = SOURCE / (1.0 - SOURCE) * ratio
    return np.column_stack([1.0 / (1.0 + odds), odds / (1.0 + odds)])


def _movements(broken: str) -> tuple[FloatArray, FloatArray]:
    """Return the distances by which negatives and positives have moved in each week."""
    t, still = np.arange(WEEKS), np.zeros(WEEKS)
    late = np.where(t >= BROKEN, _MOVED, 0.0)
    return {
        "": (still, still),
        "broken": (late, still),
        "gradually": (_MOVED * t / WEEKS, still),
        "hidden": (still, 2.0 * late),
    }[broken]


def year(
    kind: str,
    seed: int,
    *,
    rows: int,
    audits: int,
    broken: str,
    quantifiers: Sequence[str],
    shape: str = "normal",
    top: int = 0,
    level: float = 0.9,
) -> dict[str, FloatArray]:
    """For each method, whether the limits hold the rate of each week, their width, and the squared error."""
    rng = np.random.default_rng([seed, KINDS.index(kind), BREAKS.index(broken)])
    held = (rng.random(HOLDOUT) < SOURCE).astype(np.int64)
    holdout = scores(held, rng, shape=shape)
    adapter = RegressAndReweight().fit(holdout, held)
    q = rates(kind, rng)
    y = (rng.random((WEEKS, rows)) < q[:, np.newaxis]).astype(np.int64)
    moved, hidden = _movements(broken)
    weeks = [scores(y[t], rng, moved[t], hidden=hidden[t], shape=shape) for t in range(WEEKS)]
    labels, weights = np.full((WEEKS, rows), UNLABELLED), np.ones((WEEKS, rows))
    for t in range(WEEKS):
        chosen, weights[t] = _audited(weeks[t][:, 1], audits, top, rng)
        labels[t, chosen] = y[t, chosen]
    starts = np.arange(0, WEEKS * rows + 1, rows)
    chosen_by = weights.ravel() if top else None
    found = prevalence(adapter, np.concatenate(weeks), starts, labels.ravel(), weights=chosen_by, level=level)
    assert found.audited is not None
    assert found.labels_alone is not None
    named = {
        "audits and model": found.audited,
        "hindsight": found.hindsight,
        "causal": found.causal,
        "audits of the week": found.labels_alone,
    }
    limits = {name: (some.prior[:, 1], some.low[:, 1], some.high[:, 1]) for name, some in named.items()}
    for name in quantifiers:
        bootstrap = Bootstrap(name, adapter.calibrate(holdout), held, resampled_holdouts=False, seed=seed)
        low, high = np.array([bootstrap.interval(adapter.calibrate(week))[1] for week in weeks]).T
        limits[f"QuaPy's {name}, each week"] = (0.5 * (low + high), low, high)
    return {
        name: np.array([(low <= q) & (q <= high), high - low, (value - q) ** 2])
        for name, (value, low, high) in limits.items()
    }


def _audited(score: FloatArray, audits: int, top: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Draw rows for audits, `top` of them among the highest tenth; return them, and one over each row's probability."""
    n = len(score)
    if not top:
        return rng.choice(n, audits, replace=False), np.full(n, n / audits)
    order = np.argsort(-score, kind="stable")
    high, others = order[: n // 10], order[n // 10 :]
    weights = np.empty(n)
    weights[high], weights[others] = len(high) / top, len(others) / (audits - top)
    return np.r_[rng.choice(high, top, replace=False), rng.choice(others, audits - top, replace=False)], weights


def measure(
    kind: str,
    n_years: int,
    *,
    rows: int,
    audits: int,
    broken: str,
    quantifiers: Sequence[str],
    seed: int = 0,
    shape: str = "normal",
    top: int = 0,
) -> list[PrevalenceRow]:
    """One row per method."""
    years = [
        year(kind, seed + i, rows=rows, audits=audits, broken=broken, quantifiers=quantifiers, shape=shape, top=top)
        for i in range(n_years)
    ]
    found = []
    for method in years[0]:
        by_year = np.array([one[method].mean(axis=1) for one in years])
        held, width, squares = by_year.mean(axis=0)
        error = float(by_year[:, 0].std(ddof=1) / np.sqrt(n_years)) if n_years > 1 else float("nan")
        found.append(PrevalenceRow(kind, broken, method, held, error, 100 * width, 100 * float(np.sqrt(squares))))
    return found


def table(rows: Sequence[PrevalenceRow]) -> str:
    """Rows as a Markdown table."""
    head = ["rate", "method", "coverage %", "+-", "mean width, points", "RMSE, points"]
    cells = [
        [
            f"{r.kind}{', ' * bool(r.broken)}{r.broken}",
            r.method,
            f"{100 * r.coverage:.1f}",
            f"{100 * r.error:.1f}",
            f"{r.width:.2f}",
            f"{r.rmse:.2f}",
        ]
        for r in rows
    ]
    return to_markdown(head, cells, text=(0, 1))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--years", type=int, default=10)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--audits", type=int, default=50)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS[:4]), choices=KINDS)
    parser.add_argument("--breaks", nargs="+", default=["", "broken"], choices=BREAKS)
    parser.add_argument("--shape", default="normal", choices=SHAPES)
    parser.add_argument("--quapy", nargs="*", default=["EMQ", "PACC"], help="quantifiers; none without QuaPy")
    parser.add_argument("--top", type=int, default=0, help="audits among the tenth of rows with the highest scores")
    parser.add_argument("--seed", type=int, default=100)
    asked = parser.parse_args()
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for broken in asked.breaks:
            for kind in asked.kinds:
                quantifiers = asked.quapy if not broken else []
                rows += measure(
                    kind, asked.years, rows=asked.rows, audits=asked.audits, broken=broken, quantifiers=quantifiers,
                    seed=asked.seed, shape=asked.shape, top=asked.top,
                )  # fmt: skip
    print(table(rows))  # noqa: T201


if __name__ == "__main__":
    main()
