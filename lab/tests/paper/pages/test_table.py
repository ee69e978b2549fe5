"""Rows, columns and cells of a table, whatever it is printed in."""

import pytest

from baserate_lab.paper.pages import html
from baserate_lab.paper.pages.run import Reproduction, ShownArtefact
from baserate_lab.paper.pages.summary import summarise
from baserate_lab.paper.pages.table import blocks

from .made_up import artefact, big_run, record


def by_method(block):
    return dict(block.rows)


def test_the_papers_numbers_have_the_papers_decimals():
    def shown(paper, digits):
        (block,) = blocks(artefact(), [record(paper=paper, digits=digits)])
        return by_method(block)["FTH"][0].paper

    assert shown((8.0, 1.0), 1) == "(8.0 ± 1.0)"
    assert shown((8.0, 1.0), None) == "(8 ± 1)"
    assert shown((0.3, None), 2) == "(0.30)"
    assert shown((145.0, 3.7), 0) == "(145 ± 3.7)"  # none of a spread that is printed finer is lost
    page = html.differing(
        summarise(Reproduction("", 0.0, [ShownArtefact(artefact(), [record(ours=9.0, digits=1)], [])], {}))
    )
    assert "<td>9.00</td><td>5.0</td>" in page


def test_stand_ins_and_times_are_shown_but_not_marked():
    (block,) = blocks(artefact(), [record(ours=9.0, stand_in="eurosat", dataset="crop")])
    assert block.title == "Crop, stand-in for EuroSAT (mlp)"
    assert by_method(block)["FTH"][0][:3] == ("9.00 ± 0.00", "(5 ± 0)", "")
    (block,) = blocks(artefact(metrics=("minutes",)), [record(ours=9.0, metric="minutes")])
    assert by_method(block)["FTH"][0][:3] == ("9.0 ± 0.0", "(5 ± 0)", "")


def test_rows_and_columns_are_in_order():
    records = [
        record(method, dataset=dataset, shift=shift)
        for method in ("Arrows", "FLH-FTL", "w-ERM", "FTH", "Base", "Oracle")
        for dataset in ("mnist", "cifar10")
        for shift in ("ber", "mon")
    ]
    (block,) = blocks(artefact(), records)
    assert block.heads == ["MNIST, Mon", "MNIST, Ber", "CIFAR-10, Mon", "CIFAR-10, Ber"]
    assert [method for method, _ in block.rows] == ["Base", "Oracle", "FTH", "FLH-FTL", "Arrows", "w-ERM"]


def test_a_cell_is_where_it_belongs():
    records = [
        record("FTH", ours=1.0, shift="ber", paper=None),
        record("FTH", ours=2.0, shift="sin", paper=None),
        record("Base", ours=3.0, shift="ber", paper=(16.0, 0.3), seeds=1),
        record("OFC", None, (4.5, None), shift="sin"),
        record("ROGD", None, None),
    ]
    (block,) = blocks(artefact(), records)
    assert block.heads == ["Sin", "Ber"]
    rows = by_method(block)
    assert [cell.ours for cell in rows["FTH"]] == ["2.00 ± 0.00", "1.00 ± 0.00"]
    assert rows["Base"][0] is None
    assert rows["Base"][1][:3] == ("3.00", "(16 ± 0.3)", "*")  # one seed has no spread
    assert rows["OFC"] == [("not run", "(4.5)", "", False), None]
    assert "ROGD" not in rows


def test_digits_are_those_of_the_metric():
    for metric, shown in {"error": "1.23", "mse": "1.235", "minutes": "1.2", "bytes": "1"}.items():
        (block,) = blocks(artefact(metrics=(metric,)), [record(ours=1.23456, paper=0.075, metric=metric)])
        assert by_method(block)["FTH"][0].ours.split()[0] == shown
        assert by_method(block)["FTH"][0].paper == "(0.075 ± 0)"


def test_the_best_adapts_and_ties_are_shared():
    errors = {"Base": 1.0, "OFC": 1.0, "Oracle": 1.0, "w-ERM": 1.0, "FTH": 2.001, "FLH-FTL": 2.004, "ROGD": 2.006}
    (block,) = blocks(artefact(), [record(method, ours) for method, ours in errors.items()])
    assert [method for method, (cell,) in block.rows if cell.best] == ["FTH", "FLH-FTL"]
    (block,) = blocks(artefact(), [record("Base", 1.0), record("FTH", 2.0)])
    assert not any(cell.best for _, (cell,) in block.rows)  # nobody to be better than


def test_wide_tables_are_divided_by_data_set_and_nothing_is_lost():
    part = big_run().artefacts[0]
    found = blocks(part.artefact, part.records)
    assert [(block.title, block.metric) for block in found][:2] == [
        ("Synthetic (linear)", "error"),
        ("MNIST (mlp)", "error"),
    ]
    assert len(found) == 16
    assert all(block.heads == ["Sin", "Ber"] for block in found)
    assert not {"UOGD", "ATLAS"} & {method for block in found if block.metric == "mse" for method, _ in block.rows}
    n_cells = sum(cell is not None for block in found for _, cells in block.rows for cell in cells)
    assert n_cells == sum((r.ours_mean, r.paper_mean) != (None, None) for r in part.records)


def test_many_variants_are_divided_evenly_and_in_order():
    records = [record(variant=f"batch={n}") for n in (100, 1, 10, 50, 5)]
    first, second = blocks(artefact(columns=("variant",)), records)
    assert first.heads + second.heads == ["batch=1", "batch=5", "batch=10", "batch=50", "batch=100"]
    assert [len(first.heads), len(second.heads)] == [3, 2]


def test_numbers_never_share_a_cell():
    (block,) = blocks(artefact(), [record(ours=1.0, model="mlp"), record(ours=2.0, model="forest")])
    assert block.heads == ["mlp", "forest"]
    assert [cell.ours[:1] for cell in by_method(block)["FTH"]] == ["1", "2"]
    with pytest.raises(ValueError, match="table-a: two records"):
        blocks(artefact(), [record(ours=1.0), record(ours=2.0)])
