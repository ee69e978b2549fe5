"""More natural mistakes: a fraud team's log, with one score, labels that came in, costs and times.

As in `test_natural_mistakes`: each is answered in a line that says what is wrong and what to type, or, where the run
can be meant, with a note.
"""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from ..commands.ended import status_of

N = 1200


def _log(n=N, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 25 == 0
    logit = 2.2 * (rng.normal(size=n) + 2.2 * y) - 5.6
    return pl.DataFrame({"score": 1 / (1 + np.exp(-logit)), "outcome": np.where(y, "fraud", "ok")})


def _topics(n=600):
    rng = np.random.default_rng(1)
    proba = rng.dirichlet([1, 1, 1], n)
    y = (rng.random((n, 1)) > proba.cumsum(axis=1)).sum(axis=1)
    return pl.DataFrame(dict(zip(["p_cat", "p_dog", "p_eel"], proba.T, strict=True))).with_columns(label=pl.Series(y))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("fraud")
    log, topics = _log(), _topics()
    named = topics.with_columns(label=pl.Series(["cat", "dog", "eel"]).gather(topics["label"]))
    when = pl.Series(1_772_368_200 * 10**6 + np.arange(N) * 600 * 10**6).cast(pl.Datetime("us"))
    odd = pl.int_range(pl.len()) % 100 == 7
    tables = {
        "log": log,
        "held": log.tail(600),
        "classes": log.with_columns(score=pl.when(pl.col("score") > 0.5).then(pl.lit("fraud")).otherwise(pl.lit("ok"))),
        "constant": log.with_columns(score=pl.lit(0.04)),
        "padded": log.with_columns(score=pl.col("score").round(6).cast(pl.String) + " "),
        "signs": log.with_columns(score=(pl.col("score") * 100).round(2).cast(pl.String) + "%"),
        "reversed": _log(6000).with_columns(score=1 - pl.col("score")),
        "per-mille": log.with_columns(score=(pl.col("score") * 1000).round().cast(pl.Int64)),
        "named": log.rename({"score": "p_fraud"}),
        "spaced": log.rename({"outcome": "outcome "}),
        "question": log.with_columns(outcome=pl.when(odd).then(pl.lit("?")).otherwise("outcome")),
        "unlabelled": log.with_columns(outcome=pl.lit(None, dtype=pl.String)),
        "bools": log.with_columns(outcome=pl.col("outcome") == "fraud"),
        "shops": log.with_columns(shop=pl.when(odd).then(None).otherwise(pl.lit("a"))),
        "serial": log.with_columns(when=46_000 + pl.int_range(pl.len()) / 144),
        "clock": log.with_columns(when=when.dt.strftime("%H:%M:%S")),
        "months": log.with_columns(when=when.dt.strftime("%Y-%m")),
        "words": log.with_columns(when=when.dt.strftime("%b %d, %Y")),
        "dots": log.with_columns(when=when.dt.strftime("%d.%m.%Y %H:%M")),
        "perfect": log.with_columns(score=pl.when(pl.col("outcome") == "fraud").then(0.99).otherwise(0.001)),
        "topics": topics,
        "from-one": topics.with_columns(pl.col("label") + 1),
        "named-topics": named,
        "prefixed": named.with_columns(label=pl.format("p_{}", "label")),
        "rounded": named.with_columns(pl.col("p_cat", "p_dog", "p_eel").round(1)),
        "extra": named.with_columns(p_value=pl.col("p_cat")),
        "many": named.with_columns(pl.col("p_cat", "p_dog", "p_eel") * 2),
    }
    for name, table in tables.items():
        table.write_csv(place / f"{name}.csv")
    text = (place / "log.csv").read_text()
    (place / "comment.csv").write_text("# exported on Monday\n" + text)
    (place / "footer.csv").write_text(text + "Total,\n")
    (place / "twice.csv").write_text(text.replace("score,outcome", "score,score", 1))
    (place / "ragged.csv").write_text(text + "0.5,ok,and more\n")
    (place / "log.json").write_text(log.head(50).write_json())
    (place / "mistyped-costs.csv").write_text("truth,ok,frod\nok,0,1\nfrod,20,0\n")
    (place / "gains.csv").write_text("truth,ok,fraud\nok,1,0\nfraud,0,20\n")
    (place / "negative.csv").write_text("truth,ok,fraud\nok,0,1\nfraud,20,-5\n")
    return place


@pytest.fixture(autouse=True)
def in_it(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for name in ("FORCE_COLOR", "GITHUB_ACTIONS", "PY_COLORS"):
        monkeypatch.delenv(name, raising=False)


F = "--label outcome --score score --positive fraud"
A = "--holdout-label outcome --score score --positive fraud -o out.csv"
MISTAKES = [
    # Scores
    (f"backtest classes.csv {F}", ["classes.csv, row 1", "predicted classes", "the model's probability"]),
    (f"backtest padded.csv {F}", ["padded.csv, row 1", "without spaces"]),
    (f"backtest signs.csv {F}", ["--percent", "without the sign"]),
    (f"backtest reversed.csv {F}", ["worse than chance", "give --positive ok"]),
    (f"backtest per-mille.csv {F}", ["score is a probability, from 0 to 1"]),
    ("backtest named.csv --label outcome", ["there is only p_fraud", "add --score p_fraud"]),
    (f"backtest constant.csv {F}", ["column score says nothing about the labels", "as if all rows had one score"]),
    (f"backtest log.csv {F} --threshold 5%", ["--threshold takes a number between 0 and 1", "5 % is 0.05"]),
    (f"backtest log.csv {F} --threshold 0", ["--threshold is 0", "strictly between 0 and 1"]),
    # Files
    (f"backtest comment.csv {F}", ["# exported on Monday, a comment", "delete what is above the line of names"]),
    (f"backtest footer.csv {F}", ["footer.csv, row 1,201", "'Total'"]),
    (f"backtest twice.csv {F}", ["column score", "two columns have this name"]),
    (f"backtest ragged.csv {F}", ["ragged.csv, row 1,201", "has 3 fields; expected 2"]),
    (f"backtest log.json {F}", ["log.json", "--format"]),
    (f"backtest spaced.csv {F}", ["column outcome", "'outcome ', with a space"]),
    # Labels
    (f"backtest question.csv {F}", ["?, fraud, ok", "Leave labels that are not known empty"]),
    (f"backtest log.csv {F.replace('fraud', 'Fraud')}", ["--positive Fraud is no class", "fraud, ok"]),
    (f"backtest bools.csv {F.replace('fraud', '1')}", ["--positive 1 is no class", "false, true"]),
    (f"adapt log.csv --holdout unlabelled.csv {A}", ["unlabelled.csv, column outcome", "all empty"]),
    ("backtest from-one.csv --label label", ["holds the label '1', which is no class", "cat, dog, eel"]),
    ("backtest prefixed.csv --label label", ["'p_", "which is no class; expected one of cat, dog, eel"]),
    (f"adapt shops.csv --holdout held.csv {A} --key shop", ["shops.csv, row 8, column shop", "drop the row"]),
    # Several columns
    ("backtest rounded.csv --label label", ["rounded.csv", "with more digits"]),
    ("backtest extra.csv --label label", ["p_cat to p_value", "--columns A,B,C"]),
    ("backtest many.csv --label label", ["sum to 2; expected 1"]),
    # Times
    (f"backtest serial.csv {F} --time when", ["a date of a spreadsheet", "save the file again"]),
    (f"backtest clock.csv {F} --time when", ["'12:30:00'", "Write times as"]),
    (f"backtest months.csv {F} --time when", ["'2026-03'", "Write times as"]),
    (f"backtest words.csv {F} --time when", ["'Mar 01, 2026'", "Add --time-format '%b %d, %Y'"]),
    (f"backtest dots.csv {F} --time when", ["--time-format '%d.%m.%Y %H:%M'", "month first"]),
    # Costs
    (f"backtest log.csv {F} --costs 1,20", ["--costs 1:20"]),
    (f"backtest log.csv {F} --costs FP:1,FN:20", ["--costs 1:20"]),
    (f"backtest log.csv {F} --costs mistyped-costs.csv", ["'frod', which is no class", "fraud, ok"]),
    (f"backtest log.csv {F} --costs gains.csv", ["where fraud is true", "costs, not gains"]),
    (f"backtest log.csv {F} --costs negative.csv", ["is negative (-5)", "add the same number"]),
    (f"backtest log.csv {F} --costs none.csv", ["none.csv: there is no such file"]),
]  # fmt: skip


@pytest.mark.parametrize(("command", "words"), MISTAKES, ids=[command for command, _ in MISTAKES])
def test_a_mistake_is_answered_with_what_is_wrong_and_what_to_type(command, words, capsys):
    before = sorted(Path().iterdir())
    assert status_of(*command.split()) not in (0, None)
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    for word in words:
        assert word in line
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize(
    ("command", "note"),
    [
        (f"adapt log.csv --holdout perfect.csv {A}", "perfect.csv: the model makes no mistake on these 1,200 labelled"),
        (f"adapt log.csv --holdout log.csv {A}", "log.csv is the stream and the holdout, too"),
        (
            "adapt topics.csv --holdout topics.csv --columns p_cat,p_dog,p_eel -o out.csv",
            "taken for the columns in their order: 0 is cat, 1 is dog, 2 is eel.",
        ),
    ],
)
def test_what_may_be_meant_is_done_and_noted(command, note, capsys):
    assert status_of(*command.split()) == 0
    assert note in " ".join(capsys.readouterr().err.split())
    assert status_of(*f"adapt log.csv --holdout held.csv {A}".split()) == 0
    noted = capsys.readouterr().err
    assert not any(word in noted for word in ("no mistake", "holdout, too", "in their order"))
    for path in Path().glob("out.*"):
        path.unlink()
