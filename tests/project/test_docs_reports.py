"""The page on reports, and its pictures."""

import re

import numpy as np

from .screenshots import ROOT, screenshots


def test_pictures_of_the_docs_are_small():
    pictures = sorted((ROOT / "docs" / "images").glob("report-*.png"))
    assert len(pictures) == 2 * len(screenshots().STREAMS)
    assert all(path.stat().st_size < 150_000 for path in pictures)
    page = (ROOT / "docs" / "howto" / "reports.md").read_text()
    assert {f"../images/{path.name}" for path in pictures} == set(re.findall(r'src="(.*?)"', page))


def test_commands_of_the_docs_are_those_of_the_pictures():
    tool, page = screenshots(), (ROOT / "docs" / "howto" / "reports.md").read_text()
    for name, (_, options) in tool.STREAMS.items():
        (line,) = re.findall(rf"\$ (baserate adapt {name}\.parquet .*)", page)
        assert line.split()[2:] == tool.words(name, options)


def test_streams_are_the_same_each_time():
    make, _ = screenshots().STREAMS["alarm"]
    one, other = (make(np.random.default_rng(0)) for _ in range(2))
    assert one.rows.equals(other.rows)
    assert one.holdout.equals(other.holdout)
