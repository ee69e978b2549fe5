"""Table, not in the paper: every method with the library's defaults."""

from baserate_lab.paper.artefact import Artefact
from baserate_lab.paper.runs.cells import REAL, PaperCell, grid
from baserate_lab.paper.runs.methods import DEFAULTS, NEED_FEATURES
from baserate_lab.paper.runs.problems import CIFAR10, CIFAR10_NARROW, FOREST, SHL, TABLE

SHIFTS = ("mon", "squ", "sin", "ber")
HOLDOUT, MOST_SEEDS = 1000, 3
PROBLEMS = (*(CIFAR10_NARROW if problem == CIFAR10 else problem for problem in TABLE), FOREST, SHL)


def cells(seeds: int) -> list[PaperCell]:
    """Cells of every problem; the real stream also in its own order."""
    found: list[PaperCell] = []
    seeds = min(seeds, MOST_SEEDS)
    for problem in PROBLEMS:
        methods = [m for m in ("Base", *DEFAULTS) if problem != FOREST or m not in NEED_FEATURES]
        size = min(HOLDOUT, problem.full)
        found += grid(problem, SHIFTS, methods, seeds, holdout=size)
        if problem == SHL:
            found += grid(problem, (REAL,), methods, 1, holdout=size, n_rounds=7000)
    return found


ARTEFACT = Artefact(
    "table-defaults",
    "Every method with the defaults of this library",
    "not in the paper",
    "table",
    ("error", "mse_true"),
    ("dataset", "shift"),
    cells,
    note="A holdout of 1,000 samples (or all there are), a calibrator that is chosen on it, no horizon, FLH-FTL as it "
    "is written down and with windows for experts; the oracle is told the true mix. CIFAR-10 has "
    "the network that was trained with augmentation, and errs on 10 %.",
)
