"""Files that cannot be used: an error that names file, row and column, status 2, and nothing written."""

import json
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from baserate.cli import app

from ..files.streams import frame, holdout, write

pytestmark = pytest.mark.usefixtures("in_a_folder_with_a_holdout")

FORMATS = ["csv", "parquet", "jsonl"]
N, BAD = 120, 77  # the bad row, counted from 1


def adapt(*arguments, holdout="holdout.csv"):
    return CliRunner().invoke(app, ["adapt", "--holdout", holdout, "--rounds", "20", *arguments])


def refused(*arguments, **more):
    """Run it, see that it is refused and leaves nothing, and return what is said."""
    there = sorted(Path().iterdir())
    result = adapt(*arguments, **more)
    assert result.exit_code == 2, (result.output, result.exception)
    assert result.stdout == ""
    assert result.stderr.startswith("baserate: ")
    assert result.stderr.count("\n") == 1
    assert sorted(Path().iterdir()) == there
    return result.stderr


def table(**changes):
    """A stream, with other values in the bad row."""
    found = frame(N)[0].with_columns(shop=pl.Series(["north", "south"] * (N // 2)), at=pl.Series(range(N)))
    for column, value in changes.items():
        here = pl.int_range(pl.len()) == BAD - 1
        found = found.with_columns(pl.when(here).then(pl.lit(value)).otherwise(pl.col(column)).alias(column))
    return found


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("changes", "options", "place", "words"),
    [
        ({"p_dog": None}, [], f"row {BAD}, column p_dog", ["empty", "drop the row"]),
        ({"p_dog": -0.2}, [], f"row {BAD}, column p_dog", ["negative (-0.2)"]),
        ({"p_dog": 7.5}, [], f"row {BAD}, column p_cat to p_eel", ["sum to", "expected 1", "Normalise"]),
        ({"id": 3}, ["--id", "id"], f"row {BAD}, column id", ["stands in row 4 already", "unique"]),
        ({"id": None}, ["--id", "id"], f"row {BAD}, column id", ["missing"]),
        ({"shop": None}, ["--key", "shop"], f"row {BAD}, column shop", ["key is missing"]),
        ({"at": 2}, ["--time", "at", "--rounds", "10s"], f"row {BAD}, column at", ["sort the file"]),
        ({"at": None}, ["--time", "at", "--rounds", "10s"], f"row {BAD}, column at", ["expected a time"]),
        ({"shop": "eal"}, ["--labels", "shop"], "row 1, column shop", ["'north'", "cat, dog, eel"]),
    ],
)
def test_a_bad_row(form, changes, options, place, words, tmp_path):
    write(table(**changes), tmp_path / f"s.{form}")
    said = refused(f"s.{form}", "-o", f"o.{form}", *options)
    for word in [f"s.{form}, {place}: ", *words]:
        assert word in said


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize(("value", "word"), [(float("nan"), "NaN"), (float("inf"), "infinite")])
def test_what_is_no_number(form, value, word, tmp_path):
    write(table(p_eel=value), tmp_path / f"s.{form}")
    said = refused(f"s.{form}", "-o", f"o.{form}")
    assert f"s.{form}, row {BAD}, column p_eel: " in said
    assert word in said


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_text_in_a_column_of_numbers(form, tmp_path):
    found = table().with_columns(pl.col("p_eel").cast(pl.String))
    here = pl.int_range(pl.len()) == BAD - 1
    found = found.with_columns(p_eel=pl.when(here).then(pl.lit("much")).otherwise(pl.col("p_eel")))
    if form == "jsonl":
        rows = [
            {**row, "p_eel": row["p_eel"] if row["p_eel"] == "much" else float(row["p_eel"])}
            for row in found.to_dicts()
        ]
        Path("s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        write(found, tmp_path / "s.csv")
    said = refused(f"s.{form}", "-o", f"o.{form}")
    assert f"s.{form}, row {BAD}, column p_eel: holds 'much'" in said


def test_text_in_a_column_of_a_parquet_file(tmp_path):
    write(table().with_columns(p_eel=pl.lit("much")), tmp_path / "s.parquet")
    assert "s.parquet, row 1, column p_eel: holds values of the type String" in refused("s.parquet", "-o", "o.csv")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("options", [[], ["--key", "nokey"], ["--labels", "nolabel"], ["--time", "notime"]])
def test_a_missing_column(form, options, tmp_path):
    found = table() if options else table().drop("p_dog")
    write(found, tmp_path / f"s.{form}")
    name = options[1] if options else "p_dog"
    said = refused(f"s.{form}", "-o", f"o.{form}", *options)
    assert f"s.{form}, row 1, column {name}: the column is missing" in said
    assert "p_cat" in said


def test_a_class_that_the_holdout_does_not_know(tmp_path):
    write(table().with_columns(p_fox=pl.lit(0.0)), tmp_path / "s.csv")
    assert "s.csv, column p_fox: looks like a probability" in refused("s.csv", "-o", "o.csv")


@pytest.mark.parametrize("second", ["7", '"x"', "true", "1.5"])
def test_keys_of_several_types(second):
    lines = table().write_ndjson().splitlines()
    lines[BAD - 1] = lines[BAD - 1].replace('"north"', second).replace('"south"', second)
    if second == '"x"':
        lines = [line.replace('"north"', "1").replace('"south"', "2") for line in lines]
    Path("s.jsonl").write_text("\n".join(lines))
    said = refused("s.jsonl", "-o", "o.csv", "--key", "shop")
    assert f"s.jsonl, row {BAD}, column shop: holds " in said


def test_keys_of_a_type_that_is_none(tmp_path):
    write(table().with_columns(shop=pl.lit(0.5)), tmp_path / "s.parquet")
    said = refused("s.parquet", "-o", "o.csv", "--key", "shop")
    assert "s.parquet, row 1, column shop: keys are of the type Float64" in said


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("content", ["nothing", "header"])
def test_an_empty_file(form, content, tmp_path):
    write(table().head(0).with_columns(label=pl.lit("")), tmp_path / f"s.{form}")
    if content == "nothing":
        Path(f"s.{form}").write_bytes(b"")
    assert f"s.{form}: is empty" in refused(f"s.{form}", "-o", f"o.{form}")
    assert f"s.{form}: is empty" in refused("holdout.csv", "-o", f"o.{form}", holdout=f"s.{form}")


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize("code", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16(form, code):
    text = table().write_csv() if form == "csv" else table().write_ndjson()
    Path(f"s.{form}").write_bytes(text.encode(code))
    said = refused(f"s.{form}", "-o", f"o.{form}")
    assert f"s.{form}, row 1: " in said
    assert "iconv -f UTF-16 -t UTF-8" in said


def test_text_that_is_not_utf_8(tmp_path):
    write(table(shop="Köln"), tmp_path / "s.csv")
    Path("s.csv").write_bytes(Path("s.csv").read_text().encode("latin1"))
    said = refused("s.csv", "-o", "o.csv")
    assert f"s.csv, row {BAD}: is not UTF-8" in said


@pytest.mark.parametrize("form", FORMATS)
def test_a_hundred_thousand_columns(form):
    names = [f"p_{i}" for i in range(100_000)]
    if form == "csv":
        Path("s.csv").write_text(",".join(names) + "\n" + ",".join(["0.00001"] * 100_000) + "\n")
    elif form == "jsonl":
        Path("s.jsonl").write_text(json.dumps(dict.fromkeys(names, 0.00001)) + "\n")
    else:
        pl.DataFrame(np.full((1, 100_000), 1e-5), schema=names).write_parquet("s.parquet")
    said = refused(f"s.{form}", "-o", f"o.{form}")
    assert f"s.{form}, column p_10000: has 100,000 columns; at most 10,000" in said
    assert len(said) < 400


def test_rows_of_another_length(tmp_path):
    lines = table().write_csv().splitlines()
    lines[BAD] += ",one,more"
    Path("s.csv").write_text("\n".join(lines))
    assert f"s.csv, row {BAD}: has 8 fields; expected 6" in refused("s.csv", "-o", "o.csv")


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("blank", [False, True])
def test_rows_that_are_too_short(quoted, blank):
    """The fields that are missing are none that is needed; others may be empty."""
    shops = pl.Series(['"a,b"' if quoted else "a"] * N)
    notes = pl.Series(["" if blank else "x"] * N)
    found = table().with_columns(shop=shops, note=notes)
    text = found.with_columns(pl.col("note").replace("", None)).write_csv()
    Path("s.csv").write_text(text)
    assert adapt("s.csv", "-o", "fine.csv").exit_code == 0
    lines = text.splitlines()
    lines[BAD] = lines[BAD].rsplit(",", 2)[0]
    Path("s.csv").write_text("\n".join(lines))
    assert f"s.csv, row {BAD}: has 5 fields; expected 7" in refused("s.csv", "-o", "o.csv")


def test_quotes_within_fields():
    lines = table().write_csv().splitlines()
    lines[BAD] = lines[BAD].replace("orth", 'or"th')
    lines[BAD + 2] = lines[BAD + 2].replace("orth", 'or"th')
    Path("s.csv").write_text("\n".join(lines))
    said = refused("s.csv", "-o", "o.csv")
    assert f"s.csv, row {BAD}, column shop: has a quote within a field" in said


def test_a_pipe_that_has_a_name(tmp_path):
    os.mkfifo("s.csv")
    for words in (["s.csv"], ["holdout.csv", "--holdout", "s.csv"]):
        assert "s.csv: is a pipe or a device, and no file; pipe it in and name it -" in refused(*words, "-o", "o.csv")
    assert "-o s.csv is a pipe" in refused("holdout.csv", "-o", "s.csv")


def test_two_columns_of_one_name():
    Path("s.csv").write_text("id,p_cat,p_dog,p_eel,id\n1,0.2,0.3,0.5,1\n")
    assert "s.csv, column id: two columns have this name" in refused("s.csv", "-o", "o.csv")


def test_a_column_that_the_output_needs(tmp_path):
    write(table().with_columns(adapted_label=pl.lit(1)), tmp_path / "s.csv")
    said = refused("s.csv", "-o", "o.csv")
    assert "s.csv, column adapted_label" in said
    assert "--out-prefix" in said
    assert adapt("s.csv", "-o", "o.csv", "--out-prefix", "new_").exit_code == 0


@pytest.mark.parametrize("line", ["{", "[1, 2]", '{"id": 1, "other": 3}', '"text"'])
def test_lines_that_are_no_objects_of_the_same_fields(line):
    lines = table().write_ndjson().splitlines()
    lines[BAD - 1] = line
    Path("s.jsonl").write_text("\n".join(lines))
    assert f"s.jsonl, row {BAD}" in refused("s.jsonl", "-o", "o.jsonl")


def test_a_quote_that_is_never_closed(monkeypatch):
    monkeypatch.setattr("baserate.files.formats._lines._LONGEST", 1000)
    monkeypatch.setattr("baserate.files.formats._lines.blocks.__kwdefaults__", {"size": 500})
    lines = table().write_csv().splitlines()
    lines[BAD] = '"' + lines[BAD]
    Path("s.csv").write_text("\n".join(lines))
    assert "quote" in refused("s.csv", "-o", "o.csv")


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"\x1f\x8b\x08\0abc", ["compressed"]), (b"PK\x03\x04abc", ["compressed"]), (b"PAR1\0abc", ["Parquet"])],
)
def test_other_kinds_of_files(content, words):
    Path("s.csv").write_bytes(content)
    said = refused("s.csv", "-o", "o.csv")
    for word in ["s.csv", *words]:
        assert word in said


class TestHoldout:
    def test_without_labels(self, tmp_path):
        write(holdout().drop("label"), tmp_path / "h.csv")
        said = refused("holdout.csv", "-o", "o.csv", holdout="h.csv")
        assert "h.csv, column label: the column of labels is missing" in said
        assert "--holdout-label" in said

    def test_with_a_label_that_is_no_class(self, tmp_path):
        found = (
            holdout()
            .with_row_index("i")
            .with_columns(label=pl.when(pl.col("i") == BAD - 1).then(pl.lit("fox")).otherwise("label"))
        )
        write(found.drop("i"), tmp_path / "h.parquet")
        said = refused("holdout.csv", "-o", "o.csv", holdout="h.parquet")
        assert f"h.parquet, row {BAD}, column label: holds the label 'fox'" in said
        assert "cat, dog, eel" in said

    def test_without_any_label(self, tmp_path):
        write(holdout().with_columns(label=pl.lit(None, pl.String)), tmp_path / "h.csv")
        said = refused("holdout.csv", "-o", "o.csv", holdout="h.csv")
        assert "h.csv, column label: has no row of the class cat, dog, eel" in said

    def test_without_a_class(self, tmp_path):
        write(holdout().filter(pl.col("label") != "dog"), tmp_path / "h.csv")
        assert "h.csv, column label: has no row of the class dog" in refused(
            "holdout.csv", "-o", "o.csv", holdout="h.csv"
        )

    @pytest.mark.parametrize("columns", [[], ["p_cat"]])
    def test_without_probabilities(self, columns, tmp_path):
        write(holdout().select(*columns, "label"), tmp_path / "h.csv")
        said = refused("holdout.csv", "-o", "o.csv", holdout="h.csv")
        assert "h.csv: " in said
        assert "--columns" in said

    def test_with_a_bad_row(self, tmp_path):
        write(holdout().with_columns(p_cat=pl.lit(0.9)), tmp_path / "h.csv")
        assert "h.csv, row 1, column p_cat to p_eel" in refused("holdout.csv", "-o", "o.csv", holdout="h.csv")


@pytest.mark.parametrize("form", FORMATS)
def test_fuzzed_files_are_read_or_refused_in_one_line(form, tmp_path):
    write(table(), tmp_path / f"clean.{form}")
    clean = bytearray(Path(f"clean.{form}").read_bytes())
    rng = np.random.default_rng(len(form))
    read = 0
    for _ in range(60):
        data = bytearray(clean)
        for _ in range(rng.integers(1, 4)):
            at, kind = int(rng.integers(len(data))), rng.integers(4)
            if kind == 0:
                data[at] = int(rng.integers(256))
            elif kind == 1:
                del data[at : at + int(rng.integers(1, 40))]
            elif kind == 2:
                data[at:at] = bytes(rng.choice(list(b'",\n\r\0{}[]x9-.\xff\t'), int(rng.integers(1, 5))).tolist())
            else:
                del data[at:]
            if not data:
                break
        Path(f"s.{form}").write_bytes(data)
        there = sorted(Path().iterdir())
        result = adapt(f"s.{form}", "-o", f"o.{form}", "--key", "shop", "--id", "id")
        if result.exit_code == 0:
            read += 1
            for name in (f"o.{form}", "o.rounds.csv"):
                Path(name).unlink()
        else:
            assert result.exit_code == 2, (result.exception, bytes(data)[:200])
            assert result.stderr.startswith(f"baserate: s.{form}")
            assert result.stderr.count("\n") == 1
        assert sorted(Path().iterdir()) == there
    assert read < 60
