"""What must come out of the trackers' benchmark, checked on made-up results."""

import math

import numpy as np
import pytest

from baserate_lab.bench.trackers import cells
from baserate_lab.bench.trackers.bars import closed, main_bars, not_above_bar, small_holdout_bars
from baserate_lab.bench.trackers.cells import (
    BASE,
    CALIBRATED,
    CAUSAL,
    HISTORY,
    ORACLE,
    START,
    TOLD,
    TRANSDUCTIVE,
    WINDOW,
    Cell,
    Problem,
    Result,
)
from baserate_lab.bench.trackers.findings import Measured, block, paired
from baserate_lab.bench.trackers.more_bars import constant_bars, label_bars, limit_bars, miscalibration_bars

ONE, TWO = Problem("digits", "Square", 10), Problem("mnist", "Square", 10)

# What a run in which all is well might give; errors as shares.
MSE = {
    BASE: 1.0,
    CALIBRATED: 1.0,
    START: 0.40,
    WINDOW: 0.30,
    CAUSAL: 0.10,
    TRANSDUCTIVE: 0.05,
    ORACLE: 0.0,
    TOLD: 0.05,
    HISTORY: 0.5,
}
ERROR = {
    BASE: 0.10,
    CALIBRATED: 0.09,
    START: 0.08,
    WINDOW: 0.075,
    CAUSAL: 0.07,
    TRANSDUCTIVE: 0.069,
    ORACLE: 0.068,
    TOLD: 0.069,
    HISTORY: 0.09,
}


def well(plan, n_seeds=3, change=lambda cell, result: result):
    """Results with noise that a seed has in common for all methods, changed here and there."""
    kept = {}
    for problem, methods in plan:
        for seed in range(n_seeds):
            noise = np.random.default_rng([seed, hash(problem.n) % 97]).uniform(0, 0.02)
            for method in methods:
                cell = Cell(method, seed, *problem)
                same = method == TRANSDUCTIVE and problem.n == 1
                error = ERROR[CAUSAL] if same else ERROR[method]
                mse = MSE[method] * (4.0 if problem.n == 1 and method == CAUSAL else 1.0)
                if problem.n == 1 and method in (START, WINDOW):
                    mse *= 2.0
                kept[cell] = change(cell, Result(mse, error + noise))
    return kept


def numbers(of, methods):
    """Results of problems: {problem: {method: one number per seed}}."""
    kept = {
        Cell(method, seed, *problem): Result(value, value)
        for problem, found in of.items()
        for method, values in found.items()
        for seed, value in enumerate(values)
    }
    return kept, [(problem, methods) for problem in of]


def broken(bars):
    assert all(bar.holds is not None for bar in bars)
    return [bar.text for bar in bars if not bar.holds]


def test_geometric_means_are_of_ratios_to_the_better_variant():
    methods = (START, WINDOW, CAUSAL)
    kept, plan = numbers(
        {
            ONE: {START: [0.3, 0.5], WINDOW: [0.1, 0.3], CAUSAL: [0.05, 0.15]},
            TWO: {START: [0.1, 0.1], WINDOW: [0.3, 0.3], CAUSAL: [0.02, 0.02]},
        },
        methods,
    )
    found = block(kept, plan, "mse")
    assert found.better((START, WINDOW)) == [WINDOW, START]
    np.testing.assert_allclose(found.ratios(CAUSAL, (START, WINDOW)), [0.5, 0.2])
    assert found.geometric(CAUSAL, (START, WINDOW)).value == pytest.approx(math.sqrt(0.5 * 0.2))
    assert found.geometric(CAUSAL, [START]).value == pytest.approx(math.sqrt(0.25 * 0.2))
    # Seeds are drawn for all methods at once: where a method moves with the variants, its share does not move.
    assert found.where(lambda p: p == ONE).geometric(CAUSAL, [WINDOW]).error == pytest.approx(0.0, abs=1e-12)
    assert found.geometric(CAUSAL, [START]).error > 0.01


def test_the_better_variant_is_that_of_the_cell_not_of_the_seed():
    kept, plan = numbers({ONE: {START: [0.1, 0.9], WINDOW: [0.6, 0.6], CAUSAL: [0.3, 0.3]}}, (START, WINDOW, CAUSAL))
    found = block(kept, plan, "mse")
    np.testing.assert_allclose(found.ratios(CAUSAL, (START, WINDOW)), [0.6])
    (difference,) = found.difference_to_better(CAUSAL, (START, WINDOW))
    assert difference.value == pytest.approx(0.3 - 0.5)


