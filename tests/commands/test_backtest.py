"""A log in a file, replayed: what is said of it, the order of rows, and what is refused."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from baserate.backtesting import backtest as replay
from baserate.cli import app, main
from baserate.files.formats import source_named
from baserate.files.labelled_log import LogJob, read_log
from baserate.files.rounds import parse_round_length

from ..files.streams import CLASSES, P, frame, holdout, write
from .backtested import done, found, log, refused

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
def test_it_says_what_the_function_says(form, tmp_path):
    table, proba, y = log()
    write(table, tmp_path / f"log.{form}")
    said = found(f"log.{form}", "--label", "truth")
    expected = replay(proba, y, methods=[], names=CLASSES)
    assert said["sentence"] == expected.sentence
    assert said["verdict"] == "use"
    assert said["rows"] == 2400
    assert said["holdout_rows"] == 600
    assert said["rounds"] == 200
    assert [method["method"] for method in said["methods"]] == [score.method for score in expected.scores]
    assert said["methods"][1]["error_change"]["high"] == pytest.approx(expected.scores[1].error_change.high)


def test_a_holdout_of_its_own(tmp_path):
    table, proba, y = log()
    write(table, tmp_path / "log.csv")
    held = write(holdout(500), tmp_path / "holdout.csv")
    said = found("log.csv", "--label", "truth", "--holdout", held, "--holdout-label", "label", "--rounds", "50")
    held_y = np.array([CLASSES.index(name) for name in holdout(500)["label"]])
    expected = replay(proba, y, holdout=(holdout(500).select(P).to_numpy(), held_y), rounds=50, methods=[])
    assert said["rows"] == 3000
    assert said["holdout_rows"] == 500
    assert said["rounds"] == 60
    assert said["methods"][1]["error"] == pytest.approx(expected.scores[1].error)


def test_rows_are_put_in_the_order_of_time(tmp_path):
    table, _, _ = log()
    write(table, tmp_path / "log.csv")
    write(table.sample(fraction=1.0, shuffle=True, seed=0), tmp_path / "shuffled.csv")
    in_order = done("log.csv", "--label", "truth", "--time", "minute", "--json", "--methods", "none")
    shuffled = done("shuffled.csv", "--label", "truth", "--time", "minute", "--json", "--methods", "none")
    assert "sorted" not in in_order.stderr
    assert "rows were not in the order of minute, and have been sorted by it" in shuffled.stderr
    assert json.loads(shuffled.stdout) | {"log": "log.csv"} == json.loads(in_order.stdout)


def test_rounds_by_time(tmp_path):
    table, _, _ = log()
    write(table.filter(~pl.col("minute").is_between(60 * 1200, 60 * 1259)), tmp_path / "log.parquet")
    said = found("log.parquet", "--label", "truth", "--time", "minute", "--rounds", "30min")
    # 2,940 rows, of which the first 588 are the holdout: to the end of the round of minutes 570 to 599 it is a part.
    assert said["rounds"] == 81 - 2
    assert "name the column of time stamps" in refused("log.parquet", "--label", "truth", "--rounds", "30min")


def test_empty_windows_count_as_in_adapt(tmp_path):
    """A hundred hours with rows, and two gaps between them."""
    hours = np.arange(3000) // 30
    hours += np.where(hours > 30, 50, 0) + np.where(hours > 70, 200, 0)
    write(log()[0].with_columns(at=pl.Series(3600 * hours)), tmp_path / "log.csv")
    write(holdout(), tmp_path / "h.csv")
    words = ["--time", "at", "--rounds", "1h", "--holdout", "h.csv"]
    result = CliRunner().invoke(app, ["adapt", "log.csv", "-o", "o.csv", *words])
    assert result.exit_code == 0, result.output
    adapted = pl.read_csv("o.csv")
    wrong = (adapted["adapted_label"] != adapted["truth"]).mean()
    said = done("log.csv", "--label", "truth", "--holdout-label", "label", "--methods", "none", *words).stdout
    assert re.search(rf"baserate \(default\) +{100 * wrong:.2f} ", said)
    read = read_log(
        LogJob(source_named("log.csv"), "truth", source_named("h.csv"), rounds=parse_round_length("1h"), time="at")
    )
    assert read.idle.sum() == 250
    priors = pl.read_csv("o.rounds.csv").select(f"prior_{name}" for name in CLASSES).to_numpy()
    for idle, same in ((read.idle, True), (None, False)):
        again = replay(read.proba, read.y, holdout=read.holdout, rounds=read.starts, idle=idle, methods=["Arrows"])
        assert np.allclose(again.played["baserate"].prior, priors, rtol=1e-12) == same


def test_the_log_may_come_after_the_methods(tmp_path, capsys):
    write(log()[0], tmp_path / "log.csv")
    with pytest.raises(SystemExit) as ended:
        main(["backtest", "--label", "truth", "--methods", "none", "log.csv"])
    assert not ended.value.code, capsys.readouterr().err


def test_only_some_labels(tmp_path):
    table, _, _ = log()
    some = table.with_columns(truth=pl.when(pl.Series(np.arange(3000) % 2 == 0)).then(pl.col("truth")))
    write(some, tmp_path / "log.csv")
    said = found("log.csv", "--label", "truth")
    assert said["rows"] == 2400
    assert said["labelled_rows"] == 1200
    assert said["holdout_rows"] == 300
    assert "Only the 1,200 rows with a label are scored" in done("log.csv", "--label", "truth").stdout


def test_labels_may_be_numbers_of_columns(tmp_path):
    table, _, y = log()
    write(table, tmp_path / "names.csv")
    write(table.with_columns(truth=pl.Series(y)), tmp_path / "numbers.csv")
    names, numbers = (found(f"{name}.csv", "--label", "truth") for name in ("names", "numbers"))
    assert names | {"log": ""} == numbers | {"log": ""}


def test_named_columns_and_a_pipe(tmp_path):
    table, _, _ = log()
    renamed = table.rename(dict(zip(P, "abc", strict=True))).with_columns(
        truth=pl.col("truth").replace(CLASSES, list("abc"))
    )
    options = ["--label", "truth", "--columns", "a,b,c", "--json", "--methods", "none"]
    piped = subprocess.run(
        [sys.executable, "-m", "baserate", "backtest", "-", *options],
        input=renamed.write_csv(),
        capture_output=True,
        text=True,
        check=True,
    )
    write(table, tmp_path / "log.csv")
    expected = found("log.csv", "--label", "truth")
    found_methods, methods = json.loads(piped.stdout)["methods"], expected["methods"]
    for one in (*found_methods, *methods):
        one["decided"] = list(one["decided"].values())  # the names are others
    assert found_methods == methods
    assert json.loads(piped.stdout)["log"] == "standard input"


def test_methods_are_chosen_by_name(tmp_path):
    write(log()[0], tmp_path / "log.csv")
    said = json.loads(done("log.csv", "--label", "truth", "--methods", "Arrows,FLH-FTL (window)", "--json").stdout)
    names = [method["method"] for method in said["methods"]]
    assert names == ["doing nothing", "baserate", "calibration alone", "FLH-FTL (window)", "Arrows", "mix in hindsight"]
    assert "choose among FLH-FTL, " in refused("log.csv", "--label", "truth", "--methods", "nonsense")


def test_a_report_cannot_be_written(tmp_path):
    write(log()[0], tmp_path / "log.csv")
    assert "there is no folder" in refused("log.csv", "--label", "truth", "--report", "nowhere/out.html")
    before = (tmp_path / "log.csv").read_bytes()
    assert "is read by this run" in refused("log.csv", "--label", "truth", "--report", "./log.csv")
    assert (tmp_path / "log.csv").read_bytes() == before


def test_standard_input_is_there_once():
    assert "both standard input" in refused("-", "--label", "truth", "--holdout", "-")


def test_seeds_and_levels(tmp_path):
    write(log()[0], tmp_path / "log.csv")

    def width(*more):
        change = found("log.csv", "--label", "truth", *more)["methods"][1]["error_change"]
        return change["high"] - change["low"]

    assert width("--seed", "1") == width("--seed", "1") != width("--seed", "2")
    assert width("--level", "0.8") < 0.8 * width()


MALFORMED = {
    "no such label": (
        {"drop": "truth"},
        [],
        r"log.csv, row 1, column truth: the column is missing; the file has p_cat,",
    ),
    "no probabilities": ({"drop": P}, [], "log.csv: expected a column of probabilities"),
    "text": ({"row": 77, "p_dog": "many"}, [], "log.csv, row 77, column p_dog: holds 'many'; expected a probability"),
    "empty": ({"row": 77, "p_dog": None}, [], "log.csv, row 77, column p_dog: is empty; expected a probability"),
    "sum": ({"row": 77, "p_dog": "0.99"}, [], "log.csv, row 77, column p_cat to p_eel: the probabilities sum to"),
    "no class": (
        {"row": 77, "truth": "cow"},
        [],
        "log.csv, row 77, column truth: holds the label 'cow', which is no class",
    ),
    "no time": ({"row": 77, "minute": "noon"}, ["--time", "minute"], "log.csv, row 77, column minute: holds 'noon'"),
    "no labels": ({"truth": None}, [], "log.csv, column truth: there is no label"),
    "one class": ({"truth": "dog"}, [], "log.csv, column truth: every label after the holdout is 'dog'"),
    "no file": ({}, ["--holdout", "nowhere.csv"], "nowhere.csv: there is no such file"),
    "share": ({}, ["--holdout-share", "1.5"], "--holdout-share"),
    "twice": ({}, ["--holdout-share", "0.5", "--holdout", "log.csv"], "two ways to the same"),
    "short": ({"head": 50}, [], "the log has 40 rows after the holdout, in 4 rounds; at least 20 are needed"),
    "level": ({}, ["--level", "2"], "level"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed(name, tmp_path):
    change, options, message = MALFORMED[name]
    table = log()[0].with_columns(pl.all().cast(pl.String))
    if "drop" in change:
        table = table.drop(change["drop"])
    if "head" in change:
        table = table.head(change["head"])
    for column in set(change) & set(table.columns):
        value = pl.lit(change[column], dtype=pl.String)
        rows = pl.int_range(len(table)) == change["row"] - 1 if "row" in change else pl.lit(True)
        table = table.with_columns(pl.when(rows).then(value).otherwise(pl.col(column)).alias(column))
    write(table, tmp_path / "log.csv")
    assert message in refused("log.csv", "--label", "truth", *options, "--report", "out.html")
    assert not (tmp_path / "out.html").exists()


def test_a_class_that_comes_after_the_holdout(tmp_path):
    table, y = frame(2000)
    names = [CLASSES[c] for c in y]
    first = [name if i >= 400 or name != "cat" else "dog" for i, name in enumerate(names)]
    write(table.with_columns(truth=pl.Series(first)), tmp_path / "log.csv")
    assert refused("log.csv", "--label", "truth") == (
        "log.csv, column truth: among the first 400 rows, which are the holdout (--holdout-share 0.2), no label is "
        "cat; the holdout needs every class. Make the share larger, or give a file of labelled rows with --holdout."
    )


def test_a_small_holdout_is_noted(tmp_path):
    write(log()[0], tmp_path / "log.csv")
    result = done("log.csv", "--label", "truth", "--holdout-share", "0.01", "--json", "--methods", "none")
    assert "baserate: note: " in result.stderr
    assert json.loads(result.stdout)["notes"]


@pytest.mark.parametrize("none", ["-1", "", "nan"])
def test_numbers_of_which_some_are_missing(none, tmp_path):
    table, _, y = log()
    numbers = pl.Series([str(c) if i % 2 == 0 else none for i, c in enumerate(y)])
    write(table.with_columns(truth=numbers), tmp_path / "log.csv")
    said = found("log.csv", "--label", "truth")
    assert said["labelled_rows"] == 1200
    assert said["verdict"] == "use"


def test_the_guide_can_be_followed(tmp_path, capsys):
    guide = (Path(__file__).parents[2] / "docs" / "howto" / "backtest.md").read_text()
    first, payments, last = re.findall(r"^```python\n(.*?)^```", guide, flags=re.DOTALL | re.MULTILINE)
    names = {}
    exec(first, names)
    exec(payments, names)
    commands = re.findall(r"^\$ baserate backtest (.*)$", guide, flags=re.MULTILINE)
    printed = re.findall(r"^(Use it.*?)\n\n(.*?)^```", guide, flags=re.DOTALL | re.MULTILINE)
    assert len(commands) == len(printed) == 2
    said = [done(*command.split()).stdout for command in commands]
    for (sentence, table), text in zip(printed, said, strict=True):
        assert " ".join(sentence.split()) == text.splitlines()[0]
        lines = {" ".join(line.split()) for line in text.splitlines()}
        assert {" ".join(line.split()) for line in table.splitlines()} - {"..."} <= lines
    told = said[0]
    assert (tmp_path / "backtest.html").exists()
    exec(last, names)
    assert capsys.readouterr().out == told.splitlines()[0] + "\n"


@pytest.mark.parametrize("missing", ["log.csv", "h.csv"])
def test_a_log_and_its_holdout_must_be_there(missing, in_an_empty_folder):
    for name in {"log.csv", "h.csv"} - {missing}:
        Path(name).write_text("p_a,p_b,truth\n0.5,0.5,a\n")
    result = CliRunner().invoke(app, ["backtest", "log.csv", "--label", "truth", "--holdout", "h.csv"])
    assert result.exit_code == 2
    assert f"{missing}: there is no such file" in result.stderr


@pytest.mark.parametrize("mark", ["-1", "NA", "NULL", ""])
def test_a_mark_for_no_label_does_not_change_what_labels_are(mark, tmp_path):
    """Classes whose names are numbers, in columns of another order."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 3000)
    odds = np.exp(rng.normal(2.5 * np.eye(3)[y], 1.0))
    p = odds / odds.sum(axis=1, keepdims=True)
    labels = [str(c) if i % 50 else mark for i, c in enumerate(y)]
    write(pl.DataFrame({"p_0": p[:, 0], "p_2": p[:, 2], "p_1": p[:, 1], "truth": labels}), tmp_path / "n.csv")
    said = json.loads(done("n.csv", "--label", "truth", "--methods", "none", "--json").stdout)
    nothing = next(method for method in said["methods"] if method["method"] == "doing nothing")
    known = np.arange(3000) % 50 != 0
    known[:600] = False
    assert nothing["error"] == pytest.approx((p.argmax(axis=1) != y)[known].mean())
