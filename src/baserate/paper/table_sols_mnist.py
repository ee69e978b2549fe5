"""Learning from labels along the stream: MNIST."""

from baserate.paper import sols
from baserate.paper.artefact import Artefact
from baserate.paper.runs.cells import Cell
from baserate.paper.sols import NOTE

DATASET, MOST_SEEDS = "mnist", 3


def cells(seeds: int) -> list[Cell]:
    """All four learners."""
    return sols.cells(DATASET, min(seeds, MOST_SEEDS))


ARTEFACT = Artefact(
    "table-sols-mnist",
    "Labels that arrive after each prediction: continual training, re-sampling, weighted ERM (MNIST)",
    "Table 5 (appendix)",
    "table",
    ("error", "mse", "mse_true"),
    ("dataset", "shift"),
    cells,
    claims=lambda findings: sols.order(findings, DATASET),
    note=NOTE,
)
