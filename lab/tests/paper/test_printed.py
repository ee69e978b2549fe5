"""The paper's numbers: all of them, each once, and cells of every table as read from its page."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from baserate_lab.paper import printed
from baserate_lab.paper.printed import find, load

DATASETS = {"synthetic", "mnist", "cifar10", "eurosat", "fashion", "arxiv"}
METHODS = {
    *("Base", "OFC", "Oracle", "FTH", "FTFWH", "ROGD", "UOGD", "ATLAS", "FLH-FTL", "RT-FLH-FTL"),
    *("CT", "CT-RS/FTH", "CT-RS/FLH-FTL", "w-ERM"),
}
WIDE = {
    "table-uols": ("ber", "sin"),
    "table-mon-squ": ("mon", "squ"),
    "table-all-holdout": ("ber", "sin"),
}
ORDER = ("synthetic", "mnist", "cifar10", "eurosat", "fashion", "arxiv")


def test_as_many_numbers_as_the_tables_have():
    assert Counter((p.artefact, p.metric) for p in load()) == {
        ("table-uols", "error"): 9 * 12,
        ("table-uols", "mse"): 4 * 12,
        ("table-mon-squ", "error"): 9 * 12,
        ("table-mon-squ", "mse"): 4 * 12,
        ("table-all-holdout", "error"): 9 * 12,
        ("table-all-holdout", "mse"): 4 * 12,
        ("table-rf", "error"): 6,
        ("table-rf", "mse"): 5,
        ("table-sols-cifar", "error"): 4,
        ("table-sols-cifar", "mse"): 2,
        ("table-sols-mnist", "error"): 4,
        ("table-sols-mnist", "mse"): 2,
        ("table-time", "minutes"): 2 * 2,
        ("table-marginals", "error"): 2 * 8 * 9,
        ("table-retrain", "error"): 6 * 8,
        ("table-complexity", "time"): 3,
        ("table-complexity", "memory"): 3,
    }


def test_no_cell_comes_twice():
    keys = Counter((p.artefact, p.dataset, p.shift, p.variant, p.method, p.metric) for p in load())
    assert set(keys.values()) == {1}


def test_labels_are_of_the_fixed_sets():
    for p in load():
        if p.artefact == "table-complexity":
            assert (p.dataset, p.shift, p.variant, p.std_text) == ("", "", "", "")
            assert p.method in {"FLH-FTL", "Aligator", "Arrows"}
            continue
        assert p.dataset in DATASETS
        assert p.shift in WIDE.get(p.artefact, ("ber", "sin", "mon", "squ"))
        assert p.method in METHODS
        variants = {"marginal=BBSE", "marginal=MLLS", "marginal=RLLS"} if p.artefact == "table-marginals" else {""}
        assert p.variant in variants


def test_every_table_has_one_place():
    """The text before any remark on a label; the wide tables have two parts, one for each metric."""
    places = {(p.artefact, p.metric if p.artefact in WIDE else "", p.where.split(";")[0]) for p in load()}
    assert len(places) == len({place[:2] for place in places}) == 13
    numbers = {artefact: where.split(" (")[0] for artefact, _, where in places}
    assert numbers == {
        "table-uols": "Table 1",
        "table-rf": "Table 2",
        "table-sols-cifar": "Table 3",
        "table-complexity": "Table 4",
        "table-sols-mnist": "Table 5",
        "table-time": "Table 6",
        "table-mon-squ": "Table 7",
        "table-all-holdout": "Table 8",
        "table-marginals": "Table 9",
        "table-retrain": "Table 10",
    }
    for artefact in WIDE:
        parts = {(p.metric, p.where.rsplit(", ")[-1]) for p in load() if p.artefact == artefact}
        assert parts == {("error", "top"), ("mse", "bottom")}


# Read from the pages, a row at a time: "mean std", and a star for bold.
ROWS = [
    ("table-uols", "ROGD", "error", "7.9 0.3|7.2 0.6|6.2 2.8|4.4 1.5|16 3|13 0|14 1|13 1|10 1|8.2 0.7|23 2|17 1"),
    (
        *("table-uols", "FLH-FTL", "error"),
        "5.4 0.7*|5.4 0.4*|4.4 0.7*|3.3 0.2*|10 0*|11 0*|9.2 0.4*|9.6 0.1*|7.7 0.4*|7.0 0.0|19 1*|14 0*",
    ),
    (
        *("table-uols", "FTFWH", "mse"),
        "0.19 0.02|0.09 0.00|0.26 0.02|0.13 0.00|0.25 0.02|0.13 0.00*"
        "|0.25 0.01|0.13 0.00*|0.25 0.04|0.14 0.01*|0.27 0.02|0.15 0.00*",
    ),
    (
        *("table-mon-squ", "FTFWH", "error"),
        "6.3 0.2*|7.0 0.0|4.0 0.0*|4.1 0.1|12 0*|13 0|9.9 0.2*|11 0|8.4 0.3*|9.1 0.5|18 1*|18 0",
    ),
    (
        *("table-mon-squ", "FLH-FTL", "mse"),
        "0.05 0.00*|0.11 0.00*|0.07 0.00*|0.15 0.00*|0.09 0.01|0.17 0.00*"
        "|0.08 0.01|0.17 0.01*|0.09 0.01|0.18 0.02*|0.11 0.00|0.24 0.00*",
    ),
    (
        *("table-all-holdout", "UOGD", "error"),
        "7.6 0.4|7.0 0.0|3.2 0.2*|3.2 0.2*|11 0*|10 0*|7.7 0.0*|7.3 0.2*|9.6 0.2|8.6 0.1|19 0*|14 0*",
    ),
    (
        *("table-all-holdout", "ROGD", "mse"),
        "0.29 0.00|0.23 0.00|0.43 0.00|0.33 0.00|0.31 0.00|0.21 0.00"
        "|0.41 0.00|0.34 0.00|0.45 0.08|0.31 0.00|0.34 0.00|0.28 0.00",
    ),
]


@pytest.mark.parametrize(("artefact", "method", "metric", "row"), ROWS)
def test_rows_of_the_wide_tables(artefact, method, metric, row):
    columns = [(dataset, shift) for dataset in ORDER for shift in WIDE[artefact]]
    for (dataset, shift), cell in zip(columns, row.split("|"), strict=True):
        _agrees(find(artefact, dataset=dataset, shift=shift, variant="", method=method, metric=metric), cell)


CELLS = [
    ("table-rf", "mnist", "ber", "", "Base", "error", "18 1"),
    ("table-rf", "mnist", "ber", "", "Oracle", "error", "6.3 1.3"),
    ("table-rf", "mnist", "ber", "", "ROGD", "error", "19 3"),
    ("table-rf", "mnist", "ber", "", "FLH-FTL", "error", "13 2*"),
    ("table-rf", "mnist", "ber", "", "Oracle", "mse", "0.0 0.0"),
    ("table-rf", "mnist", "ber", "", "FTH", "mse", "0.3 0.0"),
    ("table-rf", "mnist", "ber", "", "FLH-FTL", "mse", "0.2 0.0*"),
    ("table-sols-cifar", "cifar10", "ber", "", "CT", "error", "20.0 0.5"),
    ("table-sols-cifar", "cifar10", "ber", "", "CT-RS/FTH", "error", "18.38 0.4"),
    ("table-sols-cifar", "cifar10", "ber", "", "CT-RS/FLH-FTL", "error", "17.12 0.8*"),
    ("table-sols-cifar", "cifar10", "ber", "", "w-ERM", "error", "16.32 0.7"),
    ("table-sols-cifar", "cifar10", "ber", "", "CT-RS/FTH", "mse", "0.18 0.01"),
    ("table-sols-cifar", "cifar10", "ber", "", "CT-RS/FLH-FTL", "mse", "0.12 0.01*"),
    ("table-sols-mnist", "mnist", "ber", "", "CT", "error", "5.0 0.5"),
    ("table-sols-mnist", "mnist", "ber", "", "CT-RS/FTH", "error", "4.71 0.2"),
    ("table-sols-mnist", "mnist", "ber", "", "CT-RS/FLH-FTL", "error", "4.53 0.1*"),
    ("table-sols-mnist", "mnist", "ber", "", "w-ERM", "error", "3.2 0.4"),
    ("table-sols-mnist", "mnist", "ber", "", "CT-RS/FTH", "mse", "0.12 0.01"),
    ("table-sols-mnist", "mnist", "ber", "", "CT-RS/FLH-FTL", "mse", "0.08 0.01*"),
    ("table-time", "cifar10", "ber", "", "CT-RS/FLH-FTL", "minutes", "145 3.7*"),
    ("table-time", "cifar10", "ber", "", "w-ERM", "minutes", "1882 14"),
    ("table-time", "mnist", "ber", "", "CT-RS/FLH-FTL", "minutes", "20 2.7*"),
    ("table-time", "mnist", "ber", "", "w-ERM", "minutes", "107 3.6"),
    ("table-marginals", "synthetic", "ber", "marginal=MLLS", "ATLAS", "error", "7.9 0.5"),
    ("table-marginals", "cifar10", "ber", "marginal=RLLS", "ROGD", "error", "15 2"),
    ("table-marginals", "fashion", "ber", "marginal=MLLS", "FLH-FTL", "error", "7.3 0.3*"),
    ("table-marginals", "fashion", "ber", "marginal=BBSE", "FTH", "error", "8.5 0.3"),
    ("table-marginals", "fashion", "sin", "marginal=MLLS", "UOGD", "error", "9.4 0.9"),
    ("table-marginals", "fashion", "sin", "marginal=RLLS", "FTH", "error", "6.8 0.4*"),
    ("table-marginals", "cifar10", "sin", "marginal=MLLS", "FLH-FTL", "error", "10 0*"),
    ("table-marginals", "synthetic", "sin", "marginal=BBSE", "OFC", "error", "5.5 0.2"),
    ("table-retrain", "synthetic", "mon", "", "FTH", "error", "7.0 0.0"),
    ("table-retrain", "synthetic", "sin", "", "RT-FLH-FTL", "error", "6.2 0.2"),
    ("table-retrain", "synthetic", "ber", "", "UOGD", "error", "7.6 0.4"),
    ("table-retrain", "synthetic", "squ", "", "FLH-FTL", "error", "5.5 0.2*"),
    ("table-retrain", "cifar10", "mon", "", "OFC", "error", "14 0"),
    ("table-retrain", "cifar10", "sin", "", "Base", "error", "16 0"),
    ("table-retrain", "cifar10", "ber", "", "RT-FLH-FTL", "error", "11 0*"),
    ("table-retrain", "cifar10", "squ", "", "UOGD", "error", "13 0"),
]


@pytest.mark.parametrize(("artefact", "dataset", "shift", "variant", "method", "metric", "cell"), CELLS)
def test_cells_of_the_other_tables(artefact, dataset, shift, variant, method, metric, cell):
    _agrees(find(artefact, dataset=dataset, shift=shift, variant=variant, method=method, metric=metric), cell)


def _agrees(found, cell):
    mean, std = cell.rstrip("*").split()
    assert (found.mean_text, found.std_text, found.bold) == (mean, std, cell.endswith("*"))
    assert (found.mean, found.std) == (float(mean), float(std))


@pytest.mark.parametrize(
    ("method", "time", "memory"), [("FLH-FTL", "T^2", "T^2"), ("Aligator", "T log T", "T"), ("Arrows", "T log T", "1")]
)
def test_growths_are_texts_and_never_numbers(method, time, memory):
    for metric, growth in (("time", time), ("memory", memory)):
        found = find("table-complexity", dataset="", shift="", variant="", method=method, metric=metric)
        assert (found.mean_text, found.std_text, found.mean, found.std) == (growth, "", None, None)


def test_as_many_bold_cells_as_printed():
    bold = Counter((p.artefact, p.metric, p.method) for p in load() if p.bold)
    ours = {key[:2]: count for key, count in bold.items() if key[2] in ("FLH-FTL", "CT-RS/FLH-FTL")}
    assert ours == {
        ("table-uols", "error"): 11,
        ("table-uols", "mse"): 12,
        ("table-mon-squ", "error"): 10,
        ("table-mon-squ", "mse"): 8,
        ("table-all-holdout", "error"): 8,
        ("table-all-holdout", "mse"): 12,
        ("table-rf", "error"): 1,
        ("table-rf", "mse"): 1,
        ("table-sols-cifar", "error"): 1,
        ("table-sols-cifar", "mse"): 1,
        ("table-sols-mnist", "error"): 1,
        ("table-sols-mnist", "mse"): 1,
        ("table-time", "minutes"): 2,
        ("table-marginals", "error"): 16,
        ("table-retrain", "error"): 8,
    }
    assert sum(bold.values()) == 160
    assert not {"Base", "OFC", "Oracle", "ROGD", "CT", "w-ERM"} & {method for _, _, method in bold}


def test_the_oracle_is_better_than_the_model_as_it_is_in_every_column():
    columns = 0
    for best, base in (("Oracle", "Base"), ("w-ERM", "CT")):
        for p in load():
            if p.method == best and p.metric == "error":
                other = find(p.artefact, dataset=p.dataset, shift=p.shift, variant="", method=base, metric="error")
                assert p.mean < other.mean
                columns += 1
    assert columns == 3 * 12 + 1 + 2


def test_labels_that_are_not_as_printed_say_so():
    remarks = {(p.artefact, p.method, p.where.split("; ")[1]) for p in load() if ";" in p.where}
    assert remarks == {
        ("table-retrain", "FTH", "printed as FTFWH"),
        ("table-retrain", "FLH-FTL", "printed as RW-FLH-FTL"),
        ("table-sols-mnist", "CT-RS/FTH", "printed as FLH"),
        ("table-sols-mnist", "CT-RS/FLH-FTL", "printed as FLT-FTL"),
        ("table-time", "CT-RS/FLH-FTL", "printed as CT-RS"),
    }


def test_the_row_printed_as_ftfwh_has_the_numbers_of_fth():
    """The reason for its label: with the same holdout, they are printed a second time."""

    def cell(artefact, method, dataset, shift):
        found = find(artefact, dataset=dataset, shift=shift, variant="", method=method, metric="error")
        return found.mean_text, found.std_text

    columns = [(dataset, shift) for dataset in ("synthetic", "cifar10") for shift in ("ber", "sin")]
    row = [cell("table-retrain", "FTH", *column) for column in columns]
    assert row == [cell("table-all-holdout", "FTH", *column) for column in columns]
    assert row != [cell("table-all-holdout", "FTFWH", *column) for column in columns]


def test_estimates_by_bbse_are_those_of_the_first_table():
    for p in load():
        if p.variant == "marginal=BBSE":
            first = find("table-uols", dataset=p.dataset, shift=p.shift, variant="", method=p.method, metric="error")
            assert (p.mean_text, p.std_text, p.bold) == (first.mean_text, first.std_text, first.bold)


def test_what_is_not_printed_is_not_found():
    assert find("table-rf", dataset="mnist", shift="ber", variant="", method="Base", metric="mse") is None
    assert find("figure", dataset="mnist", shift="ber", variant="", method="Base", metric="error") is None


def test_the_file_is_read_once_and_has_the_columns_it_should():
    assert load() is load()
    with Path(printed.__file__).with_name("printed.csv").open(newline="") as lines:
        assert ",".join(next(csv.reader(lines))) == "artefact,where,dataset,shift,variant,method,metric,mean,std,bold"
