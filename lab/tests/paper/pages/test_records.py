"""A number of ours beside the paper's: whether they agree, and what is kept of it."""

import json
import math

import pytest

from .made_up import record


@pytest.mark.parametrize(
    ("ours", "paper", "mark"),
    [
        ((5.25, 0.0), (5.0, 0.25), ""),  # just within the spread
        ((5.375, 0.0), (5.0, 0.25), "*"),  # beyond the spread, within the tolerance of half a point
        ((5.5, 0.0), (5.0, 0.25), "*"),  # the tolerance itself still agrees
        ((5.5625, 0.0), (5.0, 0.25), "**"),
        ((4.4375, 0.0), (5.0, 0.25), "**"),  # on the other side, too
        ((7.0, 1.0), (5.0, 1.0), ""),  # two spreads together
        ((7.0625, 1.0), (5.0, 1.0), "**"),
        (None, (5.0, 0.0), ""),
        ((9.0, 0.0), None, ""),
    ],
)
def test_marks(ours, paper, mark):
    assert record(ours=ours, paper=paper).mark == mark


def test_a_squared_distance_has_a_tolerance_of_its_own():
    assert record(ours=0.125, paper=0.1, metric="mse").mark == "*"
    assert record(ours=0.135, paper=0.1, metric="mse").mark == "**"


@pytest.mark.parametrize(
    ("metric", "digits", "off", "std", "mark"),
    [
        ("error", 0, 0.5, 0.0, ""),  # 5 is all from 4.5 to 5.5
        ("error", 0, 0.5625, 0.0, "**"),
        ("error", 1, 0.046875, 0.0, ""),
        ("error", 1, 0.0625, 0.0, "*"),  # beyond the digit, within the tolerance
        ("error", 1, 0.25, 0.25, ""),  # the larger of spread and digit
        ("error", 1, 0.265625, 0.25, "*"),
        ("mse", 1, 0.046875, 0.0, ""),  # the digit is coarser than the tolerance of 0.03
        ("mse", 1, 0.0546875, 0.0, "**"),
        ("mse", 3, 0.000375, 0.0, ""),
        ("mse", 3, 0.000625, 0.0, "*"),
        ("mse", None, 0.000375, 0.0, "*"),  # nothing is known of the digits
        ("minutes", 0, 40.0, 0.0, ""),
    ],
)
def test_a_printed_number_is_known_to_half_of_its_last_digit(metric, digits, off, std, mark):
    for ours in (5.0 + off, 5.0 - off):
        assert record(ours=(ours, std), paper=5.0, metric=metric, digits=digits).mark == mark


def test_half_of_the_last_digit():
    assert [record(digits=digits).rounding for digits in (None, 0, 1)] == [0.0, 0.5, 0.05]
    assert record(digits=3).rounding == pytest.approx(0.0005)


def test_a_record_as_json_has_no_number_that_json_has_not():
    made = record("UOGD", (math.inf, math.nan), (5.0, None), digits=1, variant="batch=3")
    said = made.to_json()
    assert json.loads(json.dumps(said, allow_nan=False)) == said
    assert list(said) == [name for name in made._fields if name != "digits"]
    assert [name for name in said if said[name] != getattr(made, name)] == ["ours_mean", "ours_std"]
    assert (said["ours_mean"], said["ours_std"], said["paper_mean"], said["seeds"]) == (None, None, 5.0, 3)
    assert record(ours=-math.inf).to_json()["ours_mean"] is None
