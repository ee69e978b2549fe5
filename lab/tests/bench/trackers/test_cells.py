"""What is planned."""

from collections import Counter

from baserate_lab.bench.trackers import cells


def test_what_is_planned():
    count = Counter({table: len(plan()) for table, plan in cells.TABLES.items()})
    assert count["main"] == 6 * 9 * 3
    assert count["small-holdout"] == 5 * 5
    assert count["miscalibration"] == 4 * 4 * 2 * 5
    assert count["labels"] == 3 * 3 * 3 + 3 * 9
    every = cells.cells(cells.TABLES, seeds=2)
    assert len(every) == len(set(every))
    assert len(cells.cells(["main"], 3, ["digits"])) == 9 * 3 * 6 * 3
