"""The page of a backtest."""

import re

import pytest

from ..commands.backtested import done, log
from ..files.streams import write

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_the_report_has_the_sentence_a_table_and_plots(tmp_path):
    write(log()[0], tmp_path / "<log> & co.csv")
    result = done("<log> & co.csv", "--label", "truth", "--report", "out.html", "--methods", "Arrows")
    page = (tmp_path / "out.html").read_text()
    assert f"Report: {tmp_path / 'out.html'}" in result.stdout
    assert "&lt;log&gt; &amp; co.csv" in page
    assert "<log>" not in page
    assert page.index("Use it: error") < page.index("<table>") < page.index("<svg")
    assert page.count("<figure>") == 4
    assert "Share of eel" in page
    assert "There was no alarm." in page
    assert "http" not in re.sub(r'xmlns\S*="[^"]*"', "", page)
