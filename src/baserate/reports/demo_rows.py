"""The results of the demo as rows of a table, and in one sentence."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from baserate.demo.experiment import BASE, OPTIMAL, ORACLE, REFERENCES, Demo
from baserate.reports.tables import Column

COLUMNS = (
    Column("method", "method", str),
    Column("error %", "error", lambda value: f"{100 * value:.2f}"),
    Column("MSE to true mix", "mse", lambda value: f"{value:.4f}"),
    Column("MSE to batch labels", "mse_to_frequencies", lambda value: f"{value:.4f}"),
    Column("dynamic regret", "dynamic_regret", lambda value: f"{value:.1f}"),
)
"""The columns of the demo's table: a line for each method on each shift."""


def demo_rows(demo: Demo) -> list[dict[str, Any]]:
    """The results as tidy rows; `best` is the adaptive method with the fewest mistakes on a shift.

    A figure that a method does not have is None.
    """
    found = []
    for cell in demo.cells:
        others = [c for c in demo.cells if c.shift == cell.shift and c.method not in REFERENCES]
        winner = min(others, key=lambda rival: rival.evaluation.error_rate)
        found.append(
            {
                "shift": cell.shift,
                "method": cell.method,
                "error": cell.evaluation.error_rate,
                "mse": _known(cell.evaluation.mse),
                "mse_to_frequencies": _known(cell.evaluation.mse_to_frequencies),
                "dynamic_regret": _known(cell.regret),
                "best": cell is winner,
            }
        )
    return found


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def conclusion(results: Sequence[dict[str, Any]]) -> str:
    """The conclusion from the rows, in one or two sentences."""
    by_method: dict[str, list[float]] = {}
    for row in results:
        by_method.setdefault(row["method"], []).append(row["error"])
    error = {method: 100 * sum(errors) / len(errors) for method, errors in by_method.items()}
    base, oracle = error.pop(BASE), error.pop(ORACLE)
    error.pop(OPTIMAL, None)
    best, worst = min(error, key=error.__getitem__), max(error, key=error.__getitem__)
    text = f"Left alone, the model is wrong on {base:.1f} % of all samples; "
    if error[best] < base:
        text += f"{best}, the best of {len(error)} methods, brings that to {error[best]:.1f} % without seeing one label"
    else:
        text += f"no method improves on that without labels (the best, {best}, is wrong on {error[best]:.1f} %)"
    text += f", and being told the true class mix gives {oracle:.1f} %."
    if error[worst] > base:
        text += f" Adapting badly is worse than not adapting: {worst} is wrong on {error[worst]:.1f} %."
    return text
