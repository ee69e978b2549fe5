"""Estimated accuracy beside NannyML's CBPE: ``python -m baserate_lab.bench.trust.nannyml_accuracy``.

CBPE is given the same streams and the same holdout. It estimates two accuracies: that of the default adapter, from the
adapter's outputs, as our estimate does; and, as it is meant to be used, that of the unchanged model from the model's
outputs. NannyML is not a dependency of this package: only this module imports it.
"""

import importlib
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from baserate.protocols import FloatArray, IntArray
from baserate_lab.bench.tables import to_markdown
from baserate_lab.bench.trust._command import for_all, parser
from baserate_lab.bench.trust._draws import draw_holdout, world_of
from baserate_lab.bench.trust.accuracy import WINDOW, windows


class NannymlRow(NamedTuple):
    """Accuracies in % of the adapted and of the unchanged model; mean absolute errors in points."""

    model: str
    holdout: int
    shift: str
    accuracy: float
    ours: float
    confidence: float
    cbpe: float
    accuracy_alone: float
    cbpe_alone: float


def _nannyml() -> tuple[Any, Any]:
    """NannyML, and pandas for its input."""
    os.environ.setdefault("NML_DISABLE_USAGE_LOGGING", "1")  # otherwise it reports its use over the network
    try:
        return importlib.import_module("nannyml"), importlib.import_module("pandas")
    except ImportError as error:
        raise ImportError(
            "this comparison needs NannyML, which baserate itself does not: pip install nannyml statsmodels, best in "
            "an environment of its own."
        ) from error


class Cbpe:
    """NannyML's estimate with its defaults, for windows of the same size.

    Parameters
    ----------
    proba, y
        Probabilities and labels of the holdout.
    """

    def __init__(self, proba: FloatArray, y: IntArray) -> None:
        nannyml, self._pandas = _nannyml()
        self._estimate = nannyml.CBPE(
            metrics=["accuracy"],
            y_pred_proba={str(c): f"p{c}" for c in range(proba.shape[1])},
            y_pred="predicted",
            y_true="label",
            problem_type="classification_multiclass",
            chunk_size=WINDOW,
        ).fit(self._frame(proba).assign(label=y.astype(str)))

    def _frame(self, proba: FloatArray) -> Any:
        frame = self._pandas.DataFrame(proba, columns=[f"p{c}" for c in range(proba.shape[1])])
        return frame.assign(predicted=proba.argmax(axis=1).astype(str))

    def of(self, proba: FloatArray) -> float:
        """The estimated accuracy of a window."""
        found = self._estimate.estimate(self._frame(proba)).filter(period="analysis").to_df()
        return float(found[("accuracy", "value")].iloc[0])


def compare_with_nannyml(model: str, size: int, n_draws: int, *, n_windows: int = 3, seed: int = 0) -> list[NannymlRow]:
    """One row per shift, for a model and a holdout size; draw i has the seed ``(seed, size, i)``."""
    world = world_of(model)
    found: dict[str, list[tuple[float, ...]]] = {}
    for i in range(n_draws):
        rng = np.random.default_rng([seed, size, i])
        draw, moving = draw_holdout(world, size, rng), i % world.proba.shape[1]
        of_adapted, of_model = Cbpe(draw.holdout, draw.y), Cbpe(world.proba[draw.rows], draw.y)
        for seen in windows(world, draw, moving, rng, n_windows=n_windows):
            y, own = world.y[seen.rows], world.proba[seen.rows]
            truth, alone = (float((proba.argmax(axis=1) == y).mean()) for proba in (seen.adapted, own))
            errors = (
                abs(seen.estimated.value - truth),
                abs(float(seen.adapted.max(axis=1).mean()) - truth),
                abs(of_adapted.of(seen.adapted) - truth),
            )
            found.setdefault(seen.shift, []).append((truth, *errors, alone, abs(of_model.of(own) - alone)))
    return [NannymlRow(model, size, name, *(100.0 * np.mean(looks, axis=0)).tolist()) for name, looks in found.items()]


def table(rows: Sequence[NannymlRow]) -> str:
    """Rows as a Markdown table."""
    head = ["model", "holdout", "shift", "adapted: accuracy %", "ours", "mean confidence", "CBPE"]
    cells = [[r.model, f"{r.holdout:,}", r.shift, *(f"{value:.2f}" for value in r[3:])] for r in rows]
    return to_markdown([*head, "left alone: accuracy %", "CBPE of that"], cells, text=(0, 2))


def main() -> None:
    """Print the table."""
    options = parser(__doc__, draws=10, holdouts=(1000, 10_000))
    options.add_argument("--windows", type=int, default=3)
    asked = options.parse_args()
    _nannyml()
    rows = for_all(
        asked,
        lambda model, size: compare_with_nannyml(model, size, asked.draws, n_windows=asked.windows, seed=asked.seed),
    )
    print(table(rows))  # noqa: T201


if __name__ == "__main__":
    main()
