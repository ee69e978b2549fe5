import json
import math
import re

import pytest
from rich.console import Console

from baserate_lab.paper.pages import html, latex, markdown, names, terminal
from baserate_lab.paper.pages.run import Part, Run
from baserate_lab.paper.pages.summary import summarise
from baserate_lab.paper.pages.table import blocks

from .made_up import artefact, big_run, record


def by_method(block):
    return dict(block.rows)


@pytest.mark.parametrize(
    ("ours", "paper", "mark"),
    [
        ((5.25, 0.0), (5.0, 0.25), ""),  # just within the spread
        ((5.375, 0.0), (5.0, 0.25), "*"),  # beyond the spread, within the tolerance of half a point
        ((5.5, 0.0), (5.0, 0.25), "*"),  # the tolerance itself still agrees
        ((5.5625, 0.0), (5.0, 0.25), "**"),
        ((4.4375, 0.0), (5.0, 0.25), "**"),  # on the other side, too
        ((7.0, 1.0), (5.0, 1.0), ""),  # two spreads together
        ((7.0625, 1.0), (5.0, 1.0), "**"),
        (None, (5.0, 0.0), ""),
        ((9.0, 0.0), None, ""),
    ],
)
def test_marks(ours, paper, mark):
    assert record(ours=ours, paper=paper).mark == mark


def test_a_squared_distance_has_a_tolerance_of_its_own():
    assert record(ours=0.125, paper=0.1, metric="mse").mark == "*"
    assert record(ours=0.135, paper=0.1, metric="mse").mark == "**"


@pytest.mark.parametrize(
    ("metric", "digits", "off", "std", "mark"),
    [
        ("error", 0, 0.5, 0.0, ""),  # 5 is all from 4.5 to 5.5
        ("error", 0, 0.5625, 0.0, "**"),
        ("error", 1, 0.046875, 0.0, ""),
        ("error", 1, 0.0625, 0.0, "*"),  # beyond the digit, within the tolerance
        ("error", 1, 0.25, 0.25, ""),  # the larger of spread and digit
        ("error", 1, 0.265625, 0.25, "*"),
        ("mse", 1, 0.046875, 0.0, ""),  # the digit is coarser than the tolerance of 0.03
        ("mse", 1, 0.0546875, 0.0, "**"),
        ("mse", 3, 0.000375, 0.0, ""),
        ("mse", 3, 0.000625, 0.0, "*"),
        ("mse", None, 0.000375, 0.0, "*"),  # nothing is known of the digits
        ("minutes", 0, 40.0, 0.0, ""),
    ],
)
def test_a_printed_number_is_known_to_half_of_its_last_digit(metric, digits, off, std, mark):
    for ours in (5.0 + off, 5.0 - off):
        assert record(ours=(ours, std), paper=5.0, metric=metric, digits=digits).mark == mark


def test_half_of_the_last_digit():
    assert [record(digits=digits).rounding for digits in (None, 0, 1)] == [0.0, 0.5, 0.05]
    assert record(digits=3).rounding == pytest.approx(0.0005)


def test_a_record_as_json_has_no_number_that_json_has_not():
    made = record("UOGD", (math.inf, math.nan), (5.0, None), digits=1, variant="batch=3")
    said = made.to_json()
    assert json.loads(json.dumps(said, allow_nan=False)) == said
    assert list(said) == [name for name in made._fields if name != "digits"]
    assert [name for name in said if said[name] != getattr(made, name)] == ["ours_mean", "ours_std"]
    assert (said["ours_mean"], said["ours_std"], said["paper_mean"], said["seeds"]) == (None, None, 5.0, 3)
    assert record(ours=-math.inf).to_json()["ours_mean"] is None


def test_a_problem_is_a_data_set_and_its_model():
    assert record(dataset="crop", model="forest").problem == "crop forest"
    assert [names.problem(name) for name in ("crop forest", "cifar10", "x y")] == ["Crop (forest)", "CIFAR-10", "x (y)"]


