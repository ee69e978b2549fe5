"""Table, not in the paper: the cost of a bounded memory."""

from baserate_lab.paper import sols
from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.claims import standard_error
from baserate_lab.paper.findings import Findings, paired
from baserate_lab.paper.pages.records import Claim
from baserate_lab.paper.runs.cells import PaperCell
from baserate_lab.paper.runs.learning import NETWORK, POOL

METHODS = ("CT-RS", "CT-RS, 25 % pool")
MOST_SEEDS = 10


def cells(seeds: int) -> list[PaperCell]:
    """Cells of the same learner with all samples and with a quarter of them."""
    return sols.cells("mnist", NETWORK, min(seeds, MOST_SEEDS), METHODS)


def claims(findings: Findings) -> list[Claim]:
    """Claim that a quarter of the samples is nearly enough."""
    text = "With a quarter of the stream in memory the error at the end of the run is within 1 point."
    whole, bounded = (findings.values("end_error", method=method) for method in METHODS)
    gaps = paired(bounded, whole)
    if len(gaps) < 2:
        return [Claim("table-pool", text, None, "not run, or one seed only")]
    evidence = f"{gaps.mean():+.2f} ± {standard_error(gaps):.2f} points in the last quarter of the rounds"
    return [Claim("table-pool", text, bool(gaps.mean() <= 1), evidence)]


ARTEFACT = Artefact(
    "table-pool",
    "Labels that arrive: what a bounded memory costs",
    "not in the paper",
    "table",
    ("error", "end_error"),
    ("dataset", "shift"),
    cells,
    claims=claims,
    note=f"{sols.STREAM} The library's defaults: longer training than in the paper, and FLH-FTL as it is written down. "
    f"Of up to 10,000 samples at most {POOL:,} are kept: all of rare classes, a random choice of the others.",
)
