"""Options that belong together, and advice that does not repeat what was given."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from ..files.streams import frame, write
from .adapting import adapt, done

pytestmark = pytest.mark.usefixtures("in_a_folder_with_a_holdout")


def refused(result):
    assert result.exit_code == 2, (result.output, result.exception)
    (line,) = result.stderr.splitlines()
    return line


def test_percentages_that_are_all_below_1_are_read_where_the_class_is_rare():
    rng = np.random.default_rng(0)
    y = (np.arange(4000) % 200 == 0).astype(int)
    table = pl.DataFrame({"pct": np.clip(0.4 + 0.3 * y + 0.1 * rng.normal(size=4000), 0.01, 1.0), "label": y})
    table.write_csv("h.csv")
    done("h.csv", "-o", "o.csv", "--score", "pct", "--percent", holdout="h.csv")
    assert pl.read_csv("o.csv")["adapted_p_1"].mean() < 0.05
    table.with_columns(pl.col("pct") / 100).write_csv("h.csv")
    said = refused(adapt("h.csv", "-o", "o.csv", "--score", "pct", "--percent", holdout="h.csv"))
    assert "leave --percent out" in said


def test_the_column_of_late_labels_has_any_name(tmp_path):
    table, _ = frame(200)
    write(table.head(100), tmp_path / "monday.csv")
    write(table.slice(100), tmp_path / "tuesday.csv")
    Path("late.csv").write_text("id,truth\n3,cat\n4,dog\n")
    words = ["--id", "id", "--wait", "1000", "--state", "kept"]
    done("monday.csv", "-o", "m.csv", *words)
    tuesday = ["tuesday.csv", "-o", "t.csv", *words]
    said = refused(adapt(*tuesday, "--late", "late.csv", holdout=None))
    assert "late.csv, column label: there is no such column; it has id, truth" in said
    assert "--late-label" in said
    assert "of the file of --late" in refused(adapt(*tuesday, "--late-label", "truth", holdout=None))
    late = ["--late", "late.csv", "--late-label", "truth", "--json"]
    assert json.loads(done(*tuesday, *late, holdout=None).stdout)["late_labels"] == 2
    assert json.loads(done(*tuesday, *late, holdout=None).stdout)["nothing_to_do"]


@pytest.mark.parametrize("words", ["--costs 1:20 --positive 1", "--threshold 0.2 --positive 1", "--costs FILE"])
def test_costs_that_are_forgotten_in_the_next_file(words):
    rng = np.random.default_rng(0)
    y = (rng.random(900) < 0.2).astype(int)
    p = 1.0 / (1.0 + np.exp(-(rng.normal(size=900) + 2.0 * y - 2.4)))
    table = pl.DataFrame({"p_0": 1.0 - p, "p_1": p, "label": y})
    for name, start in (("h.csv", 0), ("a.csv", 300), ("b.csv", 600), ("c.csv", 450)):
        table.slice(start, 300).write_csv(name)
    Path("costs.csv").write_text("true,0,1\n0,0,1\n1,20,0\n")
    given = words.replace("FILE", "costs.csv").split()
    assert "the last file" not in done("a.csv", "-o", "oa.csv", "--state", "kept", *given, holdout="h.csv").stderr
    said = done("b.csv", "-o", "ob.csv", "--state", "kept", holdout=None).stderr
    assert f"note: the last file had {words}; this one has no adapted_decision. Add {words}." in said
    assert "the last file" not in done("c.csv", "-o", "oc.csv", "--state", "kept", holdout=None).stderr


@pytest.mark.parametrize("name", ["x.xlsx", "x.XLS", "x.csv.zip"])
def test_an_output_that_cannot_be_written(name):
    said = refused(adapt("holdout.csv", "-o", name))
    assert f"-o {name}: such a file cannot be written; name one that ends in .csv, .tsv, " in said
    assert ".parquet" in said


@pytest.mark.parametrize("line", ["sep=;", "sep=,", '"sep=;"', "SEP=\t"])
def test_a_first_line_for_excel(line):
    Path("t.csv").write_bytes(b"\xef\xbb\xbf" + f"{line}\r\n{Path('holdout.csv').read_text()}".encode())
    said = refused(adapt("t.csv", "-o", "o.csv"))
    assert "t.csv: the first line is " in said
    assert "drop that line" in said
