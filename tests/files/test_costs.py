"""Costs and thresholds as they come from the command line."""

import re
from pathlib import Path

import polars as pl
import pytest

from baserate.files.columns import Classes
from baserate.files.costs import parse_decisions, rule_for
from baserate.files.formats import check_readable

from .streams import write

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")
NAMES = ["good", "fraud"]


def rule(costs=None, threshold=None, positive=None, names=NAMES):
    options = parse_decisions(costs, threshold, positive)
    check_readable(options.table)
    return rule_for(options, Classes([f"p_{name}" for name in names], list(names)))


def test_a_pair_is_the_cost_of_a_false_alarm_and_of_a_miss():
    assert rule("1:20", positive="fraud").costs.tolist() == [[0, 1], [20, 0]]
    assert rule("1:20", positive="good").costs.tolist() == [[0, 20], [1, 0]]
    assert rule("0.5:1e2", names=["1", "0"]).costs.tolist() == [[0, 100], [0.5, 0]]


def test_a_threshold():
    found = rule(threshold=0.2, positive="fraud")
    assert (found.threshold, found.positive) == (0.2, 1)
    assert found.costs.tolist() == [[0, 1], [4, 0]]


def test_the_positive_class_is_only_asked_for_if_it_matters():
    assert rule().positive is None
    assert rule(names=["no", "yes"]).positive == 1
    assert rule(names=["a", "b", "c"]).positive is None
    with pytest.raises(ValueError, match="Add --positive good or --positive fraud"):
        rule("1:20")
    with pytest.raises(ValueError, match="Add --positive good or --positive fraud"):
        rule(threshold=0.5)
    with pytest.raises(ValueError, match="--positive spam is no class; give one of good, fraud"):
        rule(positive="spam")


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet", "jsonl"])
def test_a_table_is_matched_by_name(form):
    """Rows and columns in another order than the classes, and a decision that is none of them."""
    table = pl.DataFrame({"true": ["fraud", "good"], "ask": [0.5, 0.3], "fraud": [0.0, 1.0], "good": [20.0, 0.0]})
    write(table, Path(f"costs.{form}"))
    found = rule(f"costs.{form}")
    assert found.decisions == ("good", "fraud", "ask")
    assert found.costs.tolist() == [[0, 1, 0.3], [20, 0, 0.5]]
    assert found.positive is None
    assert rule(f"costs.{form}", positive="fraud").positive == 1


def test_three_classes_and_spaces():
    Path("c.csv").write_text("true, a ,b,c\n c ,7,8,0\na,0,1,2\nb,3,0,5\n")
    assert rule("c.csv", names=["a", "b", "c"]).costs.tolist() == [[0, 1, 2], [3, 0, 5], [7, 8, 0]]


def test_semicolons():
    Path("c.csv").write_text("true;good;fraud\ngood;0;1\nfraud;20;0\n")
    with pytest.warns(UserWarning, match="c.csv is read with ';' between its columns"):
        assert rule("c.csv").costs.tolist() == [[0, 1], [20, 0]]


def test_the_class_of_a_score_is_known():
    classes = Classes(["score"], NAMES, positive=1)
    assert rule_for(parse_decisions("1:20", None, None), classes).costs.tolist() == [[0, 1], [20, 0]]
    assert rule_for(parse_decisions(None, 0.5, None), classes._replace(positive=0)).positive == 0


BAD_OPTIONS = {
    "1-20": "--costs 1-20: expected FP:FN, such as --costs 1:20",
    "20": "--costs 20: expected FP:FN",
    "1:x": "--costs 1:x: expected FP:FN",
    "1:2:3": "--costs 1:2:3: expected FP:FN",
    "1:": "--costs 1:: expected FP:FN",
    "0:20": "--costs 0:20: both costs must be above 0",
    "1:-20": "--costs 1:-20: both costs must be above 0",
    "1:inf": "--costs 1:inf: both costs must be above 0, and finite",
    "1:nan": "--costs 1:nan: both costs must be above 0",
    "-": "--costs cannot be standard input",
    "nowhere.csv": "nowhere.csv: there is no such file",
}


