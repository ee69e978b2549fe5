"""``baserate prevalence``, from the command line."""

import csv
import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from baserate.cli import app


def outputs(y, rng):
    odds = np.exp(2.0 * (rng.normal(size=len(y)) + 2.0 * y - 1.0))
    return odds / (1.0 + odds)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where, rng = tmp_path_factory.mktemp("prevalence"), np.random.default_rng(0)
    held = rng.integers(2, size=500)
    p = outputs(held, rng)
    names = np.array(["ham", "spam"])
    pl.DataFrame({"p_ham": 1 - p, "p_spam": p, "label": names[held]}).write_csv(where / "holdout.csv")
    days = np.repeat(np.arange(70), 20)
    y = (rng.random(1400) < np.where(days < 35, 0.1, 0.4)).astype(int)
    p = outputs(y, rng)
    frame = pl.DataFrame(
        {
            "day": (np.datetime64("2026-01-05") + days).astype(str),
            "shop": np.where(np.arange(1400) % 2 == 0, "a", "b"),
            "p_ham": 1 - p,
            "p_spam": p,
            "audit": [names[c] if i % 7 == 0 else None for i, c in enumerate(y)],
        }
    )
    frame.write_csv(where / "log.csv")
    frame.write_parquet(where / "log.parquet")
    return where


def run(*words):
    return CliRunner().invoke(app, ["prevalence", *map(str, words)])


