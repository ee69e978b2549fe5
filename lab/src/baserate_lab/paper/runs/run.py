"""Runs of any kind of cell."""

from baserate_lab.paper.runs import adapting, base_models, growth, learning
from baserate_lab.paper.runs.cells import PaperCell, PaperResult
from baserate_lab.paper.runs.methods import NEED_FEATURES

PROTOCOL = 3
"""Raise this when the same cell would give another result: stored cells are then run again."""


def run_cell(cell: PaperCell) -> PaperResult:
    """Run a cell."""
    if cell.dataset == growth.NOTHING:
        return growth.run_growth(cell)
    return learning.run_learning(cell) if cell.method in learning.LEARNERS else adapting.run_adapting(cell)


def base_model(cell: PaperCell) -> tuple[str, str, int, float, bool] | None:
    """Key of the base model that a cell needs, including whether it needs features; None if it needs no model."""
    if cell.dataset == growth.NOTHING or cell.method in learning.LEARNERS:
        return None
    return cell.dataset, cell.model, cell.model_seed, cell.train_share, cell.method in NEED_FEATURES


def train_base_model(key: tuple[str, str, int, float, bool]) -> None:
    """Train a base model, unless it is cached."""
    base_models.load(*key)
