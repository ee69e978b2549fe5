"""Figure: error against the amount of labelled data."""

from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.claims import ALTERNATIVES
from baserate_lab.paper.findings import Findings
from baserate_lab.paper.pages.records import Claim
from baserate_lab.paper.runs.cells import PaperCell, grid
from baserate_lab.paper.runs.methods import PAPER
from baserate_lab.paper.runs.problems import CIFAR10_NARROW

PROBLEM, SHIFT = CIFAR10_NARROW, "mon"
SIZES = (100, 200, 500, 1000, 2000, 5000, 10_000)


def cells(seeds: int) -> list[PaperCell]:
    """Cells of the same streams with every size of holdout."""
    return [cell for size in SIZES for cell in grid(PROBLEM, (SHIFT,), PAPER, seeds, holdout=size)]


def claims(findings: Findings) -> list[Claim]:
    """Claims that FLH-FTL hardly depends on the size of the holdout and UOGD does, and that it is ahead throughout."""
    return [*_of_sizes(findings), _ahead(findings, "error"), _ahead(findings, "mse")]


def _ahead(findings: Findings, metric: str) -> Claim:
    """Claim of the caption that FLH-FTL outperforms every alternative at every size."""
    what = {"error": "classification error", "mse": "squared error of the class mix"}[metric]
    text = f"FLH-FTL outperforms all alternatives at every size of holdout in {what}."
    better: dict[str, list[str]] = {}
    for size in SIZES:
        ours = findings.values(metric, method="FLH-FTL", holdout=size)
        for method in ALTERNATIVES:
            theirs = findings.values(metric, method=method, holdout=size)
            if not ours or (not theirs and metric == "error"):
                return Claim("fig-holdout", text, None, "not run")
            if theirs and _mean(theirs) <= _mean(ours):
                better.setdefault(method, []).append(f"{size:,} by {_mean(ours) - _mean(theirs):.3f}")
    evidence = "; ".join(f"{method} is ahead with {', '.join(sizes)}" for method, sizes in better.items())
    return Claim("fig-holdout", text, not better, evidence or f"at {len(SIZES)} sizes")


def _of_sizes(findings: Findings) -> list[Claim]:
    errors = {
        method: [findings.values("error", method=method, holdout=size) for size in (SIZES[0], SIZES[-1])]
        for method in ("FLH-FTL", "UOGD")
    }
    texts = (
        "FLH-FTL is insensitive to the size of the holdout: between the least and all it changes by less than a third "
        "of what UOGD does.",
        "UOGD improves with more holdout.",
    )
    if not all(found for pair in errors.values() for found in pair):
        return [Claim("fig-holdout", text, None, "not run") for text in texts]
    change = {m: _mean(least) - _mean(most) for m, (least, most) in errors.items()}
    evidence = ", ".join(
        f"{m} {_mean(least):.2f} with {SIZES[0]}, {_mean(most):.2f} with {SIZES[-1]:,}"
        for m, (least, most) in errors.items()
    )
    return [
        Claim("fig-holdout", texts[0], abs(change["FLH-FTL"]) < abs(change["UOGD"]) / 3, evidence),
        Claim("fig-holdout", texts[1], change["UOGD"] > 0, evidence),
    ]


def _mean(values: dict[int, float]) -> float:
    return sum(values.values()) / len(values)


ARTEFACT = Artefact(
    "fig-holdout",
    "Error, and squared error of the tracked mix, against the size of the holdout (CIFAR-10, monotone shift)",
    "Figure 3 (a) and (b)",
    "figure",
    ("error", "mse"),
    ("dataset",),
    cells,
    x="holdout",
    claims=claims,
    note="The figure prints no numbers to compare with. The smaller holdouts lie within the larger ones. The "
    "network is the one that was trained with augmentation, and errs on 10 %.",
)
