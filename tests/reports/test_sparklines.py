"""Lines in a row of a table."""

import re

from baserate.reports.sparklines import sparkline


def points(svg):
    return [tuple(map(float, pair.split(","))) for pair in re.search(r'points="(.*?)"', svg)[1].split()]


def test_it_is_as_high_as_its_highest_value():
    found = points(sparkline([0.0, 0.5, 1.0], 0.5, "a & b"))
    assert [x for x, _ in found] == [0, 50, 100]
    assert found[0][1] == 24
    assert found[0][1] > found[1][1] > found[2][1] > 0


def test_gaps_are_left_out_and_zero_is_no_problem():
    assert len(points(sparkline([0.1, None, 0.1], 0.1, ""))) == 2
    assert points(sparkline([0.0, 0.0], 0.0, ""))[0] == (0, 24)
    assert 'aria-label="a &amp; b"' in sparkline([0.1], 0.1, "a & b")
