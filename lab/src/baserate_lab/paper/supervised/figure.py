"""Figure of the theory with labels: everything against the number of rounds."""

from pathlib import Path

import numpy as np

from baserate.protocols import FloatArray
from baserate_lab.paper.supervised import calls, identity, marginals, regret
from baserate_lab.paper.supervised.problems import FIXED, PATHS


def _anchored(order: FloatArray, at: float) -> FloatArray:
    """Scale an order, which has no constant, to start at a given value."""
    return np.asarray(order * at / order[0])


def draw_supervised(
    errors: FloatArray,
    trainings: dict[tuple[str, str], FloatArray],
    disagreements: dict[str, FloatArray],
    regrets: dict[tuple[str, str], FloatArray],
    target: Path,
) -> None:
    """Draw what `marginals.run_marginals`, `calls.run_calls`, `identity.run_identity` and `regret.run_regret` found."""
    from baserate_lab.bench.figures import Panel, save_panels

    means = errors[..., 1].mean(axis=1)
    lines = {name: means[:, i] for i, name in enumerate(marginals.TRACKERS)}
    panels = [Panel("Bernoulli shift: squared error of the mix", np.array(marginals.LENGTHS), lines, {})]
    for path in PATHS:
        lines = {f"{threshold} threshold": trainings[path, threshold].mean(axis=1) for threshold in calls.THRESHOLDS}
        order = np.array([calls.order(path, n) for n in calls.LENGTHS])
        theory = {"T^(1/3) V^(2/3)": _anchored(order, lines["calibrated threshold"][0])}
        title = f"{path}, V {'fixed' if path in FIXED else '~ sqrt T'}: trainings of Algorithm 4"
        panels.append(Panel(title, np.array(calls.LENGTHS), lines, theory))
    lengths = np.array(identity.LENGTHS)
    lines = {name: disagreements[name][:, :, 0, 0].mean(axis=1) for name in ("well specified", "misspecified")}
    theory = {"1 / sqrt T": _anchored(1 / np.sqrt(lengths), lines["well specified"][0])}
    panels.append(Panel("re-weighting against weighted ERM: distance", lengths, lines, theory))
    lines = {method: regrets["step", method].mean(axis=1) for method in regret.METHODS}
    order = np.array([regret.order("step", n) for n in regret.LENGTHS])
    theory = {"T^(2/3) V^(1/3) + sqrt T": _anchored(order, lines["with FLH-FTL"][0])}
    panels.append(Panel("step: dynamic regret of TrainByWeights", np.array(regret.LENGTHS), lines, theory))
    save_panels(panels, target)
