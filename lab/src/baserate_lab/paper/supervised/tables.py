"""Tables of the theory with labels."""

import numpy as np
from rich.table import Table

from baserate.protocols import FloatArray, IntArray
from baserate_lab.paper.rates import Slope, slope
from baserate_lab.paper.supervised import calls, identity, marginals, regret
from baserate_lab.paper.supervised.problems import FIXED


def _shown(fitted: Slope) -> str:
    return f"{fitted.value:.2f} +- {fitted.margin:.2f}"


def marginals_table(found: FloatArray) -> Table:
    """Squared distances at the paper's length, also as shares of those of `FollowTheHistory`."""
    i = marginals.LENGTHS.index(marginals.PAPER_LENGTH)
    means, shares = found[i].mean(axis=0), marginals.ratios(found)[i]
    table = Table(
        "tracker",
        "to the frequencies",
        "share",
        "to the true mix",
        "share",
        title=f"Mean squared error of the class mix, Bernoulli shift, T = {marginals.PAPER_LENGTH}",
    )
    for name, mean, share in zip(marginals.TRACKERS, means, shares, strict=True):
        table.add_row(name, f"{mean[0]:.4f}", f"{share[0]:.2f}", f"{mean[1]:.4f}", f"{share[1]:.2f}")
    return table


def calls_table(found: dict[tuple[str, str], FloatArray]) -> Table:
    """Trainings beside the order of the bound, and their growth."""
    every = slice(1, None, 2)
    lengths = calls.LENGTHS[every]
    columns = ("path", "threshold", *(f"T = {n:,}" for n in lengths), "slope", "bound's slope")
    table = Table(*columns, title="Trainings of Algorithm 4 (T^(1/3) V^(2/3))")
    for (path, threshold), counts in found.items():
        shown = (
            f"{mean:.0f} ({calls.order(path, n):.0f})"
            for mean, n in zip(counts.mean(axis=1)[every], lengths, strict=True)
        )
        bound = "1/3" if path in FIXED else "2/3"
        table.add_row(path, threshold, *shown, _shown(slope(counts, calls.LENGTHS)), bound)
    return table


def still_table(found: dict[tuple[str, str], IntArray]) -> Table:
    """Trainings on streams with a constant mix."""
    n_rounds = calls.STILL_LENGTH
    limit = int(np.log2(n_rounds)) + 1
    table = Table(
        "mix",
        "threshold",
        f"share with at most {limit}",
        "mean",
        "most",
        title=f"Trainings on a stream that stands still, T = {n_rounds:,}, {calls.STILL_RUNS} runs each",
    )
    for (mix, threshold), counts in found.items():
        share = f"{100 * calls.few(counts, n_rounds):.1f} %"
        table.add_row(mix, threshold, share, f"{counts.mean():.1f}", f"{counts.max()}")
    return table


def identity_table(found: dict[str, FloatArray]) -> Table:
    """Disagreement at the shortest and longest lengths, and how it shrinks."""
    ends = tuple(identity.BATCH_SIZE * n for n in (identity.LENGTHS[0], identity.LENGTHS[-1]))
    table = Table(
        "model",
        "weights",
        *(f"distance, n = {n:,}" for n in ends),
        "slope",
        f"other label, n = {ends[1]:,}",
        "extra log loss",
        title="Training for the uniform mix and re-weighting, beside weighted ERM",
    )
    for model, values in found.items():
        for i, scheme in enumerate(identity.SCHEMES):
            distances = values[:, :, i, 0]
            exact = distances.max() < 1e-10
            shown = (
                ("< 1e-10", "< 1e-10", "")
                if exact
                else (
                    f"{distances[0].mean():.4f}",
                    f"{distances[-1].mean():.4f}",
                    _shown(slope(distances, identity.LENGTHS)),
                )
            )
            last = values[-1, :, i].mean(axis=0)
            extra = round(float(last[2]), 5) + 0.0  # no minus sign before a zero
            table.add_row(model if i == 0 else "", scheme, *shown, f"{100 * last[1]:.2f} %", f"{extra:.5f}")
    return table


def regret_table(found: dict[tuple[str, str], FloatArray]) -> Table:
    """Regret at every length and its slope, beside that of the bound."""
    table = Table(
        "path",
        "TrainByWeights",
        *(f"T = {n}" for n in regret.LENGTHS),
        "slope",
        "bound's slope",
        title="Dynamic regret in log loss",
    )
    for (path, method), values in found.items():
        bound = "2/3" if path in FIXED else "5/6"
        means = (f"{mean:.1f}" for mean in values.mean(axis=1))
        table.add_row(path, method, *means, _shown(slope(values, regret.LENGTHS)), bound)
    return table