def test_a_bootstrap_over_seeds_agrees_with_the_standard_error_of_a_mean():
    values = np.random.default_rng(0).normal(size=4)
    kept, plan = numbers({ONE: {CAUSAL: values}}, (CAUSAL,))
    found = block(kept, plan, "mse").measured(lambda means: means[..., 0, 0])
    assert found.value == pytest.approx(values.mean())
    assert found.error == pytest.approx(values.std(ddof=1) / math.sqrt(4), rel=0.08)
    kept, plan = numbers({ONE: {CAUSAL: [1.0]}}, (CAUSAL,))
    assert math.isnan(block(kept, plan, "mse").measured(lambda means: means[..., 0, 0]).error)


def test_standard_errors_are_paired():
    noise = np.array([0.0, 0.3, 0.1, 0.7])
    kept, plan = numbers({ONE: {START: 0.2 + noise, CAUSAL: 0.1 + noise}}, (START, CAUSAL))
    (difference,) = block(kept, plan, "error").difference(CAUSAL, START)
    assert difference.value == pytest.approx(-10.0)  # points of a percent
    assert difference.error == pytest.approx(0.0, abs=1e-12)
    assert paired(np.array([1.0, 3.0])) == Measured(2.0, pytest.approx(1.0))


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


def test_problems_that_are_not_complete_are_left_out():
    kept, plan = numbers({ONE: {START: [1, 2], CAUSAL: [1, 2]}, TWO: {START: [1, 2], CAUSAL: [1]}}, (START, CAUSAL))
    assert block(kept, plan, "mse").problems == (ONE,)


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


def scale_mse(method, factor, where=lambda cell: True):
    def change(cell, result):
        return result._replace(mse=result.mse * factor) if cell.method == method and where(cell) else result

    return change


def add_error(method, points, where=lambda cell: True):
    def change(cell, result):
        moved = cell.method == method and where(cell)
        return result._replace(error=result.error + points / 100) if moved else result

    return change


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


def test_the_limit_is_the_filter():
    near = add_error(CAUSAL, 0.35, lambda cell: cell.n == 10)  # 0.1 points as it is
    found = broken(limit_bars(well(cells.limit(), change=near)))
    assert len(found) == 2
    assert all("n = 10:" in text for text in found)


def test_all_labels_must_help_us_as_much_as_others():
    def at(cell):
        return cell[2:5] == ("synthetic", "RandomWalk", 10)

    (bar,) = label_bars(well(cells.labels(), change=scale_mse(HISTORY, 0.19, at)))
    assert not bar.holds
    assert bar.where == "synthetic, RandomWalk, n = 10"
    assert label_bars(well(cells.labels(), change=scale_mse(HISTORY, 0.21, at)))[0].holds


def test_dishonest_outputs_are_compared_with_the_same_holdout_as_it_is():
    # Seeds in which little holdout is bad for all outputs alike do not count.
    common = add_error(CAUSAL, 2.0, lambda cell: cell.holdout == 200 and cell.seed == 1)
    assert broken(miscalibration_bars(well(cells.miscalibration(), change=common))) == []
    worse = add_error(CAUSAL, 0.4, lambda cell: cell.distortion == "biased")
    (text,) = broken(miscalibration_bars(well(cells.miscalibration(), change=worse)))
    assert "outputs biased:" in text


@pytest.mark.parametrize(("shift", "words"), [("Constant", ", no shift"), ("Bernoulli", ", a shift")])
def test_adapting_dishonest_outputs_must_not_be_worse_than_doing_nothing(shift, words):
    at = add_error(BASE, -3.1, lambda cell: cell[2:7] == ("cifar10", shift, 10, 200, "biased"))
    bars = miscalibration_bars(well(cells.miscalibration(), change=at))
    (bar,) = (bar for bar in bars if not bar.holds)
    assert words in bar.text
    assert bar.where == f"cifar10, {shift}, n = 10, holdout 200, biased"


def test_no_shift_must_cost_hardly_anything():
    at = add_error(CAUSAL, 3.2, lambda cell: cell.data == "forest")
    alone, calibrated = broken(constant_bars(well(cells.constant(), change=at)))
    assert "forest" in alone
    assert alone.endswith("of Base")
    assert calibrated == f"{alone} (calibrated)"
    at = add_error(CALIBRATED, -3.2, lambda cell: cell.data == "forest")
    assert broken(constant_bars(well(cells.constant(), change=at))) == [calibrated]
