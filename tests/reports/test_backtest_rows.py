"""The table of a backtest, and what is said below it."""

import re

import numpy as np
import pytest

from baserate.backtesting import backtest
from baserate.reports.backtest_rows import columns

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


@pytest.mark.parametrize(
    ("asked", "costs", "title"),
    [
        ("error", None, "error %"),
        ("log-loss", None, "log loss"),
        ("brier", None, "Brier score"),
        ("cost", np.ones((3, 3)) - np.eye(3), "cost per 1,000 rows"),
    ],
)
def test_a_page_has_room_for_the_columns_that_were_asked_for_and_folds_the_others(asked, costs, title):
    _, proba, y = log(1200, 300)
    first, others = columns(backtest(proba, y, methods=[], by=asked, costs=costs))
    assert title in [column.title for column in first]
    assert len(first) <= 8
    keys = [column.key for column in (*first, *others[1:])]
    assert len(keys) == len(set(keys))
    assert {"error", "f1", "log_loss", "brier"} <= set(keys)
