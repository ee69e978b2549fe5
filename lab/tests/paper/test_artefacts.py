"""Every artefact asks for the cells that its table or figure has, no more and no less."""

import pytest

from baserate_lab.paper import printed
from baserate_lab.paper.artefacts import ARTEFACTS
from baserate_lab.paper.runs import problems
from baserate_lab.paper.runs.cells import PaperCell
from baserate_lab.paper.runs.learning import LEARNERS
from baserate_lab.paper.runs.methods import BEYOND, CALIBRATED, DEFAULTS, METHODS, NEED_FEATURES, PAPER

OF_THE_PAPER = {
    "table-uols", "table-mon-squ", "table-all-holdout", "table-rf", "table-sols-cifar", "table-sols-mnist",
    "table-time", "table-complexity", "table-marginals", "table-retrain",
    "fig-holdout", "fig-split", "fig-online-samples", "fig-shl",
}  # fmt: skip
SEEDS = 2
CELLS = {name: artefact.cells(SEEDS) for name, artefact in ARTEFACTS.items()}
EACH = pytest.mark.parametrize("name", ARTEFACTS)


def only(name, field):
    return {getattr(cell, field) for cell in CELLS[name]}


def test_the_names():
    assert set(ARTEFACTS) == OF_THE_PAPER | {
        "table-arxiv-titles", "table-defaults", "table-lazy", "table-pool", "table-sols-published",
    }  # fmt: skip
    assert all(artefact.name == name for name, artefact in ARTEFACTS.items())
    assert {p.artefact for p in printed.load()} <= OF_THE_PAPER


@EACH
def test_the_kind_is_in_the_name_and_a_figure_has_an_axis(name):
    artefact = ARTEFACTS[name]
    assert name.startswith({"table": "table-", "figure": "fig-"}[artefact.kind])
    assert bool(artefact.x) == (artefact.kind == "figure")
    assert artefact.title
    assert artefact.where


@EACH
def test_no_cell_is_asked_for_twice(name):
    assert len(set(CELLS[name])) == len(CELLS[name]) > 0


@EACH
def test_labels_are_those_that_can_be_run(name):
    trackers = {"FLH-FTL", "Aligator", "Arrows"}
    allowed = {
        "table-complexity": trackers,
        "table-defaults": {"Base", *DEFAULTS},
        "table-rf": {*PAPER, CALIBRATED},
        "table-sols-cifar": set(LEARNERS),
        "table-sols-mnist": set(LEARNERS),
        "table-sols-published": set(LEARNERS),
        "table-time": set(LEARNERS),
        "table-lazy": set(LEARNERS),
        "table-pool": set(LEARNERS),
    }.get(name, {*PAPER, *BEYOND, "BBSE", "RT-FLH-FTL"})
    assert only(name, "method") <= allowed
    assert allowed - trackers <= {*METHODS, *LEARNERS}
    assert set(BEYOND) == {"FLH-FTL (literal)", "FLH-FTL (no lag)"}


@EACH
def test_shifts_are_those_that_can_be_run(name):
    assert only(name, "shift") <= ({""} if name == "table-complexity" else {"mon", "squ", "sin", "ber", "real"})


@EACH
def test_every_cell_that_adapts_is_of_a_problem_and_has_what_its_method_needs(name):
    for cell in CELLS[name]:
        if name == "table-complexity" or cell.method in LEARNERS:
            assert cell.holdout == 0 or name == "table-sols-published"  # samples set apart for validation
            continue
        problem = problems.find(cell.dataset, cell.model)
        assert problem is not None
        assert cell.model_seed == problem.network(cell.seed)
        assert cell.holdout > 0
        assert not (cell.model == "forest" and cell.method in NEED_FEATURES)
        if name != "fig-split":
            assert cell.holdout <= problem.full


@EACH
def test_more_seeds_are_more_of_the_same(name):
    artefact = ARTEFACTS[name]
    one, many = artefact.cells(1), artefact.cells(10)
    assert set(one) == {cell for cell in many if cell.seed == 0}
    assert {cell.seed for cell in one} == {0}
    assert max(cell.seed for cell in many) <= 9


def metrics_of(number):
    # How time and memory grow is not a number: the claims hold ours against it.
    return {"time": "seconds", "memory": "bytes"}.get(number.metric, number.metric)


