"""Table: all methods under monotone and square shifts."""

from baserate_lab.paper import table_uols
from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.claims import of_the_abstract, on_every_set
from baserate_lab.paper.runs.cells import PaperCell

SHIFTS = ("mon", "squ")


def cells(seeds: int) -> list[PaperCell]:
    """Cells of every data set of the table."""
    return table_uols.cells(seeds, SHIFTS)


ARTEFACT = Artefact(
    "table-mon-squ",
    "Error, and squared error of the tracked class mix, under monotone and square shifts",
    "Table 7 (appendix)",
    "table",
    ("error", "mse", "mse_true"),
    ("dataset", "shift"),
    cells,
    claims=lambda findings: [*on_every_set(findings, SHIFTS), *of_the_abstract(findings, SHIFTS)],
    note="As table-uols, with the other two shifts.",
)
