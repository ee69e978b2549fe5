"""What must come out of the trackers' benchmark, checked on made-up results."""

import math

import pytest

from baserate_lab.bench.trackers import cells
from baserate_lab.bench.trackers.bars import closed, main_bars, not_above_bar, small_holdout_bars
from baserate_lab.bench.trackers.cells import (
    CAUSAL,
    ORACLE,
    START,
    TRANSDUCTIVE,
)
from baserate_lab.bench.trackers.findings import Measured, block
from baserate_lab.bench.trackers.more_bars import constant_bars, label_bars, limit_bars, miscalibration_bars

from .made_up import ONE, TWO, add_error, broken, numbers, scale_mse, well


def test_above_by_more_than_so_many_standard_errors():
    def holds(value, error):
        return not_above_bar("", 0.15, 3.0, [ONE, TWO], [Measured(-1.0, 0.0), Measured(value, error)]).holds

    assert holds(0.14, 0.0)
    assert holds(0.2, 0.02)
    assert not holds(0.2, 0.01)
    assert not_above_bar("", 0.15, 3.0, [ONE], [Measured(0.2, 0.01)]).where == "digits, Square, n = 10"
    assert not_above_bar("", 0.15, 3.0, [ONE], [Measured(0.2, math.nan)]).holds is None
    assert not_above_bar("", 0.15, 3.0, [], []).holds is None


def test_the_share_of_the_gap_is_of_gaps_added_up():
    kept, plan = numbers(
        {ONE: {START: [0.10], CAUSAL: [0.07], ORACLE: [0.06]}, TWO: {START: [0.01], CAUSAL: [0.02], ORACLE: [0.0]}},
        (START, CAUSAL, ORACLE),
    )
    assert closed(block(kept, plan, "error")).value == pytest.approx((0.03 - 0.01) / (0.04 + 0.01))


def test_where_there_is_no_gap_there_is_nothing_to_close():
    at = add_error(START, -5.0, lambda cell: cell[2:5] == ("digits", "Square", 10))
    found = main_bars(well(cells.main(), change=at))
    (bar,) = (bar for bar in found if "each cell alone" in bar.text)
    assert bar.holds
    assert bar.where == "no gap: digits, Square, n = 10"


def test_all_is_well():
    assert broken(main_bars(well(cells.main()))) == []
    assert broken(small_holdout_bars(well(cells.small()))) == []
    assert broken(limit_bars(well(cells.limit()))) == []
    assert broken(label_bars(well(cells.labels()))) == []
    assert broken(miscalibration_bars(well(cells.miscalibration()))) == []
    assert broken(constant_bars(well(cells.constant()))) == []


def test_nothing_can_be_said_of_nothing():
    for part in (main_bars, small_holdout_bars, limit_bars, label_bars, miscalibration_bars, constant_bars):
        assert {bar.verdict for bar in part({})} == {"not run"}


def test_what_the_main_table_shows():
    found = {bar.text: bar for bar in main_bars(well(cells.main()))}

    def value(*words):
        (bar,) = (bar for text, bar in found.items() if all(word in text for word in words))
        return float(bar.measured.split()[0])

    assert value("causal: MSE", "better", "n >= 10") == pytest.approx(1 / 3, abs=1e-3)
    assert value("causal: MSE", "literal", "n >= 10") == pytest.approx(1 / 4, abs=1e-3)
    assert value("causal: MSE", "better", "n = 1,") == pytest.approx(2 / 3, abs=1e-3)
    assert value("causal: MSE", "every cell") == pytest.approx(2 / 3, abs=1e-3)
    assert value("transductive: MSE") == pytest.approx(1 / 6, abs=1e-3)
    assert value("causal: error", "every cell") == pytest.approx(-0.5, abs=1e-3)
    assert value("each cell alone") == pytest.approx(10 / 12, abs=1e-3)
    assert value("mean error", "n = 100") == pytest.approx(-0.1, abs=1e-3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (scale_mse(CAUSAL, 1.2, lambda cell: cell.n > 1), ["better FLH-FTL, n >= 10", "literal FLH-FTL, n >= 10"]),
        (scale_mse(START, 0.9), ["literal FLH-FTL, n >= 10"]),
        (scale_mse(CAUSAL, 1.3, lambda cell: cell.n == 1), ["better FLH-FTL, n = 1,"]),
        (scale_mse(CAUSAL, 3.5, lambda cell: cell[2:5] == ("digits", "Square", 10)), ["every cell (the worst)"]),
        (scale_mse(TRANSDUCTIVE, 1.4), ["transductive: MSE"]),
        (add_error(TRANSDUCTIVE, 0.11, lambda cell: cell.n == 100), ["causal one, n = 100"]),
        (add_error(TRANSDUCTIVE, 0.01, lambda cell: cell.n == 1), ["causal one, n = 1"]),
        (
            add_error(CAUSAL, 0.7, lambda cell: cell[2:5] == ("digits", "RandomWalk", 100)),
            ["error minus that of the better"],
        ),
        (
            add_error(CAUSAL, 0.45, lambda cell: cell[2:5] == ("digits", "Square", 10)),
            ["each cell alone"],
        ),
    ],
)
def test_what_breaks_a_bar_breaks_that_one(change, words):
    found = broken(main_bars(well(cells.main(), change=change)))
    assert len(found) == len(words)
    for text, word in zip(found, words, strict=True):
        assert word in text


def test_the_gap_must_be_closed_where_the_mix_switches():
    slow = add_error(CAUSAL, 0.45, lambda cell: cell.n > 1 and cell.shift.startswith(("Square", "Bernoulli")))
    assert len(broken(main_bars(well(cells.main(), change=slow)))) == 3
    drawn = add_error(CAUSAL, 0.9, lambda cell: cell.n > 1 and cell.shift in ("Square drawn", "Bernoulli drawn"))
    found = broken(main_bars(well(cells.main(), change=drawn)))
    assert ["drawn ends" in text for text in found] == [True, False]  # and the error is above the better one's


def test_little_holdout_is_another_table():
    assert broken(small_holdout_bars(well(cells.small(), change=scale_mse(CAUSAL, 3.5)))) != []
    assert {bar.verdict for bar in small_holdout_bars(well(cells.main()))} == {"not run"}
