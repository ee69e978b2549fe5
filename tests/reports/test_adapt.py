"""The page of an adapted stream."""

import re

import numpy as np
import polars as pl
import pytest

from ..commands.adapting import done
from ..files.paths import DAY, MARCH
from ..files.streams import frame, holdout, model_outputs, write


@pytest.fixture(autouse=True)
def with_a_holdout(in_an_empty_folder, tmp_path):
    write(holdout(), tmp_path / "holdout.csv")


def page_of(tmp_path, *options, table=None, **more):
    write(frame(2500, **more)[0] if table is None else table, tmp_path / "s.csv")
    result = done("s.csv", "-o", "o.csv", "--rounds", "100", "--report", "r.html", *options)
    assert result.stdout.splitlines()[-1] == f"Report: {tmp_path / 'r.html'}"
    page = (tmp_path / "r.html").read_text()
    assert "http" not in page.replace("http://www.w3.org", "")
    assert not re.search(r"\b(nan|None|NaN)\b", re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL))
    return result, page


def two_classes(n, share, source=0.05, seed=0):
    """A model that is right where one in twenty is fraud, and a stream of another share."""
    proba, y = model_outputs(n, (1 - share, share), seed)
    odds = proba[:, 1] / proba[:, 0] * source / (1 - source)
    fraud = odds / (1 + odds)
    return pl.DataFrame({"p_good": 1 - fraud, "p_fraud": fraud}), pl.Series(["good", "fraud"]).gather(y)


def test_the_headline_is_that_of_the_terminal(tmp_path):
    result, page = page_of(tmp_path)
    headline = re.search(r'<h1 class="headline">(.*?)</h1>', page)[1].replace("&nbsp;", " ")
    assert headline == result.stdout.splitlines()[0]
    assert "moved: " in headline


def test_the_report_shows_what_was_tracked(tmp_path):
    _, page = page_of(tmp_path)
    last = pl.read_csv("o.rounds.csv")["prior_eel"][-1]
    assert re.search(
        rf"the share of eel over 25 rounds, [\d.]+ % in the holdout, [\d.]+ % .*? {100 * last:.1f} % in", page
    )
    assert "The correction was reduced in 0% of the rounds." in page
    assert "Weight of the correction: 100 %. Serial correlation of the samples: " in page
    # Cats have moved furthest, and come first, in the figures and in the table.
    assert page.index("Share of cat") < page.index("Share of eel") < page.index("Share of dog")
    assert page.index('row">cat') < page.index('row">eel') < page.index('row">dog')


def test_a_calm_stream_has_no_alarm_and_its_evidence_is_folded_away(tmp_path):
    _, page = page_of(tmp_path)
    assert 'class="alarm"' not in page
    assert "▲" not in page
    assert '<p class="calm">No sign of drift' in page
    assert page.index("<details>") < page.index("Evidence against label shift")


def test_evidence_that_is_not_tested_is_neither_drawn_nor_explained(tmp_path):
    held = holdout()
    few = pl.concat(
        [held.filter(pl.col("label") == label).head(15) for label in held["label"].unique(maintain_order=True)]
    )
    write(few, tmp_path / "holdout.csv")
    _, page = page_of(tmp_path)
    assert "Drift beyond the class mix is not tested" in page
    assert "Evidence against label shift" not in page
    assert page.count("<figure>") == 3
    assert "<dt>evidence</dt>" not in page


def test_an_alarm_is_on_top_and_in_the_figures(tmp_path):
    table = frame(4000)[0]
    blurred = table.with_columns(
        (pl.when(pl.col("id") < 2000).then(pl.col(p)).otherwise(1 / 3)) for p in table.columns[1:]
    )
    _, page = page_of(tmp_path, table=blurred)
    since = pl.read_csv("o.rounds.csv").filter(pl.col("alarm"))["round"][0]
    assert f"▲ ALARM since round {since}</strong>" in page
    assert page.index('class="alarm"') < page.index("<h1")
    assert page.count("▲ alarm") == 4  # three classes, and the evidence
    assert "<code>--refit</code>" in page
    assert "No sign of drift" not in page


def test_of_two_classes_the_rarer_one_is_drawn_on_its_own_scale(tmp_path):
    held, labels = two_classes(3000, 0.05)
    write(held.with_columns(label=labels), tmp_path / "holdout.csv")
    _, page = page_of(tmp_path, table=two_classes(6000, 0.05, seed=1)[0])
    assert "Share of fraud" in page
    assert "Share of good" not in page
    ticks = [float(tick) for tick in re.findall(r">([\d.]+) %</text>", page)]
    assert min(ticks) == 0
    assert 5 <= max(ticks) <= 20
    assert 'row">good' in page


def test_times_make_an_axis_of_dates(tmp_path):
    stamps = pl.Series(((MARCH + np.arange(2500) * 20 * DAY / 2500) * 1e6).astype(np.int64)).cast(pl.Datetime("us"))
    _, page = page_of(tmp_path, "--time", "when", when=stamps)
    assert re.findall(r"<text[^>]*>(\d+ Mar)</text>", page)[:2] == ["1 Mar", "5 Mar"]
    assert ">round</text>" not in page
    assert re.search(r'class="when">\(\d+ Mar\)', page)


def test_without_times_it_is_one_of_rounds(tmp_path):
    _, page = page_of(tmp_path)
    assert ">round</text>" in page
    assert re.search(r'class="when">\(round \d+\)', page)


@pytest.mark.parametrize(
    ("options", "absent"),
    [([], ["in doubt", "furthest"]), (["--key", "shop"], ["doubt", "evidence", "correction used"])],
)
def test_only_what_is_there_is_explained(tmp_path, options, absent):
    _, page = page_of(tmp_path, *options, shop=["north", "south"] * 1250)
    terms = re.findall(r"<dt>(.*?)</dt>", page)
    assert "moved" in terms
    assert not set(absent) & set(terms)
    body = re.sub("<[^>]*>", " ", page[page.index("<main>") : page.index("How to read this")])
    assert all(term in body for term in terms)
    assert "strangeness" not in terms, "there is no alarm that would speak of it"


def test_keys(tmp_path):
    _, page = page_of(tmp_path, "--key", "shop", shop=["north"] * 40 + ["south", "north"] * 1230)
    assert "Share of eel, all keys" in page
    assert "<b>2</b>keys" in page
    assert page.index('row">north') > page.index("Those that moved most")


def test_many_classes_are_folded_away(tmp_path):
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.full(30, 0.2), 3000)
    y = [f"c{c}" for c in (rng.random((3000, 1)) > proba.cumsum(axis=1)).sum(axis=1).clip(max=29)]
    table = pl.DataFrame(proba, schema=[f"p_c{i}" for i in range(30)])
    write(table.with_columns(label=pl.Series(y)), tmp_path / "holdout.csv")
    _, page = page_of(tmp_path, table=table)
    assert page.count("<figure>") == 7
    assert "<summary>18 more classes</summary>" in page
    assert page.count('<th scope="row">') == 30
    assert page[: page.index("<details>")].count('<th scope="row">') == 12


def test_a_peak_of_one_round_is_drawn_however_long_the_stream():
    from baserate.reports.adapt import _furthest

    path = np.full(100_000, 0.01)
    path[54_321] = 0.5
    shown = _furthest(path, 0.01, 400)
    assert 54_321 in shown
    assert {0, 99_999} <= set(shown.tolist())
    assert len(shown) <= 402
