"""One door to every kind of cell."""

from baserate_lab.paper.runs import adapting, base_models, growth, learning
from baserate_lab.paper.runs.cells import Cell, Result
from baserate_lab.paper.runs.methods import NEED_FEATURES

PROTOCOL = 2
"""To be raised when the same cell comes to mean another run: what was kept before is then run again."""


def run(cell: Cell) -> Result:
    """Run a cell."""
    if cell.dataset == growth.NOTHING:
        return growth.run(cell)
    return learning.run(cell) if cell.method in learning.LEARNERS else adapting.run(cell)


def base_model(cell: Cell) -> tuple[str, str, int, float, bool] | None:
    """What names the base model that a cell needs, if it needs one, and whether it needs the features, too."""
    if cell.dataset == growth.NOTHING or cell.method in learning.LEARNERS:
        return None
    return cell.dataset, cell.model, cell.model_seed, cell.train_share, cell.method in NEED_FEATURES


def prepare(key: tuple[str, str, int, float, bool]) -> None:
    """Train a base model, unless it is there already."""
    base_models.load(*key)
