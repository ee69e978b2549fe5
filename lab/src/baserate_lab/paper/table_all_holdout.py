"""Table: all methods with the whole holdout."""

from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.claims import on_every_set
from baserate_lab.paper.runs.cells import PaperCell, grid
from baserate_lab.paper.runs.methods import PAPER
from baserate_lab.paper.runs.problems import TABLE

SHIFTS = ("ber", "sin")


def cells(seeds: int) -> list[PaperCell]:
    """Cells of every data set of the table."""
    return [cell for problem in TABLE for cell in grid(problem, SHIFTS, PAPER, seeds, holdout=problem.full)]


ARTEFACT = Artefact(
    "table-all-holdout",
    "Error, and squared error of the tracked class mix, with all of the holdout",
    "Table 8 (appendix)",
    "table",
    ("error", "mse", "mse_true"),
    ("dataset", "shift"),
    cells,
    claims=lambda findings: on_every_set(findings, SHIFTS),
    note="As table-uols, but every method is given all labelled samples that the model was not trained on.",
)
