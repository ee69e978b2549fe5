"""Learning from labels along the stream: CIFAR-10."""

from baserate.paper import sols
from baserate.paper.artefact import Artefact
from baserate.paper.runs.cells import Cell
from baserate.paper.sols import NOTE

DATASET, MOST_SEEDS = "cifar10", 1


def cells(seeds: int) -> list[Cell]:
    """All four learners."""
    return sols.cells(DATASET, min(seeds, MOST_SEEDS))


ARTEFACT = Artefact(
    "table-sols-cifar",
    "Labels that arrive after each prediction: continual training, re-sampling, weighted ERM (CIFAR-10)",
    "Table 3",
    "table",
    ("error", "mse", "mse_true"),
    ("dataset", "shift"),
    cells,
    claims=lambda findings: sols.order(findings, DATASET),
    note=f"{NOTE} The network is the same MLP on pixels as for MNIST, not a ResNet18: its error is far higher.",
)
