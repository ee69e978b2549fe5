"""The page of a backtest."""

import re

import numpy as np
import polars as pl
import pytest

from ..commands.backtested import done, log
from ..files.paths import DAY, MARCH
from ..files.streams import holdout, model_outputs, write

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_the_report_has_the_sentence_a_table_and_plots(tmp_path):
    write(log()[0], tmp_path / "<log> & co.csv")
    result = done("<log> & co.csv", "--label", "truth", "--report", "out.html", "--methods", "Arrows")
    page = (tmp_path / "out.html").read_text()
    assert f"Report: {tmp_path / 'out.html'}" in result.stdout
    assert "&lt;log&gt; &amp; co.csv" in page
    assert "<log>" not in page
    assert (
        page.index("<h1")
        < page.index("Use it</h1>")
        < page.index("error ")
        < page.index("<table>")
        < page.index("<svg")
    )
    assert page.count("<figure>") == 4
    assert "Share of eel" in page
    assert "There was no alarm." in page
    assert "The trackers re-weight" in page
    assert '<p class="calm">No sign of drift' in page
    assert 'class="alarm"' not in page
    assert ">round</text>" in page
    assert "http" not in re.sub(r'xmlns\S*="[^"]*"', "", page)


def rare(n=4000, spoilt=False):
    """Two classes, one of them rare, over twenty days; the scores of the second half may be spoilt."""
    proba, y = model_outputs(n, (0.95, 0.05), 0)
    odds = proba[:, 1] / proba[:, 0] / 19
    fraud = odds / (1 + odds)
    fraud[n // 2 :] = np.where(spoilt, 0.3, fraud[n // 2 :])
    when = pl.Series(((MARCH + np.arange(n) * 20 * DAY / n) * 1e6).astype(np.int64)).cast(pl.Datetime("us"))
    return pl.DataFrame(
        {"p_good": 1 - fraud, "p_fraud": fraud, "truth": pl.Series(["good", "fraud"]).gather(y), "when": when}
    )


def page_of(table, tmp_path, *options):
    write(table, tmp_path / "log.parquet")
    done("log.parquet", "--label", "truth", "--report", "out.html", "--methods", "none", *options)
    return (tmp_path / "out.html").read_text()


def test_of_two_classes_the_rarer_one_is_drawn_by_date_and_on_its_own_scale(tmp_path):
    page = page_of(rare(), tmp_path, "--time", "when")
    figure = page[page.rindex("<figure>", 0, page.index("Share of fraud")) :].partition("</figure>")[0]
    assert "Share of good" not in page
    ticks = [float(tick) for tick in re.findall(r">([\d.]+) %</text>", figure)]
    assert ticks[0] == 0
    assert 5 <= max(ticks) <= 25
    assert re.findall(r"<text[^>]*>(\d+ Mar)</text>", figure)[0] == "5 Mar"  # the first four days are the holdout
    assert ">round</text>" not in page


def test_an_alarm_has_a_box_with_its_date(tmp_path):
    page = page_of(rare(spoilt=True), tmp_path, "--time", "when")
    (day,) = re.findall(r"▲ ALARM since (\d+) March</strong>", page)
    assert 11 <= int(day) <= 13  # the scores are spoilt on the eleventh
    assert page.count("▲ alarm") == 2
    assert "Doubt of a sample is" in page


def terms_of(page):
    return re.findall(r"<dt>(.*?)</dt>", page)


def test_only_what_is_there_is_explained(tmp_path):
    page = page_of(log()[0], tmp_path)
    assert "evidence" in terms_of(page)
    assert "The trackers re-weight" not in page
    assert re.findall(r"</svg>([\w ]+)</li>", page) == [
        "baserate", "mix in hindsight", "share among the labels", "evidence",
    ]  # fmt: skip
    assert not {"cost", "expected cost"} & set(terms_of(page))


def test_evidence_that_is_not_tested_is_in_no_legend(tmp_path):
    held = holdout()
    few = pl.concat(
        [held.filter(pl.col("label") == label).head(15) for label in held["label"].unique(maintain_order=True)]
    )
    write(few, tmp_path / "holdout.csv")
    page = page_of(log()[0], tmp_path, "--holdout", "holdout.csv", "--holdout-label", "label")
    assert "Drift beyond the class mix is not tested" in page
    assert page.count("<figure>") == 3
    assert "</svg>evidence</li>" not in page
    assert "evidence" not in terms_of(page)


@pytest.mark.parametrize(
    ("by", "digits"), [("error", r"-?[\d,]+"), ("brier", r"-?[\d,]+\.\d{4}"), ("log-loss", r"-?[\d,]+\.\d{3}")]
)
def test_the_ends_of_the_curves_have_the_digits_of_the_measure(by, digits, tmp_path):
    page = page_of(log()[0], tmp_path, "--by", by)
    default, hindsight = re.search(r"At the end (\S+) with the default; (\S+) had the", page).groups()
    for end in (default, hindsight):
        assert re.fullmatch(digits, end)
        assert float(end.replace(",", "")) > 0
