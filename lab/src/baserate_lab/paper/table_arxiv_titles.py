"""Table: titles of arXiv papers in other categories than the paper's, under all shifts and in their real order."""

from baserate.protocols import FloatArray
from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.claims import standard_error
from baserate_lab.paper.findings import Findings, paired
from baserate_lab.paper.pages.records import Claim
from baserate_lab.paper.runs.cells import REAL, PaperCell, grid
from baserate_lab.paper.runs.methods import PAPER
from baserate_lab.paper.runs.problems import ARXIV_TITLES

SHIFTS = ("ber", "sin", "mon", "squ")
_RIVALS = ("Base", "FTH", "FTFWH", "ROGD", "UOGD", "ATLAS")


def cells(seeds: int) -> list[PaperCell]:
    """Cells of the simulated shifts, and of the target in its own order, where a seed only chooses the holdout."""
    return list(grid(ARXIV_TITLES, (*SHIFTS, REAL), PAPER, seeds))


def claims(findings: Findings) -> list[Claim]:
    """Claims that FLH-FTL is ahead of the base model on simulated shifts, and of all others in the real order."""
    return [_over_base(findings), _in_time(findings)]


def _over_base(findings: Findings) -> Claim:
    text = "FLH-FTL makes fewer mistakes than the base model under every simulated shift."
    gaps = {
        shift: paired(*(findings.values("error", method=method, shift=shift) for method in ("Base", "FLH-FTL")))
        for shift in SHIFTS
    }
    return _claim(text, gaps, "points below it")


def _in_time(findings: Findings) -> Claim:
    text = "In the real order FLH-FTL makes fewer mistakes than the base model and every alternative."
    best = findings.values("error", method="FLH-FTL", shift=REAL)
    gaps = {method: paired(findings.values("error", method=method, shift=REAL), best) for method in _RIVALS}
    return _claim(text, gaps, "points above it")


def _claim(text: str, gaps: dict[str, FloatArray], what: str) -> Claim:
    name = "table-arxiv-titles"
    if not all(len(gap) for gap in gaps.values()):
        return Claim(name, text, None, "not run")
    evidence = ", ".join(f"{of} {gap.mean():+.2f} ± {standard_error(gap):.2f}" for of, gap in gaps.items())
    held = all(gap.mean() > 0 for gap in gaps.values())
    return Claim(name, text, held, f"{what}, with standard errors: {evidence}")


ARTEFACT = Artefact(
    "table-arxiv-titles",
    "arXiv titles, other categories: simulated shifts and the real order of time",
    "not in the paper (beside its arXiv columns of Tables 1 and 7)",
    "table",
    ("error", "mse", "mse_true"),
    ("dataset", "shift"),
    cells,
    claims=claims,
    beside=("table-uols", "table-mon-squ"),
    note="Titles alone, as in the paper, but of papers in other categories, so that the printed numbers stand beside "
    "ours and are counted apart. The encoder (all-MiniLM-L6-v2) and its head were trained for one epoch on titles of "
    "the first two thirds in time; the target is 10,000 titles of the last third, drawn evenly over it. Simulated "
    "shifts draw from that target, whose p(x|y) has moved; 'real' replays it in order of time, 1,000 rounds of ten.",
)
