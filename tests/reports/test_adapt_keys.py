"""Keys in the report."""

import re

import numpy as np
import polars as pl

from baserate.files.adapting.doubted_keys import CHANGED, DoubtedKey
from baserate.files.adapting.tracked_keys import follow_keys
from baserate.reports.adapt_keys import section

from ..files.paths import bump, table, two


def of(n_moved, n_still, n_few, doubted=()):
    up, still = table(two(bump(24, 0.02, 0.4, 12, 20))), table(two(np.full(24, 0.02)))
    kinds = [(up, 20)] * n_moved + [(still, 20)] * n_still + [(still, 2)] * n_few
    frames = [frame.with_columns(key=pl.lit(f"<k{i}>"), rows=pl.lit(n)) for i, (frame, n) in enumerate(kinds)]
    return section(follow_keys(frames, ["good", "fraud"], 2400), doubted, lambda path: "1 to 3 %")


def test_they_are_counted():
    page = of(3, 2, 1)
    assert "<b>6</b>keys" in page
    assert "<b>3</b>moved" in page
    assert "<b>2</b>without a clear move" in page
    assert "<b>1</b>with few rows" in page
    assert "<b>0</b>in doubt" in page
    assert "Those in doubt" not in page
    assert page.count('<th scope="row">') == 4
    assert "<summary>1 with fewer than 100 rows</summary>" in page
    assert "&lt;k0&gt;" in page
    assert "<k0>" not in page


def test_many_do_not_blow_up_the_page():
    page = of(500, 10, 400)
    assert page.count('<th scope="row">') == 12 + 100 + 100
    assert "<summary>488 more that moved</summary>" in page
    assert "<p>388 more are in the table of rounds.</p>" in page
    assert len(page) < 250_000


def test_none_that_moved():
    page = of(0, 4, 0)
    assert "No key moved by more than chance explains." in page
    assert "<table>" not in page


def test_keys_in_doubt_are_named_with_the_reason():
    doubted = [DoubtedKey(f"<d{i}>", 1000 + i, CHANGED, 2e4, 0.5) for i in range(120)]
    page = of(1, 2, 0, doubted)
    assert "<b>120</b>in doubt" in page
    assert "&lt;d0&gt;" in page
    assert "<d0>" not in page
    assert page.count(CHANGED) == 112
    assert "<summary>108 more in doubt</summary>" in page
    assert "<p>8 more are in the table of rounds.</p>" in page
    assert "Do not rely on the class mix of keys in doubt." in page
    assert "<td>1 to 3&nbsp;%</td>" in page


def test_what_a_phone_hides_it_hides_in_all_rows_of_a_column():
    doubted = [DoubtedKey("north", 1000, CHANGED, 2e4, 0.5)]
    for table_element in re.findall("<table>.*?</table>", of(1, 2, 1, doubted), re.DOTALL):
        head, *lines = re.findall("<tr>.*?</tr>", table_element)
        titles = re.findall('<th scope="col">(.*?)</th>', head)
        for line in lines:
            cells = re.findall("<t[hd](.*?)>", line)
            assert [not title for title in titles] == ["drawn" in cell for cell in cells]
