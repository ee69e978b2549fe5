"""A transcript of natural mistakes: each is answered in one line that names what is wrong and what to type instead.

The status is not 0, nothing is written, and nothing is silently wrong: what can be read for certain is read, and a note
says how.
"""

import errno
import gzip
import io
import re
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from baserate import state

from ..commands.backtested import log
from ..commands.ended import status_of
from ..files.streams import CLASSES, P, frame, holdout

TIMES = pl.Series(np.arange(300) * 60 * 10**6 + 1_772_368_200 * 10**6).cast(pl.Datetime("us"))
N = 300


def _stream(**columns):
    table, y = frame(N, **columns)
    return table.with_columns(truth=pl.Series([CLASSES[c] for c in y]))


def _two(n, seed):
    """The score of a fraud model, and the labels."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.05).astype(int)
    score = 1.0 / (1.0 + np.exp(3.0 - 2.0 * rng.normal(size=n) - 3.0 * y))
    return pl.DataFrame({"score": score, "label": np.array(["good", "fraud"])[y]})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files of a hurried engineer."""
    place = tmp_path_factory.mktemp("mistakes")
    stream, held, clock = _stream(), holdout(), TIMES.dt.strftime("%Y-%m-%dT%H:%M:%S")
    tables = {
        "stream": stream,
        "holdout": held,
        "percent": stream.with_columns(pl.col(P) * 100),
        "holdout-percent": held.with_columns(pl.col(P) * 100),
        "logits": stream.with_columns(pl.col(P).log() + 1),
        "holdout-logits": held.with_columns(pl.col(P).log() + 1),
        "swapped": held.rename({"p_cat": "p_dog", "p_dog": "p_cat"}),
        "reordered": stream.select("id", *reversed(P), "truth"),
        "no-dogs": held.filter(pl.col("label") != "dog"),
        "mistyped": held.with_columns(label=pl.col("label").replace("eel", "eal")),
        "other-labels": stream.with_columns(truth=pl.col("truth").replace("eel", "whale")),
        "no-eel": stream.drop("p_eel"),
        "unnamed": stream.rename({name: name.removeprefix("p_") for name in P}),
        "prefixed": held.rename({name: name.replace("p_", "prob_") for name in P}),
        "gap": stream.with_columns(p_dog=pl.when(pl.col("id") == 7).then(None).otherwise("p_dog")),
        "repeated": stream.with_columns(id=pl.col("id") // 2),
        "days": stream.with_columns(at=pl.lit("03/01/2026")),
        "late-days": stream.with_columns(
            at=pl.when(pl.col("id") < 9).then(pl.lit("3/1/26")).otherwise(pl.lit("3/31/26"))
        ),
        "numbered-days": stream.with_columns(at=pl.lit(20260301)),
        "shuffled": stream.with_columns(at=clock.shuffle(seed=1)),
        "zones": stream.with_columns(at=clock + pl.Series(["", "Z"] * (N // 2))),
        "units": stream.with_columns(at=pl.when(pl.col("id") < 9).then(1_772_368_200).otherwise(1_772_368_200_000)),
        "clock": stream.with_columns(at=clock),
        "header": stream.head(0),
        "scores": _two(N, 1),
        "holdout-scores": _two(3000, 0),
        "log": log()[0],
        "one-class": _two(3000, 0).filter(pl.col("label") == "good"),
        "three-labels": _two(3000, 0)
        .with_row_index()
        .with_columns(label=pl.when(pl.col("index") % 50 == 0).then(pl.lit("unknown")).otherwise("label")),
        "capitals": _two(3000, 0)
        .with_row_index()
        .with_columns(
            label=pl.when(pl.col("index") % 2 == 0).then(pl.col("label").str.to_titlecase()).otherwise("label")
        ),
        "spaced": _two(3000, 0).rename({"score": " score"}),
    }
    for name, table in tables.items():
        table.write_csv(place / f"{name}.csv")
    _two(3000, 0).write_csv(place / "no-header.csv", include_header=False)
    (place / "empty.csv").write_bytes(b"")
    (place / "binary.csv").write_bytes(bytes(range(256)) * 20)
    (place / "sheet.csv").write_bytes(b"PK\x03\x04 and so on")
    (place / "wide.csv").write_bytes((place / "stream.csv").read_text().encode("utf-16"))
    (place / "western.csv").write_bytes(stream.with_columns(shop=pl.lit("Köln")).write_csv().encode("latin1"))
    stream.write_parquet(place / "parquet.csv")
    rows = [line.split(";") for line in stream.write_csv(separator=";").replace(".", ",").splitlines()]
    (place / "commas.csv").write_text("\n".join(",".join(f'"{field}"' for field in row) for row in rows))
    (place / "semicolons.csv").write_text("\n".join(";".join(row) for row in rows))
    (place / "both.csv").write_text(stream.rename({"truth": "a,b"}).write_csv(separator=";", quote_style="never"))
    data = gzip.compress((place / "stream.csv").read_bytes())
    (place / "stream.csv.gz").write_bytes(data)
    (place / "cut.csv.gz").write_bytes(data[:-20])
    (place / "stream.csv.zst").write_bytes(b"(\xb5/\xfdxxxx")
    (place / "notes.txt").write_text("not a state")
    (place / "days").mkdir()
    (place / "days" / "monday.csv").write_bytes((place / "stream.csv").read_bytes())
    return place


@pytest.fixture(autouse=True)
def in_it(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for name in ("FORCE_COLOR", "GITHUB_ACTIONS", "PY_COLORS"):
        monkeypatch.delenv(name, raising=False)
    for module in ("compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, module, None)


def contents():
    return {path: path.read_bytes() if path.is_file() else b"" for path in sorted(Path().rglob("*"))}


H, O = "--holdout holdout.csv", "-o out.csv"  # noqa: E741
MISTAKES = [
    # Costs
    ("backtest scores.csv --label label --score score --positive fraud --costs 1-20", ["--costs 1-20", "--costs 1:20"]),
    (f"adapt stream.csv {H} {O} --costs 1:20", ["two classes", "3: cat, dog, eel", "--costs costs.csv"]),
    (f"adapt stream.csv {H} {O} --cost 1:20", ["--cost", "--costs"]),
    ("backtest log.csv --label truth --by cost", ["--by cost", "--costs 1:20"]),
    # Words of the command line
    ("adpat stream.csv", ["adpat", "adapt"]),
    (f"adapt stream.csv --holdot holdout.csv {O}", ["--holdot", "--holdout"]),
    (f"adapt stream.csv {H}", ["--out is missing", "-o adapted.csv"]),
    (f"adapt {H} {O}", ["STREAM"]),
    (f"adapt stream.csv {O}", ["--holdout is missing", "labelled rows"]),
    (f"adapt stream.csv {H} {O} --rounds 1hour", ["--rounds is '1hour'", "1h"]),
    (f"adapt stream.csv {H} {O} --rounds 0", ["--rounds is '0'", "such as 1000"]),
    (f"adapt stream.csv {H} {O} --rounds 1h", ["--rounds is a length of time", "--time"]),
    (f"adapt stream.csv {H} {O} --id id --wait -5", ["--wait is -5", "number of rows"]),
    (f"adapt stream.csv {H} {O} --wait 5", ["--wait", "--id"]),
    (f"adapt stream.csv {H} {O} --level 90", ["--level", "between 0 and 1"]),
    (f"adapt stream.csv {H} {O} --level 90%", ["--level takes a number between 0 and 1", "0.05"]),
    (f"adapt stream.csv {H} {O} --late holdout.csv --id id", ["--late", "--state"]),
    (f"adapt stream.csv {H} {O} --separator semicolon", ["--separator is 'semicolon'", "--separator ';'"]),
    (f"adapt stream.csv {H} {O} --percent --logits", ["--percent and --logits", "give the one"]),
    (f"adapt stream.csv {H} {O} --format excel", ["--format is excel", "csv"]),
    # Files
    (f"adapt steam.csv {H} {O}", ["steam.csv: there is no such file", "did you mean stream.csv?"]),
    (f"adapt days {H} {O}", ["days: is a folder", "such as days/monday.csv"]),
    (f"adapt empty.csv {H} {O}", ["empty.csv: is empty", "Check the program"]),
    (f"adapt header.csv {H} {O}", ["header.csv: is empty", "header, but no rows"]),
    (f"adapt binary.csv {H} {O}", ["binary.csv: is not text", "as CSV"]),
    (f"adapt sheet.csv {H} {O}", ["sheet.csv: is compressed", "Save the sheet as CSV"]),
    (f"adapt wide.csv {H} {O}", ["wide.csv", "iconv -f UTF-16 -t UTF-8"]),
    (f"adapt western.csv {H} {O}", ["western.csv, row 1", "iconv -f LATIN1 -t UTF-8"]),
    (f"adapt parquet.csv {H} {O}", ["parquet.csv: is a Parquet file", "--format parquet"]),
    (f"adapt stream.xlsx {H} {O}", ["stream.xlsx is a spreadsheet", "save it as CSV"]),
    (f"adapt stream.csv.bz2 {H} {O}", ["bzip2 -dc stream.csv.bz2 | baserate"]),
    (f"adapt stream.csv.zst {H} {O}", ["stream.csv.zst: is compressed with zstd", 'pip install "baserate[files]"']),
    (f"adapt cut.csv.gz {H} {O}", ["cut.csv.gz: is compressed, and damaged or cut off", "again"]),
    (f"adapt stream.csv {H} -o out.csv.gz", ["-o out.csv.gz", "write -o out.csv"]),
    (f"adapt stream.csv {H} -o missing/out.csv", ["no folder missing", "make it first"]),
    (f"adapt stream.csv {H} -o stream.csv", ["-o stream.csv is read by this run", "another file"]),
    (f"adapt stream.csv {H} -o holdout.csv", ["-o holdout.csv is read by this run", "another file"]),
    (f"adapt stream.csv {H} -o days", ["-o days: is a folder", "days/adapted.csv"]),
    (f"adapt stream.csv {H} {O} --report r.pdf", ["--report r.pdf", "page of HTML", "--report r.html"]),
    ("backtest log.csv --label truth --report r.png", ["--report r.png", "page of HTML", "--report r.html"]),
    (f"adapt stream.csv {H} {O} --report missing/r.html", ["--report", "no folder missing"]),
    (f"adapt stream.csv {H} {O} --state notes.txt", ["notes.txt", "state"]),
    (f"adapt - --holdout - {O}", ["both standard input", "give a file for one of them"]),
    # Columns
    (f"adapt no-eel.csv {H} {O}", ["no-eel.csv, row 1, column p_eel: the column is missing"]),
    (f"adapt unnamed.csv --holdout unnamed.csv {O}", ["beginning with 'p_'", "--columns", "--prefix"]),
    (f"adapt stream.csv {H} {O} --columns p_cat,p_dgo,p_eel", ["column p_dgo", "did you mean p_dog?"]),
    (f"adapt stream.csv {H} {O} --labels thruth", ["column thruth: the column is missing", "did you mean truth?"]),
    (f"adapt stream.csv --holdout prefixed.csv {O}", ["prefixed.csv", "--prefix prob_"]),
    (f"adapt stream.csv {H} {O} --time at", ["column at: the column is missing"]),
    (f"adapt both.csv {H} {O}", ["column p_cat", "add --separator ';'"]),
    (f"adapt scores.csv --holdout holdout-scores.csv {O}", ["holdout-scores.csv", "--score score"]),
    (f"adapt scores.csv --holdout holdout-scores.csv {O} --score scor", ["column scor", "did you mean score?"]),
    (f"adapt scores.csv --holdout holdout-scores.csv {O} --score score", ["--positive fraud or --positive good"]),
    (f"adapt scores.csv --holdout holdout-scores.csv {O} --score score --positive frau", ["give one of fraud, good"]),
    (f"adapt stream.csv {H} {O} --score p_cat --positive cat", ["two classes", "cat, dog, eel"]),
    # Values
    (f"adapt percent.csv --holdout holdout-percent.csv {O}", ["holdout-percent.csv, row 1", "add --percent"]),
    (f"adapt percent.csv {H} {O}", ["percent.csv, row 1", "add --percent"]),
    (f"adapt stream.csv {H} {O} --percent", ["holdout.csv, row 1", "leave --percent out"]),
    (f"adapt logits.csv --holdout holdout-logits.csv {O}", ["holdout-logits.csv, row 1", "add --logits"]),
    (f"adapt stream.csv {H} {O} --logits", ["holdout.csv", "leave --logits out"]),
    (f"adapt stream.csv --holdout holdout-logits.csv {O} --logits", ["stream.csv", "leave --logits out"]),
    (f"adapt commas.csv {H} {O}", ["commas.csv, row 1, column p_cat: holds '0,", "decimal point"]),
    (f"adapt gap.csv {H} {O}", ["gap.csv, row 8, column p_dog: is empty", "drop the row"]),
    (f"adapt repeated.csv {H} {O} --id id", ["repeated.csv, row 2, column id", "unique"]),
    # Labels
    (f"adapt stream.csv {H} {O} --holdout-label lable", ["column lable", "--holdout-label", "did you mean label?"]),
    (f"adapt stream.csv --holdout stream.csv {O}", ["column label", "--holdout-label"]),
    (f"adapt stream.csv --holdout no-dogs.csv {O}", ["has no row of the class dog", "Add rows"]),
    (f"adapt stream.csv --holdout mistyped.csv {O}", ["mistyped.csv", "'eal', which is no class", "cat, dog, eel"]),
    (f"adapt other-labels.csv {H} {O} --labels truth", ["'whale', which is no class", "cat, dog, eel"]),
    # Times
    (f"adapt days.csv {H} {O} --time at", ["'03/01/2026'", "--time-format '%d/%m/%Y'", "--time-format '%m/%d/%Y'"]),
    (f"adapt late-days.csv {H} {O} --time at", ["'3/1/26'", "Add --time-format '%m/%d/%y'"]),
    (f"adapt numbered-days.csv {H} {O} --time at", ["20260301", "--time-format '%Y%m%d'"]),
    (f"adapt days.csv {H} {O} --time at --time-format %Y-%m-%d", ["does not fit", "--time-format '%d/%m/%Y'"]),
    (f"adapt shuffled.csv {H} {O} --time at", ["shuffled.csv, row ", "comes after", "sort('at')"]),
    (f"adapt zones.csv {H} {O} --time at", ["zones.csv, row 2, column at: has a time zone", "or none of them"]),
    (f"adapt units.csv {H} {O} --time at", ["units.csv, row 10, column at", "in one unit"]),
    # Backtests
    ("backtest log.csv", ["--label"]),
    ("backtest log.csv --label thruth", ["log.csv, row 1, column thruth", "did you mean truth?"]),
    ("backtest log.csv --label truth --holdout-share 20%", ["--holdout-share takes a number between 0 and 1"]),
    ("backtest log.csv --label truth --holdout-share 20", ["--holdout-share", "between 0 and 1"]),
    ("backtest log.csv --label truth --methods Arows", ["Arows", "Arrows"]),
    ("backtest log.csv --label truth --rounds 1h", ["--rounds is a length of time", "--time"]),
    ("backtest log.csv --label truth --rounds 2900", ["rounds"]),
    ("backtest holdout-scores.csv --label label", ["holdout-scores.csv", "--score score"]),
    ("backtest holdout-percent.csv --label label", ["row 1", "add --percent"]),
    ("backtest days.csv --label truth --time at", ["--time-format '%d/%m/%Y'", "--time-format '%m/%d/%Y'"]),
    # Names of options that another command has, or that seem natural
    (f"adapt stream.csv {H} {O} --label truth", ["--label is no option", "--holdout-label COL", "--labels COL"]),
    (f"adapt stream.csv {H} {O} --target truth", ["--target is no option", "--holdout-label COL", "--labels COL"]),
    (f"adapt stream.csv {H} {O} --holdout-labels label", ["--holdout-labels is no", "--holdout-label COL"]),
    (f"adapt stream.csv holdout.csv {O}", ["(holdout.csv)", "--holdout FILE"]),
    (f"adapt stream.csv {H} --output out.csv", ["--output", "--out"]),
    ("backtest log.csv --labels truth", ["--labels is no option", "--label COL"]),
    ("backtest log.csv --holdout-label truth", ["--label is missing", "--label COL"]),
    # Labels and columns of a score
    ("backtest one-class.csv --label label --score score", ["labels are good", "Add rows of the other class"]),
    ("backtest three-labels.csv --label label --score score", ["unknown", "Leave labels that are not known empty"]),
    ("backtest capitals.csv --label label --score score", ["Fraud", "capitals or spaces", "fraud and good"]),
    ("backtest spaced.csv --label label --score score", ["' score', with a space", "first line"]),
    ("backtest no-header.csv --label label --score score", ["looks like a row", "line of names"]),
    ("backtest holdout-scores.csv --label score --score score", ["column score", "two classes"]),
    ("backtest holdout-scores.csv --label label --score label", ["row 1, column label", "expected a probability"]),
    ("backtest holdout-scores.csv --label label --score score --positive fraud --time score", ["like a score"]),
    # Costs
    ("backtest holdout-scores.csv --label label --score score --positive fraud --costs 20", ["--costs 1:20"]),
    ("backtest holdout-scores.csv --label label --score score --positive fraud --costs 1:-20", ["above 0"]),
    ("backtest holdout-scores.csv --label label --score score --positive fraud --costs 1;20", ["--costs 1:20"]),
    ("backtest log.csv --label truth --cost 1:20", ["--cost", "--costs"]),
    ("backtest log.csv --label truth --costs 1:20", ["two classes", "table"]),
    (f"adapt scores.csv --holdout holdout-scores.csv {O} --score score --costs 1:20", ["--positive fraud"]),
    (f"adapt scores.csv --holdout holdout-scores.csv {O} --score score --positive fraud --threshold 50", ["0 and 1"]),
]  # fmt: skip


@pytest.mark.parametrize(("command", "words"), MISTAKES, ids=[command for command, _ in MISTAKES])
def test_a_mistake_is_answered_with_what_is_wrong_and_what_to_type(command, words, capsys):
    before = contents()
    status = status_of(*command.split())
    said = capsys.readouterr()
    assert status not in (0, None), said
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert line.startswith("baserate: ")
    assert "Traceback" not in line
    for word in words:
        assert word in line
    assert contents() == before


def test_there_are_enough_and_each_is_another():
    assert len({command for command, _ in MISTAKES}) == len(MISTAKES) >= 25


@pytest.fixture
def cleaned():
    before = contents()
    yield
    for path in set(contents()) - set(before):
        path.unlink()
    assert contents() == before


def adapted():
    return pl.read_csv("out.csv").select(f"adapted_{name}" for name in P).to_numpy()


@pytest.mark.usefixtures("cleaned")
@pytest.mark.parametrize(
    ("stream", "note"),
    [
        ("semicolons.csv", "semicolons.csv has decimal commas: 0,25 is read as 0.25"),
        ("semicolons.csv", "read with ';' between its columns"),
        ("reordered.csv", None),
        ("stream.csv.gz", None),
    ],
)
def test_what_can_be_read_for_certain_is_read_and_a_note_says_how(stream, note, capsys):
    assert status_of("adapt", "stream.csv", *H.split(), *O.split()) == 0
    expected = adapted()
    capsys.readouterr()
    assert status_of("adapt", stream, *H.split(), *O.split()) == 0
    np.testing.assert_allclose(adapted(), expected, rtol=1e-12)
    assert note is None or note in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        f"adapt stream.csv --holdout swapped.csv {O}",
        "backtest log.csv --label truth --holdout swapped.csv --holdout-label label",
    ],
)
def test_columns_that_were_swapped(command, capsys):
    before = contents()
    assert status_of(*command.split()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    for word in ("worse than chance", "'cat' that of p_dog", "'dog' that of p_cat", "model.classes_"):
        assert word in line
    assert contents() == before


@pytest.mark.usefixtures("cleaned")
@pytest.mark.parametrize("key", [[], ["--key", "truth"]])
def test_columns_of_a_redeployed_model_that_were_swapped(key, capsys):
    assert status_of(*f"adapt stream.csv {H} {O} --state kept".split(), *key) == 0
    before = contents()
    capsys.readouterr()
    command = "adapt clock.csv --holdout swapped.csv --refit -o two.csv --state kept"
    assert status_of(*command.split(), *key) == 2
    (line,) = capsys.readouterr().err.splitlines()
    for word in ("swapped.csv: the model does worse than chance", "'cat' that of p_dog", "'dog' that of p_cat"):
        assert word in line
    assert "proba[" not in line
    assert contents() == before


@pytest.mark.usefixtures("cleaned")
def test_columns_of_a_redeployed_model_in_another_order():
    results = []
    for columns in (P, P[::-1]):
        pl.read_csv("holdout.csv").head(300).select(*columns, "label").write_csv("new.csv")
        Path("kept").unlink(missing_ok=True)
        assert status_of(*f"adapt stream.csv {H} {O} --state kept".split()) == 0
        assert status_of(*f"adapt clock.csv --holdout new.csv --refit {O} --state kept".split()) == 0
        results.append(adapted())
    np.testing.assert_allclose(results[1], results[0], rtol=1e-9)


@pytest.mark.usefixtures("cleaned")
def test_the_positive_class_of_a_score_is_the_other_one(capsys):
    command = f"adapt scores.csv --holdout holdout-scores.csv {O} --score score --positive"
    assert status_of(*command.split(), "good") == 2
    assert "give --positive fraud" in capsys.readouterr().err
    assert status_of(*command.split(), "fraud") == 0


@pytest.mark.usefixtures("cleaned")
def test_decisions_instead_of_scores(capsys):
    _two(3000, 0).with_columns(score=(pl.col("score") > 0.5).cast(pl.Int64)).write_csv("decisions.csv")
    command = "backtest decisions.csv --label label --score score --positive fraud --costs 1:20"
    assert status_of(*command.split()) == 0
    assert "every score is 0 or 1, like a decision" in " ".join(capsys.readouterr().err.split())
    assert status_of(*command.replace("decisions", "holdout-scores").split()) == 0
    assert "like a decision" not in " ".join(capsys.readouterr().err.split())


def test_a_compressed_file_through_a_pipe(monkeypatch, capsys):
    data = Path("stream.csv.gz").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    before = contents()
    assert status_of("adapt", "-", *H.split(), *O.split()) == 2
    assert "gzip -dc FILE | baserate" in capsys.readouterr().err
    assert contents() == before


def test_a_file_that_may_not_be_read(monkeypatch, capsys):
    opened = Path.open

    def refuse(path, *arguments, **options):  # root may read everything, so the system's answer is played
        if path.name == "stream.csv":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    assert status_of("adapt", "stream.csv", *H.split(), *O.split()) == 2
    assert "stream.csv: cannot be read (Permission denied); check that you may read it" in capsys.readouterr().err


@pytest.mark.usefixtures("cleaned")
def test_a_state_that_was_begun_otherwise(capsys):
    score = "--holdout holdout-scores.csv --score score --positive fraud"
    assert status_of(*f"adapt scores.csv {O} --state kept {score}".split()) == 0
    kept = Path("kept").read_bytes()
    for command, words in [
        ("adapt scores.csv -o two.csv --state kept", ["begun with --score score --positive fraud; add"]),
        ("adapt stream.csv -o two.csv --state kept", ["begun with --score score --positive fraud; add"]),
        ("adapt scores.csv -o two.csv --state kept --score score --key label", ["one tracker for all"]),
        ("adapt scores.csv -o two.csv --state kept --score score --holdout scores.csv", ["--refit"]),
    ]:
        capsys.readouterr()
        assert status_of(*command.split()) == 2, command
        (line,) = capsys.readouterr().err.splitlines()
        assert all(word in line for word in words), line
    assert Path("kept").read_bytes() == kept
    assert re.fullmatch("fraud|good", state.load("kept").classes.names[0])
