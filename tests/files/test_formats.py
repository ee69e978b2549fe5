"""The registry of formats: found by a suffix or an option, and a new one works everywhere at once."""

import re
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

from baserate.cli import app
from baserate.files.formats import FORMATS, check_readable, format_names, separator_named, source_named
from baserate.files.formats.csv import separated

from .streams import frame, holdout, write


@pytest.mark.parametrize(
    ("name", "known_as"),
    [
        ("a.csv", "csv"),
        ("a.TSV", "tsv"),
        ("a.b.parquet", "parquet"),
        ("a.pq", "parquet"),
        ("a.jsonl", "jsonl"),
        ("a.ndjson", "jsonl"),
        ("-", "csv"),
        ("a.csv.gz", "csv"),
        ("a.TSV.GZ", "tsv"),
        ("a.jsonl.zst", "jsonl"),
    ],
)
def test_a_suffix_tells_the_format(name, known_as):
    assert source_named(name).format.name == known_as


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.csv.bz2", "bzip2 -dc a.csv.bz2 | baserate"),
        ("a.zip", "unzip -p a.zip | baserate"),
        ("a.xlsx", "save it as CSV"),
        ("a.parquet.gz", "unpack it to a.parquet first"),
    ],
)
def test_other_kinds_of_files_are_refused_with_the_way_out(name, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        source_named(name)


def test_an_output_is_not_compressed():
    with pytest.raises(ValueError, match=r"write -o o\.csv, and compress that afterwards"):
        source_named("o.csv.gz", to_write=True)


def test_a_separator_is_for_csv_files_alone():
    assert source_named("a.csv", separator=";").separator == ";"
    assert source_named("a.tsv", separator=";").separator is None
    assert source_named("a.parquet", separator=";").separator is None


@pytest.mark.parametrize(("text", "found"), [(";", ";"), ("tab", "\t"), ("\\t", "\t"), ("\t", "\t"), (None, None)])
def test_a_separator_by_its_name(text, found):
    assert separator_named(text) == found


@pytest.mark.parametrize("text", ["", ";;", "a", '"', "semicolon", "."])
def test_what_is_no_separator(text):
    with pytest.raises(ValueError, match="give one character, such as --separator ';'"):
        separator_named(text)


def test_a_folder_and_a_file_that_is_not_there_are_told_of_with_those_that_may_be_meant(tmp_path):
    (tmp_path / "monday.csv").write_text("a")
    with pytest.raises(ValueError, match=re.escape(f"is a folder; name a file, such as {tmp_path / 'monday.csv'}")):
        source_named(str(tmp_path))
    with pytest.raises(ValueError, match=r"no such file; check the path; did you mean monday\.csv\?"):
        check_readable(source_named(str(tmp_path / "mondy.csv")))
    with pytest.raises(ValueError, match="no such file, and no folder"):
        check_readable(source_named(str(tmp_path / "days" / "monday.csv")))


@pytest.mark.parametrize("name", ["a.txt", "a", "a.txt.gz", "a.json"])
def test_a_suffix_that_tells_nothing_is_an_error(name):
    with pytest.raises(ValueError, match="its suffix does not say what it is; name a file that ends in") as refused:
        source_named(name)
    assert str(refused.value).endswith(f"or say it with --format ({', '.join(FORMATS)}).")
    assert source_named(name, "tsv").format.name == "tsv"


def test_a_format_that_is_none():
    with pytest.raises(ValueError, match=f"--format is xlsx; choose one of {', '.join(FORMATS)}"):
        source_named("a.csv", "xlsx")


def test_no_two_formats_have_a_name_or_a_suffix_in_common():
    suffixes = [suffix for known in FORMATS.values() for suffix in known.suffixes]
    assert len(set(suffixes)) == len(suffixes)
    assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in suffixes)


def test_help_names_every_format():
    text = " ".join(CliRunner().invoke(app, ["adapt", "--help"], env={"COLUMNS": "300"}).output.split())
    assert f"Format of STREAM: {format_names(last=' or ')}." in text


def test_a_new_format_needs_nothing_but_its_entry(in_an_empty_folder, tmp_path, monkeypatch):
    monkeypatch.setitem(FORMATS, "psv", separated("psv", "a file with bars", (".psv",), "|"))
    table, _ = frame(300)
    table.write_csv("s.psv", separator="|")
    write(table, tmp_path / "s.csv")
    write(holdout(), tmp_path / "h.csv")
    for stream, out in (("s.psv", "o.psv"), ("s.csv", "o.csv")):
        result = CliRunner().invoke(app, ["adapt", stream, "-o", out, "--holdout", "h.csv", "--state", f"{out}.state"])
        assert result.exit_code == 0, (result.output, result.exception)
    assert_frame_equal(pl.read_csv("o.psv", separator="|"), pl.read_csv("o.csv"))
    piped = ["adapt", "-", "-o", "-", "--format", "psv", "--holdout", "h.csv"]
    result = CliRunner().invoke(app, piped, input=Path("s.psv").read_bytes())
    assert result.stdout == Path("o.psv").read_text()
    listed = pl.DataFrame({**table.to_dict(as_series=False), "odd": [[1]] * 300})
    write(listed, tmp_path / "s.parquet")
    result = CliRunner().invoke(app, ["adapt", "s.parquet", "-o", "p.psv", "--holdout", "h.csv"])
    assert "which a file with bars cannot hold; leave it out with --only, or write Parquet" in result.stderr