@pytest.mark.parametrize("name", sorted({p.artefact for p in printed.load()}))
def test_every_printed_number_has_its_cell(name):
    asked = set()
    for cell in CELLS[name]:
        problem = problems.find(cell.dataset, cell.model)
        variant = f"marginal={cell.marginal}" if ARTEFACTS[name].varying == "marginal" else ""
        asked.add((problem.printed if problem else cell.dataset, cell.shift, variant, cell.method))
    said = [p for p in printed.load() if p.artefact == name]
    assert [p for p in said if (p.dataset, p.shift, p.variant, p.method) not in asked] == []
    assert {metrics_of(p) for p in said} <= set(ARTEFACTS[name].metrics)


def test_how_the_tables_differ():
    small = {p.dataset: p.small for p in problems.TABLE}
    for name in ("table-uols", "table-mon-squ"):
        assert {(cell.dataset, cell.holdout) for cell in CELLS[name]} == set(small.items())
        assert only(name, "method") == {*PAPER, *BEYOND}
    assert only("table-uols", "shift") == {"ber", "sin"}
    assert only("table-mon-squ", "shift") == {"mon", "squ"}
    full = {p.dataset: p.full for p in problems.TABLE}
    assert {(cell.dataset, cell.holdout) for cell in CELLS["table-all-holdout"]} == set(full.items())
    assert {(c.dataset, c.holdout) for c in CELLS["table-retrain"]} == {("synthetic", 12_000), ("cifar10", 10_000)}
    assert only("table-rf", "model") == {"forest"}
    assert only("table-marginals", "marginal") == {"BBSE", "MLLS", "RLLS"}
    assert {c.method for c in CELLS["table-time"]} == {"CT-RS/FLH-FTL", "w-ERM"}
    assert set(CELLS["table-time"]) <= {*CELLS["table-sols-cifar"], *CELLS["table-sols-mnist"]}
    assert {(c.n_rounds, c.batch_size) for c in CELLS["table-sols-mnist"]} == {(200, 50)}
    protocols = {(c.n_rounds, c.holdout) for c in CELLS["table-sols-published"]}
    assert protocols == {(200, 0), (200, 500), (1000, 0), (1000, 500)}
    assert {(c.dataset, c.model) for c in CELLS["table-defaults"]} == {
        (p.dataset, p.model) for p in (*problems.TABLE, problems.FOREST, problems.SHL)
    } - {("cifar10", problems.CIFAR10.model)} | {("cifar10", problems.CIFAR10_NARROW.model)}
    assert only("table-complexity", "n_rounds") == {1024, 2048, 4096, 8192, 16384}


def test_how_the_figures_vary():
    assert only("fig-holdout", "holdout") == {100, 200, 500, 1000, 2000, 5000, 10_000}
    assert {(c.train_share, c.holdout) for c in CELLS["fig-split"]} == {
        (0.2, 40_000), (0.35, 32_500), (0.5, 25_000), (0.7, 15_000), (0.9, 5_000)
    }  # fmt: skip
    assert only("fig-online-samples", "batch_size") == {1, 3, 10, 30, 100, 300}
    assert only("fig-online-samples", "method") == {*PAPER, "BBSE"}
    assert {(c.dataset, c.shift, c.n_rounds) for c in CELLS["fig-shl"]} == {("hapt", "real", 7000)}
    assert ARTEFACTS["fig-shl"].metrics == ("error", "mse")  # a real stream has no mix to be drawn from
    assert only("fig-holdout", "shift") == only("fig-split", "shift") == {"mon"}


@EACH
def test_all_but_what_varies_is_told_by_a_record(name):
    """Two groups of cells must not end in the same place of a table."""
    varying = ARTEFACTS[name].varying
    told = ("dataset", "model", "shift", "holdout", "method", "seed", *([varying] if varying else []))
    assert len({tuple(getattr(cell, field) for field in told) for cell in CELLS[name]}) == len(CELLS[name])
    fixed = {field: {getattr(cell, field) for cell in CELLS[name]} for field in PaperCell._fields}
    for field in {"marginal", "batch_size", "train_share"} - {varying}:
        assert len(fixed[field]) == 1
