"""Table, not in the paper's experiments: Algorithm 4, which trains only when it is worth it."""

from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.claims import standard_error
from baserate_lab.paper.findings import Findings, paired
from baserate_lab.paper.pages.records import Claim
from baserate_lab.paper.runs.cells import PaperCell
from baserate_lab.paper.runs.learning import BATCH_SIZE, LINEAR, N_COMPONENTS, N_ROUNDS

METHODS = ("TrainByWeights", "Lazy", "Lazy, literal")
SHIFTS = ("ber", "mon")
MOST_SEEDS = 10
MOST_POINTS, MOST_CALLS = 0.5, 0.15


def cells(seeds: int) -> list[PaperCell]:
    """Cells of every learner on the same streams."""
    return [
        PaperCell("mnist", LINEAR, shift, 0, method, seed, batch_size=BATCH_SIZE, n_rounds=N_ROUNDS)
        for seed in range(min(seeds, MOST_SEEDS))
        for shift in SHIFTS
        for method in METHODS
    ]


def claims(findings: Findings) -> list[Claim]:
    """Claims that a small part of the trainings does nearly as well."""
    found = []
    for shift in SHIFTS:
        text = f"{shift}: training in at most {MOST_CALLS:.0%} of the rounds costs at most {MOST_POINTS} points."
        every, lazy = (
            {m: findings.values(m, shift=shift, method=name) for m in ("error", "calls")} for name in METHODS[:2]
        )
        gaps = paired(lazy["error"], every["error"])
        if len(gaps) < 2:
            found.append(Claim("table-lazy", text, None, "not run, or one seed only"))
            continue
        share = sum(lazy["calls"].values()) / sum(every["calls"].values())
        evidence = f"{gaps.mean():+.2f} ± {standard_error(gaps):.2f} points with {share:.1%} of the trainings"
        found.append(Claim("table-lazy", text, bool(gaps.mean() <= MOST_POINTS and share <= MOST_CALLS), evidence))
    return found


ARTEFACT = Artefact(
    "table-lazy",
    "Labels that arrive: training only when it is worth it (Algorithm 4)",
    "not in the paper",
    "table",
    ("error", "calls"),
    ("dataset", "shift"),
    cells,
    claims=claims,
    note=f"T = {N_ROUNDS} rounds of {BATCH_SIZE} labelled samples; softmax regression on {N_COMPONENTS} "
    "principal components. TrainByWeights trains in every round, Lazy when its tracker switches, and re-weights its "
    "outputs in every round; literal is the algorithm as written, which does not.",
)
