"""The pictures of the tour of trust, and what is said of them."""

import numpy as np
import pytest

from baserate.reports.demo_trust import charts, section

from ..demo.small_runs import small_tour


@pytest.fixture(scope="module")
def found():
    return small_tour()


def test_the_pictures_are_of_what_was_found(found):
    drawn = charts(found)
    tracked = list(drawn["share"].lines.values())[1]
    np.testing.assert_array_equal(tracked.low, found.share[:, 1])
    np.testing.assert_array_equal(tracked.high, found.share[:, 2])
    assert drawn["evidence"].limit == pytest.approx(20)
    assert drawn["evidence"].log_y
    (span,) = drawn["accuracy"].spans
    assert span == (found.rounds[found.held_back][0], found.rounds[-1])
    text = section(found)
    assert f"in round {found.alarm:,}" in text
    assert found.why[:20] in text


def test_it_says_so_if_nothing_was_noticed_or_too_early(found):
    assert "has not noticed" in section(found._replace(alarm=0))
    assert "a false alarm, in round 7" in section(found._replace(alarm=7))
