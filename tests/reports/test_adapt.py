"""The page of an adapted stream."""

import re

import polars as pl
import pytest

from ..commands.adapting import done
from ..files.streams import frame, holdout, write


@pytest.fixture(autouse=True)
def with_a_holdout(in_an_empty_folder, tmp_path):
    write(holdout(), tmp_path / "holdout.csv")


@pytest.mark.parametrize("options", [[], ["--key", "shop"]])
def test_the_report_shows_what_was_tracked(options, tmp_path):
    table, _ = frame(2500, shop=["north", "south"] * 1250)
    write(table, tmp_path / "s.csv")
    result = done("s.csv", "-o", "o.csv", "--rounds", "100", "--report", "r.html", *options)
    assert result.stdout.splitlines()[-1] == f"Report: {tmp_path / 'r.html'}"
    page = (tmp_path / "r.html").read_text()
    last = pl.read_csv("o.rounds.csv")["prior_eel"][-1]
    assert re.search(r"the share of eel over 25 rounds, [\d.]+% in the holdout", page)
    if not options:
        assert f"{last:.1%} in the last" in page
        assert "The correction was reduced in 0% of the rounds." in page
        assert "Weight of the correction: 100 %. Serial correlation of the samples: " in page
    # Eels have moved furthest, and come first.
    assert page.index("Share of eel") < page.index("Share of cat")
    assert "http" not in page.replace("http://www.w3.org", "")
