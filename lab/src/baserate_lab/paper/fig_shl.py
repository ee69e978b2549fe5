"""Figure: a stream with a real shift, over time."""

import numpy as np

from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.claims import standard_error
from baserate_lab.paper.findings import Findings, paired
from baserate_lab.paper.pages.records import Claim
from baserate_lab.paper.pages.run import Timeline
from baserate_lab.paper.runs import base_models
from baserate_lab.paper.runs.adapting import BLOCKS
from baserate_lab.paper.runs.cells import REAL, PaperCell, grid
from baserate_lab.paper.runs.methods import PAPER
from baserate_lab.paper.runs.problems import SHL


def cells(seeds: int) -> list[PaperCell]:
    """Cells of the stream in its own order; a seed only chooses the part of the holdout."""
    return list(grid(SHL, (REAL,), PAPER, seeds, n_rounds=7000))


def claims(findings: Findings) -> list[Claim]:
    """Claim that the findings on simulated shifts hold on a real one: FLH-FTL against the base model and the others."""
    where = "the stand-in's" if findings.groups()[0].dataset == SHL.dataset else "its"
    text = f"On {where} real stream FLH-FTL makes fewer mistakes than the base model, FTH, FTFWH and ROGD."
    best = findings.values("error", method="FLH-FTL")
    gaps = {m: paired(findings.values("error", method=m), best) for m in ("Base", "FTH", "FTFWH", "ROGD")}
    if not all(len(gap) for gap in gaps.values()):
        return [Claim("fig-shl", text, None, "not run")]
    evidence = ", ".join(f"{m} {gap.mean():+.2f} ± {standard_error(gap):.2f}" for m, gap in gaps.items())
    held = all(gap.mean() > 0 for gap in gaps.values())
    return [
        Claim("fig-shl", text, held, f"points above it, with standard errors over parts of the holdout: {evidence}")
    ]


def timeline(findings: Findings) -> Timeline | None:
    """Methods over time, averaged over seeds, and the label frequencies."""
    curves = {}
    for group in findings.groups():
        found = findings.results(group).values()
        errors = [result.block_errors for result in found if result.block_errors]
        mses = [result.block_mses for result in found if result.block_mses]
        if errors:
            mse = np.mean(mses, axis=0).tolist() if mses else None
            curves[group.method] = (np.mean(errors, axis=0).tolist(), mse)
    if not curves:
        return None
    first = findings.groups()[0]
    base = base_models.load(first.dataset, first.model, first.model_seed, first.train_share, False)
    n_rounds = min(-(-len(base.target_y) // first.batch_size), first.n_rounds)
    labels = np.eye(len(base.class_names))[base.target_y[: n_rounds * first.batch_size]]
    # The blocks of rounds of the results, in samples.
    sizes = [len(block) for block in np.array_split(np.arange(n_rounds), BLOCKS)]
    mixes = [part.mean(axis=0) for part in np.split(labels, first.batch_size * np.cumsum(sizes)[:-1])]
    return Timeline(curves, np.array(mixes), base.class_names, n_rounds / BLOCKS)


ARTEFACT = Artefact(
    "fig-shl",
    "Locomotion over time: accuracy, squared error of the tracked mix, and the class mix itself",
    "Figure 5 (appendix)",
    "figure",
    ("error", "mse"),
    ("dataset",),
    cells,
    x="round",
    claims=claims,
    timeline=timeline,
    note="The published stream has 7,000 rounds of 10 samples; HAPT, which stands in for it, has 566. The figure "
    "prints no numbers to compare with. HAPT's persons differ from those that the model was trained on, so that p(x|y) "
    "moves too, and every method that adapts is worse than the base model.",
)
