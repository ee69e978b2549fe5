"""Table: time of the supervised runs, which continual training saves."""

from baserate_lab.paper import sols, table_sols_cifar, table_sols_mnist
from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.findings import Findings
from baserate_lab.paper.pages.records import Claim
from baserate_lab.paper.runs.cells import PaperCell

METHODS = ("CT-RS/FLH-FTL", "w-ERM")
DATASETS = ("cifar10", "mnist")


def cells(seeds: int) -> list[PaperCell]:
    """Cells of the other two tables."""
    found = [*table_sols_cifar.ARTEFACT.cells(seeds), *table_sols_mnist.ARTEFACT.cells(seeds)]
    return [cell for cell in found if cell.method in METHODS]


def claims(findings: Findings) -> list[Claim]:
    """Claims that re-sampling is several times faster, in time and in gradient steps."""
    found = []
    for dataset in DATASETS:
        for metric, text, least in (
            ("minutes", "CT-RS takes a fifth of the time of weighted ERM, or less.", 5),
            ("steps", "CT-RS takes a third of the gradient steps of weighted ERM, or fewer.", 3),
        ):
            fast, slow = (findings.values(metric, dataset=dataset, method=method) for method in METHODS)
            if not fast or not slow:
                found.append(Claim("table-time", f"{dataset}: {text}", None, "not run"))
                continue
            ratio = (sum(slow.values()) / len(slow)) / (sum(fast.values()) / len(fast))
            found.append(Claim("table-time", f"{dataset}: {text}", ratio >= least, f"{ratio:.1f} times less"))
    return found


ARTEFACT = Artefact(
    "table-time",
    "Minutes and gradient steps of a supervised run",
    "Table 6 (appendix)",
    "table",
    ("minutes", "steps"),
    ("dataset", "shift"),
    cells,
    claims=claims,
    note=f"{sols.NOTE} One core each; the published times are of another machine and, on CIFAR-10, of a ResNet18, so "
    "that only their ratio can be compared.",
)
