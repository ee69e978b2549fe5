"""What must come out of the limit, of labels, of dishonest outputs and of no shift, checked on made-up results."""

import pytest

from baserate_lab.bench.trackers import cells
from baserate_lab.bench.trackers.cells import BASE, CALIBRATED, CAUSAL, HISTORY
from baserate_lab.bench.trackers.more_bars import constant_bars, label_bars, limit_bars, miscalibration_bars

from .made_up import add_error, broken, scale_mse, well


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


def test_miscalibrated_outputs_are_compared_with_the_same_holdout_as_it_is():
    # Seeds in which little holdout is bad for all outputs alike do not count.
    common = add_error(CAUSAL, 2.0, lambda cell: cell.holdout == 200 and cell.seed == 1)
    assert broken(miscalibration_bars(well(cells.miscalibration(), change=common))) == []
    worse = add_error(CAUSAL, 0.4, lambda cell: cell.distortion == "biased")
    (text,) = broken(miscalibration_bars(well(cells.miscalibration(), change=worse)))
    assert "outputs biased:" in text


@pytest.mark.parametrize(("shift", "words"), [("Constant", ", no shift"), ("Bernoulli", ", a shift")])
def test_adapting_miscalibrated_outputs_must_not_be_worse_than_doing_nothing(shift, words):
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
