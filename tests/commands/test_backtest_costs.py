"""A log replayed by cost or by a threshold."""

from pathlib import Path

import polars as pl
import pytest

from baserate.backtesting import backtest as replay

from ..backtesting.fraud import N_HELD, NAMES, fraud_log, split
from .backtested import done, found, log, refused

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")
HELD = ["--holdout", "held.csv", "--label", "truth"]


@pytest.fixture
def payments():
    proba, y = fraud_log(12_000)
    table = pl.DataFrame(proba, schema=["p_good", "p_fraud"]).with_columns(truth=pl.Series([NAMES[c] for c in y]))
    table.head(N_HELD).write_csv("held.csv")
    table.slice(N_HELD).write_csv("log.csv")
    return split(proba, y)


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (["--costs", "1:20", "--positive", "fraud"], {"costs": (1, 20), "positive": "fraud"}),
        (["--costs", "1:20", "--positive", "good"], {"costs": (1, 20), "positive": "good"}),
        (["--costs", "costs.csv", "--positive", "fraud"], {"costs": [[0, 1, 0.3], [20, 0, 0.5]], "decisions": ["ask"]}),
        (["--threshold", "0.1", "--positive", "fraud"], {"threshold": 0.1}),
        (["--threshold", "0.1", "--positive", "fraud", "--by", "cost"], {"threshold": 0.1}),
        (
            ["--threshold", "0.1", "--positive", "good", "--by", "error"],
            {"threshold": 0.1, "positive": 0, "by": "error"},
        ),
        (["--costs", "1:20", "--positive", "fraud", "--by", "log-loss"], {"costs": (1, 20), "by": "log-loss"}),
        (["--by", "brier"], {"by": "brier", "positive": None}),
    ],
)
def test_it_says_what_the_function_says(options, arguments, payments):
    Path("costs.csv").write_text("true,fraud,ask,good\nfraud,0,0.5,20\ngood,1,0.3,0\n")
    said = found("log.csv", *HELD, *options)
    expected = replay(**payments | {"methods": []} | arguments)
    assert said["sentence"] == expected.sentence
    assert (said["verdict"], said["by"]) == (expected.verdict, expected.by)
    assert said["decisions"] == list(expected.rule.decisions)
    assert said["costs"] == (None if expected.rule.costs is None else expected.rule.costs.tolist())
    assert said["threshold"] == expected.rule.threshold
    for one, score in zip(said["methods"], expected.scores, strict=True):
        assert one["method"] == score.method
        assert list(one["decided"].values()) == list(score.decided)
        assert one["brier_change"]["low"] == pytest.approx(score.brier_change.low)
        for name in ("error", "cost", "precision", "recall", "f1", "brier", "log_loss"):
            assert one[name] == pytest.approx(getattr(score, name)), name
        assert (one["cost_change"] is None) == (score.cost is None)
    if expected.tuned is not None:
        assert said["tuned_threshold"] == pytest.approx(expected.tuned.threshold)
        assert said["beyond_tuned"]["high"] == pytest.approx(expected.beyond_tuned.high)


def table_of(text):
    return [line for line in text.split("\n\n")[1].splitlines() if line.strip()]


@pytest.mark.parametrize(
    ("options", "columns"),
    [
        ([], ["error %", "change, in points", "log loss"]),
        (["--costs", "1:20", "--positive", "fraud"], ["1,000", "change", "precision", "recall"]),
        (["--costs", "1000:200000", "--positive", "fraud"], ["1,000", "change"]),
        (["--threshold", "0.05", "--positive", "fraud"], ["1,000", "change", "precision", "recall"]),
        (
            ["--threshold", "0.05", "--positive", "fraud", "--by", "error"],
            ["%", "change, in points", "precision", "recall"],
        ),
        (["--costs", "1:20", "--positive", "fraud", "--by", "log-loss"], ["log loss", "change of log loss", "error %"]),
        (["--by", "brier"], ["Brier score", "change of Brier score", "error %"]),
    ],
)
def test_the_table_fits_a_terminal_whatever_is_asked(options, columns, payments):
    del payments
    Path("a-name-that-is-much-longer-than-usual.csv").write_bytes(Path("log.csv").read_bytes())
    lines = table_of(done("a-name-that-is-much-longer-than-usual.csv", *HELD, *options).stdout)
    assert max(map(len, lines)) <= 80
    head = next(line for line in lines if "log / method" in line)
    assert " ".join(head.split()) == " ".join(["log / method", *columns])
    assert sum("…" in line for line in lines) == 0
    (default,) = (line for line in lines if "baserate (default)" in line)
    assert any("OnlineGradientDescent " in line for line in lines)
    assert default.rstrip().count("  ") >= len(columns)


