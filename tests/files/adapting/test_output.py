"""What an output can hold, under which names, and what happens when the disk is full."""

import datetime
import resource
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from baserate.cli import app

from ..streams import frame, holdout, write


@pytest.fixture(autouse=True)
def in_a_folder_with_a_holdout(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(holdout(), tmp_path / "holdout.csv")


def adapt(*arguments):
    return CliRunner().invoke(app, ["adapt", *arguments, "--holdout", "holdout.csv"])


@pytest.mark.parametrize(
    ("value", "forms"),
    [
        ([1, 2], ["csv", "tsv"]),
        ({"a": 1}, ["csv", "tsv"]),
        (b"x\xff", ["csv", "jsonl"]),
        ([{"a": b"x"}], ["csv", "jsonl"]),
        (datetime.timedelta(1), ["csv"]),
    ],
)
def test_a_column_that_the_format_cannot_hold(value, forms, tmp_path):
    write(frame(50)[0].with_columns(odd=pl.Series([value] * 50)), tmp_path / "s.parquet")
    there = sorted(tmp_path.iterdir())
    for form in forms:
        result = adapt("s.parquet", "-o", f"o.{form}")
        assert result.exit_code == 2, result.exception
        assert "s.parquet, column odd: is of the type " in result.stderr
        assert "leave it out with --only, or write Parquet" in result.stderr
        assert sorted(tmp_path.iterdir()) == there
        assert adapt("s.parquet", "-o", f"o.{form}", "--only").exit_code == 0
        for path in tmp_path.glob("o.*"):
            path.unlink()
    for form in {"csv", "jsonl", "parquet"} - set(forms):
        assert adapt("s.parquet", "-o", f"o.{form}").exit_code == 0


def test_an_object_without_fields_is_nothing_for_parquet():
    lines = [f'{{"odd":{{}},{line[1:]}' for line in frame(20)[0].write_ndjson().splitlines()]
    Path("s.jsonl").write_text("\n".join(lines))
    result = adapt("s.jsonl", "-o", "o.parquet")
    assert result.exit_code == 2
    assert "s.jsonl, column odd: is of the type " in result.stderr
    assert "write CSV or JSON lines" in result.stderr
    assert adapt("s.jsonl", "-o", "o.jsonl").exit_code == 0


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
def test_names_of_columns_are_no_patterns(form, tmp_path):
    names = {"p_cat": "*", "id": "^i.*$"}
    table, y = frame(50)
    table = table.rename(names)
    table = table.with_columns(
        pl.Series("^p_.*$", range(50)), pl.Series("^truth$", [["*", "dog", "eel"][c] for c in y])
    )
    write(table, tmp_path / f"s.{form}")
    held = holdout().with_columns(label=pl.col("label").replace("cat", "*")).rename({"p_cat": "*", "label": "^l.*$"})
    write(held, tmp_path / f"h.{form}")
    words = ["--columns", "*,p_dog,p_eel", "--holdout-label", "^l.*$", "--holdout", f"h.{form}", "-o", "o.parquet"]
    for more in (
        ["--time", "^p_.*$", "--rounds", "10s", "--labels", "^truth$", "--id", "^i.*$", "--wait", "9"],
        ["--key", "^truth$"],
    ):
        result = CliRunner().invoke(app, ["adapt", f"s.{form}", *words, *more])
        assert result.exit_code == 0, (result.output, result.exception)
        found = pl.read_parquet("o.parquet").columns
        assert found[: len(table.columns)] == table.columns
        assert "adapted_*" in found


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_file_that_may_not_grow(form, tmp_path):
    write(frame(60_000)[0], tmp_path / "s.csv")

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 19, 1 << 19))

    words = ["adapt", "s.csv", "-o", f"o.{form}", "--holdout", "holdout.csv", "--state", "x.state"]
    command = [sys.executable, "-m", "baserate", *words]
    result = subprocess.run(command, capture_output=True, check=False, preexec_fn=limited)
    assert result.returncode == 1, result.stderr
    assert b"File too large" in result.stderr
    assert result.stderr.count(b"\n") == 1
    assert b"what is done is kept" in result.stderr
    result = subprocess.run(command, capture_output=True, check=False)
    assert result.returncode == 0
    assert b"Resumed at row" in result.stdout
