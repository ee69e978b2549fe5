"""The cells of a grid."""

from baserate_lab.paper.runs.cells import PaperCell, grid
from baserate_lab.paper.runs.problems import CIFAR10, SHL, SYNTHETIC


def test_a_cheap_model_is_trained_for_each_seed():
    cells = list(grid(SYNTHETIC, ("ber", "sin"), ("Base", "FTH"), 2))
    assert cells == [
        PaperCell("synthetic", "linear", shift, 240, method, seed, seed)
        for seed in (0, 1)
        for shift in ("ber", "sin")
        for method in ("Base", "FTH")
    ]
    assert cells[-1][7:] == ("BBSE", 10, 1000, 0.8)


def test_a_dear_one_is_trained_once_and_seeds_take_turns_at_several():
    assert [(c.seed, c.model_seed) for c in grid(CIFAR10, ("mon",), ("Base",), 3)] == [(0, 0), (1, 0), (2, 0)]
    two = CIFAR10._replace(networks=2)
    assert [(c.seed, c.model_seed) for c in grid(two, ("mon",), ("Base",), 3)] == [(0, 0), (1, 1), (2, 0)]


def test_no_more_seeds_than_the_problem_has():
    few = SYNTHETIC._replace(most_seeds=2)
    assert [cell.seed for cell in grid(few, ("mon",), ("Base",), 3)] == [0, 1]
    assert [cell.seed for cell in grid(few, ("mon",), ("Base",), 1)] == [0]


def test_what_is_fixed_is_fixed():
    (cell,) = grid(SHL, ("real",), ("OFC",), 1, holdout=7, marginal="MLLS", batch_size=3, n_rounds=5, train_share=0.5)
    assert cell == PaperCell("hapt", "linear", "real", 7, "OFC", 0, 0, "MLLS", 3, 5, 0.5)
