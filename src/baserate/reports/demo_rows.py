"""The results of the demo as rows of tables, and in a few sentences."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from baserate.backtesting.methods import DEFAULT
from baserate.demo.experiment import BASE, ORACLE, REFERENCES, UNGATED, Cell, Demo
from baserate.reports.tables import Column


def _percent(value: float) -> str:
    return f"{100 * value:.2f}"


SUMMARY = (
    Column("errors in %", "shift", str),
    Column("doing nothing", BASE, _percent),
    Column(DEFAULT, DEFAULT, _percent),
    Column("told the true mix", ORACLE, _percent),
)
"""The columns of the summary: a line for each shift, and one for all."""
COLUMNS = (
    Column("method", "method", str),
    Column("error %", "error", _percent),
    Column("MSE to true mix", "mse", lambda value: f"{value:.4f}"),
    Column("MSE to batch labels", "mse_to_frequencies", lambda value: f"{value:.4f}"),
    Column("dynamic regret", "dynamic_regret", lambda value: f"{value:.1f}"),
)
"""The columns of the table of all methods: a line for each method on each shift."""
ALL = "all"
_SURE = 2.0  # standard errors beyond which a difference is not a tie


def demo_rows(demo: Demo) -> list[dict[str, Any]]:
    """The results as tidy rows.

    `best` is the adaptive method with the fewest mistakes on a shift, and every one that ties with it: within two
    standard errors of their difference. `noise` is the standard error of the difference to the default. A figure that a
    method does not have is None.
    """
    found = []
    for cell in demo.cells:
        rivals = [c for c in demo.cells if c.shift == cell.shift and c.method not in REFERENCES]
        winner = min(rivals, key=lambda rival: rival.evaluation.error_rate)
        (default,) = (c for c in rivals if c.method == DEFAULT)
        behind = cell.evaluation.error_rate - winner.evaluation.error_rate
        found.append(
            {
                "shift": cell.shift,
                "method": cell.method,
                "error": cell.evaluation.error_rate,
                "mse": _known(cell.evaluation.mse),
                "mse_to_frequencies": _known(cell.evaluation.mse_to_frequencies),
                "dynamic_regret": _known(cell.regret),
                "noise": _noise(cell, default),
                "best": cell in rivals and behind <= _SURE * _noise(cell, winner),
            }
        )
    return found


def _noise(first: Cell, second: Cell) -> float:
    """Standard error of the difference of two error rates on the same rounds."""
    a, b = first.evaluation, second.evaluation
    differences = (a.wrong - b.wrong) / a.n
    return float(np.std(differences) / np.sqrt(len(differences)))


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def summary_rows(results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The errors of doing nothing, the default and the oracle: a row for each shift, and one for all."""
    found = [
        {"shift": shift} | {row["method"]: row["error"] for row in results if row["shift"] == shift}
        for shift in dict.fromkeys(row["shift"] for row in results)
    ]
    every = {method: sum(row[method] for row in found) / len(found) for method in (BASE, DEFAULT, ORACLE)}
    shown = ("shift", BASE, DEFAULT, ORACLE)
    return [{key: row[key] for key in shown} for row in (*found, {"shift": ALL} | every)]


def conclusion(results: Sequence[dict[str, Any]]) -> str:
    """The conclusion: doing nothing, the default and the oracle over all shifts, in one sentence."""
    base, default, oracle = (100 * summary_rows(results)[-1][method] for method in (BASE, DEFAULT, ORACLE))
    text = f"Left alone, the model is wrong on {base:.1f} % of all samples; "
    if default < base:
        text += f"{DEFAULT} brings that to {default:.1f} % without seeing one label"
    else:
        text += f"{DEFAULT} does not improve on that without labels ({default:.1f} %)"
    return f"{text}, and being told the true class mix gives {oracle:.1f} %."


def standing(results: Sequence[dict[str, Any]]) -> str:
    """The default beside the best other method, and beside itself without the gate; within noise, they tie."""
    by_method: dict[str, list[dict[str, Any]]] = {}
    for row in results:
        by_method.setdefault(row["method"], []).append(row)
    error = {method: 100 * float(np.mean([row["error"] for row in rows])) for method, rows in by_method.items()}

    def compared(method: str) -> str:
        noise = 100 * float(np.sqrt(np.sum([row["noise"] ** 2 for row in by_method[method]])) / len(by_method[method]))
        behind = error[method] - error[DEFAULT]
        tie = " and ties" if abs(behind) <= _SURE * noise else ""
        return f"is wrong on {error[method]:.2f} %{tie} (difference {behind:+.2f} points, standard error {noise:.2f})"

    others = [method for method in error if method not in (*REFERENCES, DEFAULT, UNGATED)]
    best, worst = min(others, key=error.__getitem__), max(others, key=error.__getitem__)
    text = (
        f"{DEFAULT} is wrong on {error[DEFAULT]:.2f} % of all samples. The best of {len(others)} other methods, "
        f"{best}, {compared(best)}. {DEFAULT} without its gate ({UNGATED}) {compared(UNGATED)}. The gate may cost a "
        "little on label shift, as here; it is there for streams that are not label shift."
    )
    if error[worst] > error[BASE]:
        text += f" Adapting badly is worse than not adapting: {worst} is wrong on {error[worst]:.1f} %."
    return text
