"""The main table again, with all of the holdout."""

from baserate.paper.artefact import Artefact
from baserate.paper.claims import same_gap, same_order
from baserate.paper.findings import Findings
from baserate.paper.pages.records import Claim
from baserate.paper.runs.cells import Cell, grid
from baserate.paper.runs.methods import PAPER
from baserate.paper.runs.problems import FASHION, MNIST, TABLE

SHIFTS = ("ber", "sin")


def cells(seeds: int) -> list[Cell]:
    """Every data set of the table."""
    return [cell for problem in TABLE for cell in grid(problem, SHIFTS, PAPER, seeds, holdout=problem.full)]


def claims(findings: Findings) -> list[Claim]:
    """Order and gap on the two image sets whose networks are trained here as there."""
    found = []
    for problem in (MNIST, FASHION):
        found += [same_order(findings, problem, SHIFTS, PAPER), same_gap(findings, problem, SHIFTS)]
    return found


ARTEFACT = Artefact(
    "table-all-holdout",
    "Error, and squared error of the tracked class mix, with all of the holdout",
    "Table 8 (appendix)",
    "table",
    ("error", "mse", "mse_true"),
    ("dataset", "shift"),
    cells,
    claims=claims,
    note="As table-uols, but every method is given all labelled samples that the model was not trained on.",
)