def test_the_papers_numbers_have_the_papers_decimals():
    def shown(paper, digits):
        (block,) = blocks(artefact(), [record(paper=paper, digits=digits)])
        return by_method(block)["FTH"][0].paper

    assert shown((8.0, 1.0), 1) == "(8.0 ± 1.0)"
    assert shown((8.0, 1.0), None) == "(8 ± 1)"
    assert shown((0.3, None), 2) == "(0.30)"
    assert shown((145.0, 3.7), 0) == "(145 ± 3.7)"  # none of a spread that is printed finer is lost
    page = html.differing(summarise(Run("", 0.0, [Part(artefact(), [record(ours=9.0, digits=1)], [])], {})))
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
    assert rows["Base"][1][:3] == ("3.00", "(16 ± 0.3)", "**")  # one seed has no spread
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


def test_markdown():
    records = [
        record("a|b_c", ours=(2.0, 0.5), paper=(16.0, 0.3), shift="sin"),
        record("FTH", ours=(3.0, 0.5), paper=(3.4, 0.0), seeds=2),
        record("Base", None, (8.0, 1.0)),
    ]
    table = markdown.table(artefact(), records)
    assert table.splitlines() == [
        "MNIST (mlp): Error %",
        "",
        "|  | Sin |",
        "|---|---:|",
        "| Base | not run (8 ± 1) |",
        "| FTH | 3.00 ± 0.50 (3.4 ± 0) |",
        r"| a\|b\_c | **2.00 ± 0.50** (16 ± 0.3) \*\* |",
    ]


def test_latex():
    records = [
        record("R&D_[5%]", ours=(2.0, 0.5), paper=(16.0, 0.3)),
        record("FTH", ours=(3.0, 0.5), paper=None),
        record("Base", None, (8.0, 1.0)),
    ]
    table = latex.table(artefact(title=r"50 % of {x} ~ \y^2"), records)
    lines = table.splitlines()
    assert (
        r"\caption{50 \% of \{x\} \textasciitilde{} \textbackslash{}y\textasciicircum{}2. MNIST (mlp): Error \%.}"
        in lines
    )
    assert lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")] == [
        r"Base & not run \\",
        r" & (8 $\pm$ 1) \\",
        r"FTH & 3.00 $\pm$ 0.50 \\",
        r"R\&D\_{[}5\%{]} & \textbf{2.00 $\pm$ 0.50}\rlap{$^{**}$} \\",
        r" & (16 $\pm$ 0.3) \\",
    ]


def test_latex_is_balanced():
    document = latex.document(big_run())
    opened = re.findall(r"\\begin\{(\w+)\}|\\end\{(\w+)\}", document)
    stack = []
    for begin, end in opened:
        if begin:
            stack.append(begin)
        else:
            assert stack.pop() == end
    assert stack == []
    bare = re.sub(r"\\[\\{}$%&_#]", "", document)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    assert "%" not in bare
    assert document.isascii()
    for body in re.findall(r"\\begin\{tabular\}\{(l(?:r+))\}(.*?)\\end\{tabular\}", document, re.DOTALL):
        rows = [line for line in body[1].splitlines() if line.endswith(r"\\")]
        assert all(len(re.findall(r"(?<!\\)&", row)) == len(body[0]) - 1 for row in rows)
    labels = re.findall(r"\\label\{(.*?)\}", document)
    assert len(labels) == len(set(labels)) > 16


def test_the_terminal_shows_it_all_in_eighty_columns():
    console = Console(width=80)
    with console.capture() as captured:
        terminal.show(console, big_run())
    text = captured.get()
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    assert "Crop, stand-in for EuroSAT (forest): Error %" in text
    assert "120 of 136 numbers (88 %) agree" in text
    assert "CIFAR-10 (resnet18-narrow)" in text
    assert "A narrower network" in text
    assert "Table 1: Every unsupervised method on every data set." in text
    assert "The networks are narrower than the paper's" in text  # the note
    assert "does not hold: FLH-FTL has the lowest error" in text


def test_names_are_not_markup_in_the_terminal():
    console = Console(width=80)
    with console.capture() as captured:
        for table in terminal.tables(artefact(), [record("[bold]x", dataset="[red]")]):
            console.print(table)
    assert "[bold]x" in captured.get()
    assert "[red]" in captured.get()
