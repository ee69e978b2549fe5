"""The table of a backtest, and what is said below it."""

import re

import pytest

from ..commands.backtested import done, log
from ..files.streams import write

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_a_table_with_the_sentence_on_top(tmp_path):
    write(log()[0], tmp_path / "log.csv")
    result = done("log.csv", "--label", "truth")
    first = result.stdout.splitlines()[0]
    assert re.fullmatch(r"Use it: error .* % -> .* % \(-.* points, 95 % interval -.* to -.*\)\.", first)
    assert re.search(r"\n +baserate \(default\) +\S+ +-\S+ \(-\S+ to -\S+\) +\S+", result.stdout)
    assert "doing nothing" in result.stdout
    assert "FLH-FTL (window)" in result.stdout
    assert "The other 11 methods are context" in result.stdout
    assert max(map(len, result.stdout.split("\n\n")[1].splitlines())) <= 80