def test_weeks_with_audits(folder):
    out, report = folder / "weeks.csv", folder / "weeks.html"
    found = run(
        folder / "log.csv", "--holdout", folder / "holdout.csv", "--time", "day", "--labels", "audit", "-o", out,
        "--report", report,
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    said = " ".join(found.output.split())
    assert "Share of spam" in said
    assert ") in the period from 2026-01-05, " in said
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert len(rows) == 10 * 2
    spam = [row for row in rows if row["class"] == "spam"]
    assert spam[0]["period"] == "2026-01-05"
    assert abs(float(spam[0]["hindsight"]) - 0.1) < 0.08
    assert abs(float(spam[-1]["hindsight"]) - 0.4) < 0.1
    assert sum(int(row["labels"]) for row in spam) == 200
    for row in rows:
        assert float(row["low"]) <= float(row["share"]) <= float(row["high"])
        assert row["share"] == row["audited"]
    page = report.read_text()
    assert "Share of spam" in page
    assert "audits of the period alone" in page


def test_json_by_key_and_month_from_parquet(folder):
    found = run(
        folder / "log.parquet", "--holdout", folder / "holdout.csv", "--time", "day", "--period", "1mo", "--key",
        "shop", "--json",
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    rows = json.loads(found.stdout)["periods"]
    assert {row["key"] for row in rows} == {"a", "b"}
    assert [row["period"] for row in rows if row["key"] == "a" and row["class"] == "ham"] == [
        "2026-01-01", "2026-02-01", "2026-03-01",
    ]  # fmt: skip
    assert rows[0]["share"] == rows[0]["hindsight"]
    assert "audited" not in rows[0]
    whole = run(folder / "log.parquet", "--holdout", folder / "holdout.csv", "--time", "day", "--key", "shop")
    assert "tracked" in whole.output


def test_a_week_without_rows_has_no_share_by_audits_and_leaves_a_gap(folder, tmp_path):
    frame = pl.read_csv(folder / "log.csv")
    frame.filter(~pl.col("day").is_between(pl.lit("2026-02-02"), pl.lit("2026-02-08"))).write_csv(tmp_path / "log.csv")
    report, out = tmp_path / "report.html", tmp_path / "weeks.csv"
    found = run(
        tmp_path / "log.csv", "--holdout", folder / "holdout.csv", "--time", "day", "--labels", "audit", "-o", out,
        "--report", report,
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    (empty,) = [line.split() for line in found.output.splitlines() if line.startswith(" 2026-02-02")]
    assert empty[1:5] == ["0", "-", "-", "-"]
    rows = [row for row in csv.DictReader(out.read_text().splitlines()) if row["period"] == "2026-02-02"]
    assert [(row["share"], row["audited"], row["low"], row["high"]) for row in rows] == 2 * [("", "", "0.0", "1.0")]
    assert "nan" not in report.read_text().lower().replace("tenant", "")


def test_a_row_without_a_key_is_named(folder, tmp_path):
    pl.read_csv(folder / "log.csv").with_columns(
        shop=pl.when(pl.int_range(pl.len()) == 6).then(None).otherwise(pl.col("shop"))
    ).write_csv(tmp_path / "log.csv")
    found = run(tmp_path / "log.csv", "--holdout", folder / "holdout.csv", "--key", "shop")
    assert found.exit_code == 2
    assert "row 7, column shop: the key is missing; fill it in, or drop the row" in " ".join(found.output.split())


def test_the_counts_of_very_many_periods_are_drawn_as_means(folder, tmp_path):
    report = tmp_path / "report.html"
    many = ["--period", "5", "--report", report]  # 280 periods
    found = run(folder / "log.csv", "--holdout", folder / "holdout.csv", *many)
    assert found.exit_code == 0, found.output
    assert "Counts are means over 3 periods." in report.read_text()


@pytest.fixture(scope="module")
def broken(folder):
    """Logs whose second half is no label shift: in one the scores move, in the other what they mean."""
    rng = np.random.default_rng(5)
    y = (rng.random(4000) < 0.4).astype(int)
    p, late = outputs(y, rng), np.arange(4000) >= 2000
    told = np.where(late & (rng.random(4000) > 0.3), 0, y)
    frame = pl.DataFrame(
        {"p_spam": p, "audit": [["ham", "spam"][c] if i % 10 == 0 else "" for i, c in enumerate(told)]}
    )
    frame.write_csv(folder / "meaning.csv")
    pl.DataFrame({"p_spam": np.where(late, 0.5 + 0.3 * (p - 0.5), p)}).write_csv(folder / "scores.csv")
    return ["--holdout", folder / "holdout.csv", "--score", "p_spam", "--positive", "spam", "--period", "500"]


def test_a_warning_where_scores_are_not_those_of_label_shift(folder, broken):
    found = run(folder / "scores.csv", *broken, "--json")
    assert found.exit_code == 0, found.output
    (warning,) = json.loads(found.stdout)["warnings"]
    assert warning.startswith("ALARM since rows 2,001 to 2,500: drift beyond the class mix")
    assert "name the column of their labels with --labels" in warning


def test_a_warning_where_audits_contradict_the_mix_in_hindsight(folder, broken, tmp_path):
    report = tmp_path / "report.html"
    found = run(folder / "meaning.csv", *broken, "--labels", "audit", "--report", report)
    said = " ".join(found.output.split())
    assert "Labels contradict hindsight: of 200 labelled rows among rows 2,001 to 4,000" in said
    assert "Do not use the share in hindsight" in said
    assert report.read_text().count('<div class="alarm"') == 1


def test_a_column_without_labels_is_told_of_and_a_single_period_named_once(folder, tmp_path):
    frame = pl.read_csv(folder / "log.csv").head(100).with_columns(audit=pl.lit(""))
    frame.write_csv(tmp_path / "log.csv")
    found = run(tmp_path / "log.csv", "--holdout", folder / "holdout.csv", "--labels", "audit")
    assert found.exit_code == 0, found.output
    said = " ".join(found.output.split())
    assert "note: column audit has no label in any row" in said
    assert ") in rows 1 to 100." in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--holdout is missing"),
        (["--holdout", "holdout.csv", "--period", "1w"], "name the column of time stamps"),
        (["--holdout", "holdout.csv", "--period", "soon"], "--period is 'soon'"),
        (["--holdout", "holdout.csv", "--labels", "nothing"], "the column is missing"),
        (["--holdout", "holdout.csv", "-o", "log.csv"], "is read by this run"),
        (["--holdout", "holdout.csv", "--level", "1"], "--level is 1"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(folder, monkeypatch, words, said):
    monkeypatch.chdir(folder)
    found = run("log.csv", *words)
    assert found.exit_code == 2
    assert said in found.output
    assert "Traceback" not in found.output
