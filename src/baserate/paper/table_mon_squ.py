"""The same under monotone and square shifts."""

from baserate.paper.artefact import Artefact
from baserate.paper.claims import same_gap, same_order
from baserate.paper.findings import Findings
from baserate.paper.pages.records import Claim
from baserate.paper.runs.cells import Cell, grid
from baserate.paper.runs.methods import BEYOND, PAPER
from baserate.paper.runs.problems import FASHION, MNIST, TABLE

SHIFTS = ("mon", "squ")


def cells(seeds: int) -> list[Cell]:
    """Every data set of the table."""
    return [cell for problem in TABLE for cell in grid(problem, SHIFTS, (*PAPER, *BEYOND), seeds)]


def claims(findings: Findings) -> list[Claim]:
    """Order and gap on the two image sets whose networks are trained here as there."""
    found = []
    for problem in (MNIST, FASHION):
        found += [same_order(findings, problem, SHIFTS, PAPER), same_gap(findings, problem, SHIFTS)]
    return found


ARTEFACT = Artefact(
    "table-mon-squ",
    "Error, and squared error of the tracked class mix, under monotone and square shifts",
    "Table 7 (appendix)",
    "table",
    ("error", "mse", "mse_true"),
    ("dataset", "shift"),
    cells,
    claims=claims,
    note="As table-uols, with the other two shifts.",
)
