"""Table: three estimators of the class mix of a batch."""

import itertools

import numpy as np

from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.findings import Findings
from baserate_lab.paper.pages.records import Claim
from baserate_lab.paper.runs.cells import PaperCell, grid
from baserate_lab.paper.runs.methods import MARGINALS, PAPER
from baserate_lab.paper.runs.problems import CIFAR10, FASHION, SYNTHETIC

PROBLEMS = (SYNTHETIC, CIFAR10, FASHION)
SHIFTS = ("ber", "sin")
METHODS = tuple(method for method in PAPER if method != "Oracle")
ESTIMATING = tuple(method for method in METHODS if method not in ("Base", "OFC"))
"""Methods that use an estimate; the paper prints the others three times too."""
NEGLIGIBLE = 0.25


def cells(seeds: int) -> list[PaperCell]:
    """Cells of every method with every estimator, also of methods that use none, as in the paper."""
    return [
        cell
        for problem in PROBLEMS
        for marginal in MARGINALS
        for cell in grid(problem, SHIFTS, METHODS, seeds, marginal=marginal)
    ]


def claims(findings: Findings) -> list[Claim]:
    """Claims that the choice of estimator matters less than the stream."""
    found = []
    for problem in PROBLEMS:
        text = (
            f"{problem.title}: with each of the three estimators a method's mean error is the same within "
            f"{NEGLIGIBLE:g} points or one std over seeds."
        )
        apart, checked, largest, missing = [], 0, 0.0, False
        for shift, method in itertools.product(SHIFTS, ESTIMATING):
            where = {"dataset": problem.dataset, "shift": shift, "method": method}
            errors = [findings.values("error", marginal=marginal, **where) for marginal in MARGINALS]
            if not all(errors):
                missing = True
                continue
            means = [float(np.mean(list(values.values()))) for values in errors]
            noise = max(float(np.std(list(values.values()))) for values in errors)
            gap = max(means) - min(means)
            checked, largest = checked + 1, max(largest, gap)
            if gap > max(NEGLIGIBLE, noise):
                apart.append(f"{shift}: {method} ({gap:.2f} points)")
        if missing:
            found.append(Claim("table-marginals", text, None, "not all was run"))
            continue
        evidence = f"{checked - len(apart)} of {checked}; largest difference {largest:.2f} points"
        evidence += f"; not {', '.join(apart)}" if apart else ""
        found.append(Claim("table-marginals", text, not apart, evidence))
    return found


ARTEFACT = Artefact(
    "table-marginals",
    "Error with three estimators of the class mix: BBSE, MLLS, RLLS",
    "Table 9 (appendix)",
    "table",
    ("error",),
    ("dataset", "shift", "variant"),
    cells,
    varying="marginal",
    claims=claims,
    note="As table-uols. RLLS has the offset that is consistent in theory, not that of the published run.",
)
