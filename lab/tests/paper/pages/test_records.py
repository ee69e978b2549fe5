"""A number of ours beside the paper's: whether they agree, and what is kept of it."""

import json
import math

import numpy as np
import pytest

from .made_up import record


def reach(std, seeds, paper_std=0.0):
    """The rule of the module, written out: the quantile is that of Student's table."""
    quantile = {2: 12.7062047, 3: 4.30265273, 10: 2.26215716}[seeds]
    values = np.random.default_rng(0).normal(size=seeds)
    values = (values - values.mean()) / values.std() * std
    return math.hypot(quantile * values.std(ddof=1) * math.sqrt(1 + 1 / seeds), paper_std)


@pytest.mark.parametrize(
    ("std", "seeds", "paper_std"), [(0.25, 10, 0.0), (0.25, 10, 0.5), (0.25, 3, 0.5), (0.0, 3, 1.0)]
)
def test_a_number_agrees_if_it_lies_where_one_more_run_would(std, seeds, paper_std):
    far = reach(std, seeds, paper_std)
    for sign in (1, -1):
        for part, mark in ((0.999, ""), (1.001, "**")):
            made = record(ours=(5.0 + sign * part * far, std), paper=(5.0, paper_std), seeds=seeds)
            assert (made.agrees, made.mark) == (mark == "", mark)
    assert made.reach == pytest.approx(far, rel=1e-6)


def test_an_interval_that_is_too_wide_never_counts_as_agreeing():
    for metric, widest in (("error", 3.0), ("gain", 3.0), ("mse", 0.1)):
        std = widest / reach(1.0, 10)
        near, wide = (record(ours=(5.0, factor * std), paper=5.0, seeds=10, metric=metric) for factor in (0.999, 1.001))
        assert (near.agrees, near.too_wide, near.mark) == (True, False, "")
        assert (wide.agrees, wide.too_wide, wide.mark) == (False, True, "*")
        assert record(ours=(9.0, std * 1.001), paper=5.0, seeds=10, metric=metric).mark == "**"  # outside even so
    # A printed spread makes it wide, too.
    assert record(ours=(5.0, 0.1), paper=(5.0, 3.0), seeds=10).mark == "*"


def test_one_seed_tells_nothing():
    assert record(ours=(5.0, 0.0), paper=5.0, seeds=1).mark == "*"
    assert math.isinf(record(ours=(5.0, 0.0), paper=5.0, seeds=1).reach)
    assert record(ours=(5.0, 0.0), paper=5.0, seeds=2).mark == ""


def test_without_both_numbers_there_is_no_mark():
    assert record(ours=None, paper=(5.0, 0.0)).mark == ""
    assert record(ours=(9.0, 0.0), paper=None).mark == ""
    assert record(ours=(9.0, 0.0), paper=5.0, metric="minutes").mark == ""


@pytest.mark.parametrize(
    ("metric", "digits", "off", "mark"),
    [
        ("error", 0, 0.5, ""),  # 5 is all from 4.5 to 5.5
        ("error", 0, 0.5625, "**"),
        ("error", 1, 0.046875, ""),
        ("error", 1, 0.0625, "**"),  # there is no further tolerance
        ("gain", 1, 0.09375, ""),  # the difference of two rounded numbers
        ("gain", 1, 0.109375, "**"),
        ("mse", 3, 0.000375, ""),
        ("mse", 3, 0.000625, "**"),
        ("mse", None, 0.000375, "**"),  # nothing is known of the digits
    ],
)
def test_a_printed_number_is_known_to_half_of_its_last_digit(metric, digits, off, mark):
    for ours in (5.0 + off, 5.0 - off):
        assert record(ours=(ours, 0.0), paper=5.0, metric=metric, digits=digits).mark == mark


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
