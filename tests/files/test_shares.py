"""Shares in words."""

import pytest

from baserate.files.shares import percent, percent_range, percents_apart


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.5, "50.0 %"),
        (0.0098, "1.0 %"),
        (0.00098, "0.1 %"),
        (0.00094, "0.09 %"),
        (0.000062, "0.006 %"),
        (0.00001, "0.001 %"),
        (0.0000049, "< 0.001 %"),
        (0.9994, "99.94 %"),
        (1.0, "100 %"),
        (-1e-18, "0 %"),
    ],
)
def test_digits_are_as_many_as_it_takes(share, words):
    assert percent(share) == words


def test_shares_that_differ_look_different():
    assert percents_apart(0.0081, 0.0084) == ("0.81 %", "0.84 %")
    assert percents_apart(2e-6, 4e-6) == ("0.0002 %", "0.0004 %")
    assert percents_apart(1e-9, 3e-6) == ("0.0000001 %", "0.0003000 %")
    assert percents_apart(0.2, 0.3) == ("20.0 %", "30.0 %")


def test_a_band():
    assert percent_range(0.98812, 1.0) == "98.8 to 100 %"
