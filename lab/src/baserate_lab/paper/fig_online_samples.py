"""Figure: error against the number of samples per round."""

from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.findings import Findings
from baserate_lab.paper.pages.records import Claim
from baserate_lab.paper.runs.cells import PaperCell, grid
from baserate_lab.paper.runs.methods import PAPER
from baserate_lab.paper.runs.problems import CIFAR10_NARROW

PROBLEM, SHIFT = CIFAR10_NARROW, "ber"
SIZES = (1, 3, 10, 30, 100, 300)
METHODS = (*PAPER, "BBSE")


def cells(seeds: int) -> list[PaperCell]:
    """Cells of streams with every batch size."""
    return [cell for size in SIZES for cell in grid(PROBLEM, (SHIFT,), METHODS, seeds, batch_size=size)]


def claims(findings: Findings) -> list[Claim]:
    """Claim that BBSE alone becomes competitive with many samples per round."""
    text = (
        "BBSE alone, far behind with few samples a round, becomes competitive with many: it comes within half a point "
        "of FLH-FTL, and below UOGD."
    )
    few, many = SIZES[0], SIZES[-1]
    found = {
        (m, n): findings.values("error", method=m, batch_size=n)
        for m in ("BBSE", "FLH-FTL", "UOGD")
        for n in (few, many)
    }
    if not all(found.values()):
        return [Claim("fig-online-samples", text, None, "not run")]
    mean = {key: sum(values.values()) / len(values) for key, values in found.items()}
    holds = (
        mean["BBSE", few] > mean["FLH-FTL", few] + 0.5
        and mean["BBSE", many] < mean["FLH-FTL", many] + 0.5
        and mean["BBSE", many] < mean["UOGD", many]
    )
    evidence = "; ".join(
        f"{n} a round: " + ", ".join(f"{m} {mean[m, n]:.2f}" for m in ("BBSE", "FLH-FTL", "UOGD")) for n in (few, many)
    )
    return [Claim("fig-online-samples", text, holds, evidence)]


ARTEFACT = Artefact(
    "fig-online-samples",
    "Error, and squared error of the tracked mix, against the number of samples a round (CIFAR-10, Bernoulli)",
    "Figure 4 (appendix)",
    "figure",
    ("error", "mse"),
    ("dataset",),
    cells,
    x="variant",
    varying="batch_size",
    claims=claims,
    note="The figure prints no numbers to compare with. BBSE uses the latest estimate. The "
    "network is the one that was trained with augmentation, and errs on 10 %.",
)
