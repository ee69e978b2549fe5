"""Table: re-weighting the outputs against retraining the last layer, with the whole holdout."""

from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.claims import standard_error
from baserate_lab.paper.findings import Findings, paired
from baserate_lab.paper.pages.records import Claim
from baserate_lab.paper.runs.cells import PaperCell, grid
from baserate_lab.paper.runs.problems import CIFAR10_NARROW, SYNTHETIC

SHIFTS = ("mon", "sin", "ber", "squ")
METHODS = ("Base", "OFC", "FTH", "UOGD", "FLH-FTL")
RETRAINED = "RT-FLH-FTL"
MOST_SEEDS = {SYNTHETIC: 3, CIFAR10_NARROW: 1}
"""Most seeds of retraining, which fits a layer to the whole holdout in every round and takes minutes per stream."""


def cells(seeds: int) -> list[PaperCell]:
    """Cells of the two data sets of the table."""
    found: list[PaperCell] = []
    for problem, most in MOST_SEEDS.items():
        found += grid(problem, SHIFTS, METHODS, seeds, holdout=problem.full)
        found += grid(problem, SHIFTS, [RETRAINED], min(seeds, most), holdout=problem.full)
    return found


def claims(findings: Findings) -> list[Claim]:
    """Claims that retraining is not better than re-weighting by more than chance."""
    found: list[Claim] = []
    for problem in MOST_SEEDS:
        text = f"{problem.title}: re-weighting is at least as good as retraining."
        parts, holds, known = [], True, True
        for shift in SHIFTS:
            where = {"dataset": problem.dataset, "shift": shift}
            retrained = findings.values("error", method=RETRAINED, **where)
            gaps = paired(retrained, findings.values("error", method="FLH-FTL", **where))
            if len(gaps) == 0:
                found.append(Claim("table-retrain", text, None, f"{shift} was not run"))
                break
            noise = standard_error(gaps)
            known = known and len(gaps) > 1
            holds = holds and bool(gaps.mean() >= -2 * noise)
            parts.append(f"{shift} {gaps.mean():+.2f}" + (f" ± {noise:.2f}" if len(gaps) > 1 else ""))
        else:
            spread = "with standard errors" if known else "of one stream, so that chance is not known"
            evidence = f"points that retraining is worse, {spread}: " + ", ".join(parts)
            found.append(Claim("table-retrain", text, holds if known else None, evidence))
    return found


ARTEFACT = Artefact(
    "table-retrain",
    "Re-weighting (FLH-FTL) against retraining the last layer (RT-FLH-FTL)",
    "Table 10 (appendix)",
    "table",
    ("error",),
    ("dataset", "shift"),
    cells,
    claims=claims,
    note="All of the holdout. The row that the paper calls FTFWH is FTH. A fresh layer is fitted for 50 epochs in "
    "every round, from zero and with Nesterov steps (published: a random start, step 0.5, momentum 0.5). "
    "CIFAR-10 has the network that was trained with augmentation.",
)
