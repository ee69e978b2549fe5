"""Figure: error against the share of labelled data used for training instead of the holdout."""

from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.claims import ALTERNATIVES
from baserate_lab.paper.findings import Findings
from baserate_lab.paper.pages.records import Claim
from baserate_lab.paper.runs.cells import PaperCell, grid
from baserate_lab.paper.runs.methods import PAPER
from baserate_lab.paper.runs.problems import CIFAR10_SMALL

PROBLEM, SHIFT, SAMPLES = CIFAR10_SMALL, "mon", 50_000
SHARES = (0.2, 0.35, 0.5, 0.7, 0.9)


def cells(seeds: int) -> list[PaperCell]:
    """Cells with a base model for each share."""
    return [
        cell
        for share in SHARES
        for cell in grid(PROBLEM, (SHIFT,), PAPER, seeds, train_share=share, holdout=round((1 - share) * SAMPLES))
    ]


def claims(findings: Findings) -> list[Claim]:
    """Claims that FLH-FTL gains from more training data, and more than others do, though that leaves less holdout."""
    return [_most_training(findings), _best_splits(findings)]


def _best_splits(findings: Findings) -> Claim:
    """Claim of the caption that FLH-FTL gains most of training on more: every method at its own best split."""
    text = "FLH-FTL at its best split has a lower error than each alternative at its own best split."
    best = {}
    for method in ("FLH-FTL", *ALTERNATIVES):
        found = {share: findings.values("error", method=method, train_share=share) for share in SHARES}
        if not all(found.values()):
            return Claim("fig-split", text, None, "not run")
        means = {share: sum(values.values()) / len(values) for share, values in found.items()}
        share = min(means, key=means.__getitem__)
        best[method] = means[share], share
    evidence = ", ".join(f"{m} {error:.2f} with {100 * share:.0f} %" for m, (error, share) in best.items())
    return Claim("fig-split", text, all(best["FLH-FTL"][0] < best[m][0] for m in ALTERNATIVES), evidence)


def _most_training(findings: Findings) -> Claim:
    text = "FLH-FTL is at its best with the largest part for training, though that leaves the least holdout."
    found = {share: findings.values("error", method="FLH-FTL", train_share=share) for share in SHARES}
    if not all(found.values()):
        return Claim("fig-split", text, None, "not run")
    means = {share: sum(values.values()) / len(values) for share, values in found.items()}
    evidence = ", ".join(f"{mean:.2f} with {100 * share:.0f} % for training" for share, mean in means.items())
    return Claim("fig-split", text, min(means, key=means.__getitem__) == SHARES[-1], evidence)


ARTEFACT = Artefact(
    "fig-split",
    "Error against the part of the labelled data that is trained on, the rest being the holdout (CIFAR-10, monotone)",
    "Figure 3 (c)",
    "figure",
    ("error",),
    ("dataset",),
    cells,
    x="variant",
    varying="train_share",
    claims=claims,
    note="The figure prints no numbers to compare with. Each point needs a network of its own, so that a small one is "
    "used: a ResNet18 a quarter as wide, trained for 8 epochs.",
)
