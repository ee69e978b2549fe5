"""Figure: a stream with a real shift, over time."""

import numpy as np

from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.findings import Findings
from baserate_lab.paper.pages.run import Timeline
from baserate_lab.paper.runs import base_models
from baserate_lab.paper.runs.adapting import BLOCKS
from baserate_lab.paper.runs.cells import REAL, PaperCell, grid
from baserate_lab.paper.runs.methods import PAPER
from baserate_lab.paper.runs.problems import SHL


def cells(seeds: int) -> list[PaperCell]:
    """Cells of the stream in its own order; a seed only chooses the part of the holdout."""
    return list(grid(SHL, (REAL,), PAPER, seeds, n_rounds=7000))


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
    n_rounds = -(-len(base.target_y) // first.batch_size)
    labels = np.eye(len(base.class_names))[base.target_y]
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
    timeline=timeline,
    note="The published stream has 7,000 rounds of 10 samples; HAPT, which stands in for it, has 566. The figure "
    "prints no numbers to compare with.",
)
