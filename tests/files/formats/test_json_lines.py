"""Values of JSON lines that are only passed on: they stay what they are, or the file is refused."""

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from baserate.cli import app

from ..streams import frame, holdout, write

N = 200


@pytest.fixture(autouse=True)
def in_a_folder_with_a_holdout(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("baserate.files.formats._lines.blocks.__kwdefaults__", {"size": 2000})  # several blocks
    write(holdout(), tmp_path / "holdout.csv")


def adapted(values, *arguments, out="o.jsonl", piped=False, name="note"):
    """Rows with these values in a field, through the command."""
    rows = [{**row, name: value} for row, value in zip(frame(len(values))[0].to_dicts(), values, strict=True)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    Path("s.jsonl").write_text(text)
    source = ["-", "--format", "jsonl"] if piped else ["s.jsonl"]
    words = ["adapt", *source, "-o", out, "--holdout", "holdout.csv", *arguments]
    return CliRunner().invoke(app, words, input=text if piped else None)


def kept(values, *arguments, **more):
    result = adapted(values, *arguments, **more)
    assert result.exit_code == 0, (result.output, result.exception)
    return [json.loads(line)[more.get("name", "note")] for line in Path("o.jsonl").read_text().splitlines()]


def refused(values, *arguments, **more):
    result = adapted(values, *arguments, **more)
    assert result.exit_code == 2, (result.output, result.exception)
    assert not Path("o.jsonl").exists()
    return result.stderr


@pytest.mark.parametrize(
    ("early", "late", "words"),
    [
        (3, 3.75, ["holds 3.75", "whole numbers", "3.0"]),
        ({"a": 1}, {"b": 2}, ["{'b': 2}", "objects with a"]),
        ("x", 3, ["holds 3", "text"]),
        (3, "x", ["holds 'x'", "whole numbers"]),
        (1.5, True, ["holds True", "such as 1.5"]),
        (1.5, 2**53 + 1, [str(2**53 + 1), "numbers"]),
        (["x"], [1], ["[1]", "lists"]),
        ([1], "x", ["'x'", "lists"]),
        (True, "yes", ["'yes'", "true or false"]),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_row(early, late, words):
    at = N - 20
    said = refused([early] * at + [late] + [early] * 5)
    for word in [f"s.jsonl, row {at + 1}, column note: ", *words]:
        assert word in said


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("x", 3, "row 2, column note: holds 3, and rows before it such as 'x'"),
        (3, "x", "row 2, column note: holds 'x', and rows before it such as 3"),
        (1.5, True, "row 2, column note: holds True, and rows before it such as 1.5"),
        (1.5, 2**53 + 1, "row 2, column note: holds 9007199254740993, and other rows numbers"),
        (["x"], [1], "row 2, column note: holds [1], and other rows lists"),
        ([1], "x", "row 2, column note: holds 'x', and rows before it such as [1]"),
        ({"a": 1}, 3, "row 2, column note: holds 3, and rows before it such as {'a': 1}"),
    ],
)
def test_a_mixture_at_the_start_is_refused_too(first, second, words):
    assert words in refused([first, second])


def test_numbers_at_the_start_are_read_together():
    assert kept([3, 3.75]) == [3, 3.75]
    assert kept([{"a": 1}, {"b": 2}]) == [{"a": 1, "b": None}, {"a": None, "b": 2}]


@pytest.mark.parametrize(
    "values",
    [
        [3.5] * (N - 1) + [4],
        [3] * (N - 1) + [4.0],
        [None] * (N - 1) + [3],
        [None] * (N - 1) + ["x"],
        [[]] * (N - 1) + [["x"]],
        [{"a": 1, "b": None}] * (N - 1) + [{"a": 1, "b": "x"}],
        ["7", "true", "[1]", None] * (N // 4),
        ['"note": 3'] * N,
        [{"note": 3}] * N,
    ],
)
def test_what_fits_stays_what_it_is(values):
    assert kept(values) == values


def test_a_name_may_be_written_in_two_ways():
    assert "holds 5" in refused(["x"] * 150 + [5], name="é")
    assert kept(["x", None] * 100, name="é") == ["x", None] * 100


def test_whole_numbers_of_a_pipe_may_go_on_with_a_fraction():
    values = [3] * (N - 1) + [3.75]
    assert kept(values, piped=True) == values


def test_a_parquet_file_has_one_type_for_a_column():
    result = adapted([None] * 400 + [3] * 400, "--rounds", "100", out="o.parquet")
    assert result.exit_code == 2
    assert "s.jsonl, row 401, column note: is of the type Int64 from here on, and was Null" in result.stderr
    assert "--only" in result.stderr
    assert adapted([None] * 400 + [3] * 400, "--rounds", "100", "--only", out="o.parquet").exit_code == 0
    assert len(pl.read_parquet("o.parquet")) == 800


def test_labels_may_begin_later():
    result = adapted([None] * (N - 50) + ["dog"] * 50, "--labels", "note", "--json")
    assert json.loads(result.stdout)["labelled"] == 50


def test_a_byte_order_mark():
    text = frame(N)[0].write_ndjson()
    Path("s.jsonl").write_bytes(b"\xef\xbb\xbf" + text.encode())
    result = CliRunner().invoke(app, ["adapt", "s.jsonl", "-o", "o.jsonl", "--holdout", "holdout.csv"])
    assert result.exit_code == 0, result.output
    assert pl.read_ndjson("o.jsonl")["id"].to_list() == list(range(N))


@pytest.mark.parametrize(
    ("value", "column", "words"),
    [
        ("NaN", "p_dog", "holds NaN, which is not JSON; write null"),
        ("-Infinity", "id", "holds -inf, which is not JSON"),
        ("true", "p_dog", "holds True; expected a probability"),
    ],
)
@pytest.mark.parametrize("every", [True, False])
def test_what_is_no_number(value, column, words, every):
    lines = frame(N)[0].write_ndjson().splitlines()
    for i in range(6, N) if every else [6]:
        fields = json.loads(lines[i])
        lines[i] = lines[i].replace(f'"{column}":{json.dumps(fields[column])}', f'"{column}":{value}')
    Path("s.jsonl").write_text("\n".join(lines))
    result = CliRunner().invoke(app, ["adapt", "s.jsonl", "-o", "o.jsonl", "--holdout", "holdout.csv"])
    assert result.exit_code == 2
    assert f"s.jsonl, row 7, column {column}: {words}" in result.stderr