@pytest.mark.parametrize("text", BAD_OPTIONS)
def test_costs_that_are_none(text):
    with pytest.raises(ValueError, match=re.escape(BAD_OPTIONS[text])):
        rule(text, positive="fraud")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"costs": "1:20", "threshold": 0.5}, "--costs and --threshold are two ways to decide; give one of them"),
        ({"threshold": 0.0}, "--threshold is 0; give a number strictly between 0 and 1"),
        ({"threshold": 5.0}, "--threshold is 5"),
        ({"costs": "1:20", "names": ["a", "b", "c"]}, "a pair of costs is for two classes; this model has 3: a, b, c"),
        (
            {"threshold": 0.5, "names": ["a", "b", "c"]},
            "a threshold is for two classes; .* Give a table of costs, --co",
        ),
    ],
)
def test_options_that_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        rule(**options)


def test_semicolons_are_read_and_told():
    Path("c.csv").write_text("true;good;fraud\ngood;0;1.5\nfraud;20;0\n")
    with pytest.warns(UserWarning, match="is read with ';' between its columns"):
        found = rule("c.csv")
    assert found.costs.tolist() == [[0, 1.5], [20, 0]]


BAD_TABLES = {
    "no row": (
        "true,good,fraud\ngood,0,1\n",
        "c.csv: there is no row for fraud; expected a first column with the true",
    ),
    "no column": ("true,good,ask\ngood,0,1\nfraud,20,1\n", "c.csv: there is no column for fraud; expected"),
    "unknown": ("true,good,fraud\ngood,0,1\nspam,20,0\n", "c.csv, row 2, column true: names 'spam', which is no class"),
    "no name": ("true,good,fraud\ngood,0,1\n,20,0\n", "c.csv, row 2, column true: names '', which is no class"),
    "twice": ("true,good,fraud\ngood,0,1\ngood,20,0\n", "c.csv, row 2, column true: names 'good' again; give one row"),
    "column twice": (
        "true,good,fraud, fraud\ngood,0,1,2\nfraud,20,0,0\n",
        "c.csv, column fraud: is there twice, but for spaces; give one column for each decision",
    ),
    "decimal comma": (
        'true,good,fraud\ngood,0,"1,5"\nfraud,20,0\n',
        "c.csv, row 1, column fraud: holds '1,5'; expected a cost with a decimal point, such as 1.5",
    ),
    "text": ("true,good,fraud\ngood,0,1\nfraud,many,0\n", "c.csv, row 2, column good: holds 'many'; expected a cost"),
    "empty": ("true,good,fraud\ngood,0,1\nfraud,,0\n", "c.csv, row 2, column good: is empty; expected a cost"),
    "infinite": ("true,good,fraud\ngood,0,1\nfraud,inf,0\n", "c.csv, row 2, column good: is inf; give a finite cost"),
    "negative": ("true,good,fraud\ngood,-3,1\nfraud,20,0\n", "c.csv, row 1, column good: is negative (-3); expected"),
    "gains": (
        "true,good,fraud\ngood,1,0\nfraud,0,20\n",
        "c.csv: where good is true, deciding good costs 1, and deciding fraud only 0; rows are true classes",
    ),
    "nothing": ("", "c.csv: is empty"),
    "header only": ("true,good,fraud\n", "c.csv: is empty; it has a header, but no rows"),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_tables_that_are_refused(name):
    text, message = BAD_TABLES[name]
    Path("c.csv").write_text(text)
    with pytest.raises(ValueError, match=re.escape(message)):
        rule("c.csv", positive="fraud")


def test_options_know_the_content_of_a_table():
    Path("c.csv").write_text("true,good,fraud\ngood,0,1\nfraud,20,0\n")
    Path("same.csv").write_bytes(Path("c.csv").read_bytes())
    Path("other.csv").write_text("true,good,fraud\ngood,0,1\nfraud,21,0\n")
    one, same, other = (parse_decisions(name, None, None).options() for name in ("c.csv", "same.csv", "other.csv"))
    assert one == same != other
    assert parse_decisions("1:20", None, "fraud").options() == {"--costs": "1.0:20.0", "--positive": "fraud"}
    assert parse_decisions(None, None, "fraud").options() == {}  # a score's class, which decides nothing
