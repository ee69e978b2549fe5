import pytest

from baserate_lab.models import RECIPES
from baserate_lab.paper.runs import base_models, growth, learning, problems
from baserate_lab.paper.runs import run as door
from baserate_lab.paper.runs.cells import Cell, Result, grid
from baserate_lab.paper.runs.problems import ALL, CIFAR10, CIFAR10_ONLINE, MNIST, SHL, SYNTHETIC, TABLE


def test_a_cheap_model_is_trained_for_each_seed():
    cells = list(grid(SYNTHETIC, ("ber", "sin"), ("Base", "FTH"), 2))
    assert cells == [
        Cell("synthetic", "linear", shift, 240, method, seed, seed)
        for seed in (0, 1)
        for shift in ("ber", "sin")
        for method in ("Base", "FTH")
    ]
    assert cells[-1][7:] == ("BBSE", 10, 1000, 0.8)


def test_a_dear_one_is_trained_once():
    assert [(c.seed, c.model_seed) for c in grid(CIFAR10, ("mon",), ("Base",), 3)] == [(0, 0), (1, 0), (2, 0)]


def test_no_more_seeds_than_the_problem_has():
    few = SYNTHETIC._replace(most_seeds=2)
    assert [cell.seed for cell in grid(few, ("mon",), ("Base",), 3)] == [0, 1]
    assert [cell.seed for cell in grid(few, ("mon",), ("Base",), 1)] == [0]


def test_what_is_fixed_is_fixed():
    (cell,) = grid(SHL, ("real",), ("OFC",), 1, holdout=7, marginal="MLLS", batch_size=3, n_rounds=5, train_share=0.5)
    assert cell == Cell("hapt", "linear", "real", 7, "OFC", 0, 0, "MLLS", 3, 5, 0.5)


def test_every_problem_is_one_that_can_be_trained():
    for problem in ALL:
        # One is trained along the stream only, and stands there for what is said of it.
        assert ((problem.dataset, problem.model) in RECIPES) is (problem != CIFAR10_ONLINE)
        assert problems.find(problem.dataset, problem.model) is problem
        assert 0 < problem.small < problem.full
    assert problems.find("mnist", "linear") is None


def test_what_is_not_the_papers_data_says_so_and_why():
    assert {p.dataset: p.stand_in for p in ALL if p.stand_in} == {
        "crop": "eurosat",
        "arxiv-random": "arxiv",
        "hapt": "shl",
    }
    assert [p.printed for p in TABLE] == ["synthetic", "mnist", "cifar10", "eurosat", "fashion", "arxiv"]
    assert all(p.differs for p in ALL if p.stand_in)


def test_what_is_not_the_papers_network_says_so():
    assert (CIFAR10_ONLINE.dataset, CIFAR10_ONLINE.model, CIFAR10_ONLINE.printed) == ("cifar10", "pca-mlp", "cifar10")
    assert CIFAR10_ONLINE not in TABLE
    assert "not a ResNet18" in CIFAR10_ONLINE.differs
    assert "784-20-10 that was run" in MNIST.differs
    assert (MNIST.lipschitz, MNIST.uogd_lipschitz) == (0.696, 1.0)


def test_each_cell_goes_to_its_own_kind_of_run(monkeypatch):
    for kind in (growth, learning, door.adapting):
        monkeypatch.setattr(kind, "run", lambda _, kind=kind: kind.__name__.rpartition(".")[2])
    where = ("mnist", "mlp", "ber", 0)
    assert door.run(Cell(*where, "CT", 0)) == "learning"
    assert door.run(Cell(*where, "w-ERM", 0)) == "learning"
    assert door.run(Cell(*where, "FLH-FTL", 0)) == "adapting"
    assert door.run(Cell("", "", "", 0, "FLH-FTL", 0)) == "growth"


@pytest.mark.parametrize(
    ("cell", "key"),
    [
        (Cell("mnist", "mlp", "ber", 9, "FTH", 3, 2, train_share=0.5), ("mnist", "mlp", 2, 0.5, False)),
        (Cell("mnist", "mlp", "ber", 9, "UOGD", 3, 2), ("mnist", "mlp", 2, 0.8, True)),
        (Cell("mnist", "mlp", "ber", 9, "ATLAS", 0), ("mnist", "mlp", 0, 0.8, True)),
        (Cell("mnist", "mlp", "ber", 9, "RT-FLH-FTL", 0), ("mnist", "mlp", 0, 0.8, True)),
        (Cell("mnist", "mlp", "ber", 0, "CT", 0), None),
        (Cell("", "", "", 0, "FLH-FTL", 0), None),
    ],
)
def test_the_base_model_that_a_cell_needs(cell, key):
    assert door.base_model(cell) == key


def test_preparing_loads_the_very_base_model_that_the_cells_ask_for():
    key = ("synthetic", "linear", 0, 0.8, False)
    base_models.load.cache_clear()
    door.prepare(key)
    base_models.load(*key)
    assert (base_models.load.cache_info().misses, base_models.load.cache_info().hits) == (1, 1)


@pytest.mark.parametrize("cell", [Cell("", "", "", 0, "Arrows", 1, n_rounds=9)])
def test_a_result_has_the_fields_of_its_columns(cell):
    assert type(door.run(cell)) is Result
    assert not set(Cell._fields) & set(Result._fields)
