"""Each cell goes to its own kind of run, with the base model that it needs."""

import pytest

from baserate_lab.paper.runs import base_models, growth, learning
from baserate_lab.paper.runs import run as door
from baserate_lab.paper.runs.cells import PaperCell, PaperResult


def test_each_cell_goes_to_its_own_kind_of_run(monkeypatch):
    for kind in (growth, learning, door.adapting):
        name = kind.__name__.rpartition(".")[2]
        monkeypatch.setattr(kind, f"run_{name}", lambda _, name=name: name)
    where = ("mnist", "mlp", "ber", 0)
    assert door.run_cell(PaperCell(*where, "CT", 0)) == "learning"
    assert door.run_cell(PaperCell(*where, "w-ERM", 0)) == "learning"
    assert door.run_cell(PaperCell(*where, "FLH-FTL", 0)) == "adapting"
    assert door.run_cell(PaperCell("", "", "", 0, "FLH-FTL", 0)) == "growth"


@pytest.mark.parametrize(
    ("cell", "key"),
    [
        (PaperCell("mnist", "mlp", "ber", 9, "FTH", 3, 2, train_share=0.5), ("mnist", "mlp", 2, 0.5, False)),
        (PaperCell("mnist", "mlp", "ber", 9, "UOGD", 3, 2), ("mnist", "mlp", 2, 0.8, True)),
        (PaperCell("mnist", "mlp", "ber", 9, "ATLAS", 0), ("mnist", "mlp", 0, 0.8, True)),
        (PaperCell("mnist", "mlp", "ber", 9, "RT-FLH-FTL", 0), ("mnist", "mlp", 0, 0.8, True)),
        (PaperCell("mnist", "mlp", "ber", 0, "CT", 0), None),
        (PaperCell("", "", "", 0, "FLH-FTL", 0), None),
    ],
)
def test_the_base_model_that_a_cell_needs(cell, key):
    assert door.base_model(cell) == key


def test_preparing_loads_the_very_base_model_that_the_cells_ask_for():
    key = ("synthetic", "linear", 0, 0.8, False)
    base_models.load.cache_clear()
    door.train_base_model(key)
    base_models.load(*key)
    assert (base_models.load.cache_info().misses, base_models.load.cache_info().hits) == (1, 1)


@pytest.mark.parametrize("cell", [PaperCell("", "", "", 0, "Arrows", 1, n_rounds=9)])
def test_a_result_has_the_fields_of_its_columns(cell):
    assert type(door.run_cell(cell)) is PaperResult
    assert not set(PaperCell._fields) & set(PaperResult._fields)
