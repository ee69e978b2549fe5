"""Shared parts of the tables of the supervised setting."""

from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.claims import standard_error
from baserate_lab.paper.findings import Findings, paired
from baserate_lab.paper.pages.records import Claim
from baserate_lab.paper.runs.cells import PaperCell
from baserate_lab.paper.runs.learning import BATCH_SIZE, N_ROUNDS

METHODS = ("CT", "CT-RS/FTH", "CT-RS/FLH-FTL", "w-ERM")
STREAM = (
    f"T = {N_ROUNDS} rounds of {BATCH_SIZE} labelled samples, Bernoulli shift, drawn without replacement: a stream "
    "ends early when a class has run out."
)
NOTE = (
    f"{STREAM} CT and CT-RS look at the validation samples after every gradient step, as the text says, and stop when "
    "the best of the last three accuracies is the oldest; weighted ERM starts anew in every round, and trains in "
    "epochs until the best of the last ten is. Both rules were chosen among several after seeing results: what depends "
    "on them is in docs/results/reproduce.md. FLH-FTL is the published variant (windows)."
)


def cells(dataset: str, model: str, seeds: int, methods: tuple[str, ...] = METHODS) -> list[PaperCell]:
    """Cells of every learner on the same streams."""
    return [
        PaperCell(dataset, model, "ber", 0, method, seed, batch_size=BATCH_SIZE, n_rounds=N_ROUNDS)
        for seed in range(seeds)
        for method in methods
    ]


def order(findings: Findings, dataset: str) -> list[Claim]:
    """Claim of the paper's order, checked pair by pair with paired standard errors."""
    name = findings.artefact.name
    text = f"{dataset}: {' > '.join(METHODS)} in mean error."
    errors = [findings.values("error", dataset=dataset, method=method) for method in METHODS]
    if not all(errors):
        return [Claim(name, text, None, "not run")]
    parts, holds, separated = [], True, True
    for worse, better, first, second in zip(errors, errors[1:], METHODS, METHODS[1:], strict=False):
        gaps = paired(worse, better)
        if len(gaps) < 2:
            return [Claim(name, text, None, "one seed says nothing about an order")]
        noise = standard_error(gaps)
        holds = holds and gaps.mean() > 0
        parts.append(f"{first} - {second}: {gaps.mean():.2f} ± {noise:.2f}")
        if abs(gaps.mean()) <= 2 * noise:
            separated = False
            parts[-1] += " (not separated)"
    # Means in this order that may be due to chance decide nothing.
    return [Claim(name, text, bool(holds) if separated or not holds else None, "; ".join(parts))]


def artefact(name: str, dataset: str, model: str, title: str, where: str, *, most_seeds: int, note: str) -> Artefact:
    """Table of a data set."""
    return Artefact(
        name,
        f"Labels that arrive after each prediction: continual training, re-sampling, weighted ERM ({title})",
        where,
        "table",
        ("error", "mse", "mse_true"),
        ("dataset", "shift"),
        lambda seeds: cells(dataset, model, min(seeds, most_seeds)),
        claims=lambda findings: order(findings, dataset),
        note=f"{NOTE} {note}",
    )