def test_what_is_said_below_the_table(payments):
    del payments
    by_cost = done("log.csv", *HELD, "--costs", "1:20", "--positive", "fraud", "--methods", "none").stdout
    assert "Precision and recall are of fraud." in by_cost
    assert "Moving the threshold once, to 0.0" in by_cost
    assert "tuned threshold " in by_cost
    plain = done("log.csv", *HELD, "--methods", "none").stdout
    assert "% of the labels are fraud: the error rate says little about such a rare class." in plain
    assert "--costs 1:20 --positive fraud" in plain


@pytest.mark.parametrize(
    ("threshold", "by", "line"),
    [
        (
            0.05,
            [],
            "a missed fraud costs 19 times a false alarm: the verdict is by that cost (a false alarm counts 1).",
        ),
        (0.8, [], "a false alarm costs 4 times a missed fraud: the verdict is by that cost (a false alarm counts 1)."),
        (0.5, [], "a missed fraud costs as much as a false alarm: the verdict is by that cost"),
        (
            0.05,
            ["--by", "error"],
            "19 times a false alarm, but the error counts both alike. For a verdict by that cost, ",
        ),
        (0.05, ["--by", "brier"], "19 times a false alarm: that is the cost shown (a false alarm counts 1)"),
    ],
)
def test_a_threshold_is_said_to_be_about_costs(threshold, by, line, payments):
    del payments
    words = ["--threshold", f"{threshold}", "--positive", "fraud", "--methods", "none", "--report", "out.html"]
    said = done("log.csv", *HELD, *words, *by).stdout
    assert (
        f"The decision is fraud where its probability is at least {threshold}.\nA threshold of {threshold} means"
        in said
    )
    assert line in said
    page = Path("out.html").read_text()
    assert line in page
    assert "by the costs that the threshold implies" in page
    assert "tuned threshold" in page
    assert "replace --threshold" not in said + page


def test_more_classes_and_a_table(tmp_path):
    log()[0].write_csv("log.csv")
    (tmp_path / "c.csv").write_text("true,cat,dog,eel\ncat,0,1,2\ndog,3,0,1\neel,1,9,0\n")
    said = done("log.csv", "--label", "truth", "--costs", "c.csv", "--methods", "none", "--report", "out.html").stdout
    assert "cost per 1,000 rows" in said.splitlines()[0]
    assert "Precision and recall are means over the classes." in said
    page = (tmp_path / "out.html").read_text()
    for text in ("cost per 1,000 rows", "precision", "recall", "F1", "Brier score", "Cost saved so far"):
        assert text in page, text
    assert "Mistakes avoided so far" not in page
    assert (
        page.index("change of cost")
        < page.index(">precision<")
        < page.index(">expected cost<")
        < page.index(">error %<")
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--costs", "1:20"],
            "which class is the positive one, good or fraud? Add --positive good or --positive fraud",
        ),
        (["--costs", "1:20", "--positive", "Fraud"], "--positive Fraud is no class; give one of good, fraud."),
        (["--costs", "1-20"], "--costs 1-20: expected FP:FN, such as --costs 1:20"),
        (["--costs", "1:20", "--threshold", "0.1"], "--costs and --threshold are two ways to decide"),
        (["--threshold", "5"], "--threshold is 5; give a number strictly between 0 and 1."),
        (["--by", "cost"], "--by cost needs to know what mistakes cost; add --costs, such as --costs 1:20."),
        (["--by", "f1"], "--by is f1; choose one of error, cost, log-loss, brier."),
        (["--costs", "nowhere.csv"], "nowhere.csv: there is no such file"),
    ],
)
def test_what_is_refused(options, message, payments):
    del payments
    assert message in refused("log.csv", *HELD, *options, "--report", "out.html")
    assert not Path("out.html").exists()


def test_how_the_table_is_read_is_a_note(payments):
    del payments
    Path("c.csv").write_text("true;good;fraud\ngood;0;1\nfraud;20;0\n")
    result = done("log.csv", *HELD, "--costs", "c.csv", "--methods", "none")
    assert "baserate: note: c.csv is read with ';' between its columns" in result.stderr
    assert "UserWarning" not in result.stderr
