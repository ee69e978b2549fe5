"""Three estimators of the class mix of a batch."""

from baserate.paper.artefact import Artefact
from baserate.paper.findings import Findings
from baserate.paper.pages.records import Claim
from baserate.paper.runs.cells import Cell, grid
from baserate.paper.runs.methods import MARGINALS, PAPER
from baserate.paper.runs.problems import CIFAR10, FASHION, SYNTHETIC

PROBLEMS = (SYNTHETIC, CIFAR10, FASHION)
SHIFTS = ("ber", "sin")
METHODS = tuple(method for method in PAPER if method != "Oracle")


def cells(seeds: int) -> list[Cell]:
    """Every method with every estimator, also those that use none, as printed."""
    return [
        cell
        for problem in PROBLEMS
        for marginal in MARGINALS
        for cell in grid(problem, SHIFTS, METHODS, seeds, marginal=marginal)
    ]


def claims(findings: Findings) -> list[Claim]:
    """Each method's errors with the three estimators lie within the spread over seeds."""
    found = []
    for problem in PROBLEMS:
        text = f"{problem.title}: with each of the three estimators a method's error is the same within noise."
        apart, checked, largest = [], 0, 0.0
        for shift in SHIFTS:
            for method in METHODS:
                records = [
                    r
                    for r in findings.records
                    if (r.dataset, r.shift, r.method, r.metric) == (problem.dataset, shift, method, "error")
                    and r.ours_mean is not None
                ]
                if len(records) < len(MARGINALS):
                    continue
                means = [r.ours_mean or 0.0 for r in records]
                noise = max(max(r.ours_std or 0.0 for r in records), 0.25)
                checked += 1
                largest = max(largest, max(means) - min(means))
                if max(means) - min(means) > 2 * noise:
                    apart.append(f"{shift}: {method} ({max(means) - min(means):.2f} points)")
        if not checked:
            found.append(Claim("table-marginals", text, None, "not run"))
            continue
        evidence = f"{checked - len(apart)} of {checked} within two stds; largest difference {largest:.2f} points"
        found.append(
            Claim("table-marginals", text, not apart, evidence + ("; not " + ", ".join(apart) if apart else ""))
        )
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
