"""The adapter's `prior_interval` beside QuaPy's bootstrap: ``python -m baserate_lab.bench.trust.quapy_bands``.

QuaPy estimates the class mix of one set of samples, so the mix of each stream is constant and QuaPy is given its last
samples. Both use the same holdout and the same calibrated probabilities. QuaPy is not a dependency of this package:
only this module imports it.
"""

import importlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import parallel_config  # type: ignore[import-untyped]
from sklearn.base import BaseEstimator  # type: ignore[import-untyped]

from baserate.protocols import FloatArray, IntArray
from baserate_lab.bench.tables import to_markdown
from baserate_lab.bench.trust._command import for_all, parser
from baserate_lab.bench.trust._draws import draw_holdout, draw_stream, shifts, world_of

QUANTIFIERS = ("ACC", "PACC", "EMQ")
LOOKS = ((500, 500), (3000, 500), (3000, 3000))
"""Samples seen before the comparison, and how many of them (the last ones) QuaPy is given."""

_BATCH = 10
_RESAMPLED = 500  # bootstrap estimates per band; QuaPy's default
_HOLDOUTS = 20  # resampled holdouts, if holdouts are resampled


class QuapyRow(NamedTuple):
    """Coverage over all draws and classes, and median width."""

    model: str
    shift: str
    seen: int
    method: str
    coverage: float
    width: float


class _Outputs(BaseEstimator):  # type: ignore[misc]
    """Classifier for QuaPy that returns its input as probabilities."""

    def __init__(self, n_classes: int = 2) -> None:
        self.n_classes = n_classes
        self.classes_ = np.arange(n_classes)

    def fit(self, X: FloatArray, y: IntArray) -> "_Outputs":
        return self

    def predict(self, X: FloatArray) -> IntArray:
        return np.asarray(X.argmax(axis=1))

    def predict_proba(self, X: FloatArray) -> FloatArray:
        return X


def quapy_modules() -> tuple[Any, Any]:
    """QuaPy's modules of quantifiers and confidence regions."""
    try:
        return importlib.import_module("quapy.method.aggregative"), importlib.import_module("quapy.method.confidence")
    except ImportError as error:
        raise ImportError(
            "this comparison needs QuaPy, which baserate itself does not: pip install quapy, best in an environment "
            "of its own."
        ) from error


class Bootstrap:
    """QuaPy's bootstrap of one quantifier, over the test samples alone (its default) or over the holdout too.

    Parameters
    ----------
    name : str
        One of `QUANTIFIERS`.
    proba, y
        The holdout.
    resampled_holdouts : bool
        True: use 20 resampled holdouts instead of the one given.
    seed : int
        Seed of the resampling.
    """

    def __init__(self, name: str, proba: FloatArray, y: IntArray, *, resampled_holdouts: bool, seed: int) -> None:
        methods, confidence = quapy_modules()
        k = proba.shape[1]

        def fitted(rows: IntArray) -> Any:
            options = {} if name == "EMQ" else {"solver": "exact-cc"}  # the default search takes minutes per band
            quantifier = getattr(methods, name)(_Outputs(k), fit_classifier=False, val_split=None, **options)
            return quantifier.fit(proba[rows], y[rows])

        everything = np.arange(len(y))
        n_holdouts = _HOLDOUTS if resampled_holdouts else 1
        self.bootstrap = confidence.AggregativeBootstrap(
            fitted(everything), n_test_samples=_RESAMPLED // n_holdouts, confidence_level=0.9, random_state=seed
        )
        # QuaPy's own resampling of holdouts (n_train_samples) fails on the arrays that its quantifiers return.
        rng = np.random.default_rng(seed)
        self.bootstrap.quantifiers = [
            fitted(rng.choice(everything, len(y)) if resampled_holdouts else everything) for _ in range(n_holdouts)
        ]

    def interval(self, proba: FloatArray) -> FloatArray:
        """Lower and upper limit of each class's share among these samples, at level 0.9."""
        with parallel_config(backend="sequential"):
            _, region = self.bootstrap.predict_conf(proba)
        return np.column_stack([region.I_low, region.I_high])


def compare_with_quapy(
    model: str, size: int, n_draws: int, *, quantifiers: Sequence[str], names: Sequence[str], seed: int = 0
) -> list[QuapyRow]:
    """One row per shift, number of samples and method, for a model and a holdout size.

    The methods are our band and QuaPy's band of each quantifier. Draw i has the seed ``(seed, size, i)``. The mixes of
    the shifts in `names` (Source, Constant) do not move.
    """
    world = world_of(model)
    k = world.proba.shape[1]
    found: dict[tuple[str, int, str], list[FloatArray]] = {}
    for i in range(n_draws):
        rng = np.random.default_rng([seed, size, i])
        draw = draw_holdout(world, size, rng)
        adapter = draw.adapter
        theirs = {
            f"QuaPy {name}, {'holdout and stream' if both else 'stream'} resampled": Bootstrap(
                name, draw.holdout, draw.y, resampled_holdouts=both, seed=i
            )
            for name in quantifiers
            for both in ((False,) if name == "EMQ" else (False, True))  # EMQ uses only the class mix of the holdout
        }
        for shift in names:
            path = shifts(world, i % k)[shift].path(LOOKS[-1][0] // _BATCH, k, rng)
            seen: list[int] = []
            adapter.reset()
            for q, rows in draw_stream(world, path, _BATCH, rng):
                adapter.update(world.proba[rows])
                seen += rows.tolist()
                limits = {}
                if len(seen) in {n for n, _ in LOOKS}:
                    limits["prior_interval"] = adapter.prior_interval()
                for _, window in [look for look in LOOKS if look[0] == len(seen)]:
                    for method, bootstrap in theirs.items():
                        limits[f"{method}, last {window:,}"] = bootstrap.interval(draw.world[seen[-window:]])
                for method, (low, high) in ((method, ends.T) for method, ends in limits.items()):
                    looks = found.setdefault((shift, len(seen), method), [])
                    looks.append(np.array([(low <= q + 1e-12) & (q - 1e-12 <= high), high - low]))
    return [
        QuapyRow(model, *key, float(np.mean([a[0] for a in looks])), float(np.median([a[1] for a in looks])))
        for key, looks in found.items()
    ]


def table(rows: Sequence[QuapyRow]) -> str:
    """Rows as a Markdown table."""
    head = ["model", "mix", "samples seen", "method", "coverage %", "median width"]
    cells = [[r.model, r.shift, f"{r.seen:,}", r.method, f"{100 * r.coverage:.1f}", f"{r.width:.3f}"] for r in rows]
    return to_markdown(head, cells, text=(0, 1, 3))


def main() -> None:
    """Print the table."""
    options = parser(__doc__, draws=50, models=("MNIST", "CIFAR-10", "Synthetic"), holdouts=(1000,))
    options.add_argument("--quantifiers", nargs="+", default=list(QUANTIFIERS), choices=QUANTIFIERS)
    options.add_argument("--mixes", nargs="+", default=["Constant", "Source"], choices=["Constant", "Source"])
    asked = options.parse_args()
    quapy_modules()

    def measured(model: str, size: int) -> list[QuapyRow]:
        return compare_with_quapy(
            model, size, asked.draws, quantifiers=asked.quantifiers, names=asked.mixes, seed=asked.seed
        )

    print(table(for_all(asked, measured)))  # noqa: T201


if __name__ == "__main__":
    main()
