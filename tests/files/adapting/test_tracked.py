"""The path of the class mix: its extremes, its bands, and alarms."""

import numpy as np
import pytest

from baserate.files.adapting.tracked import carried_bands, follow
from baserate.files.moments import Moment

from ..paths import DAY, MARCH, bump, table, two

NAMES = ["good", "fraud"]
SOURCE = np.array([0.992, 0.008])
BAND = np.array([[0.98, 1.0], [0.004, 0.012]])


def followed(frame, now=SOURCE, source=SOURCE):
    return follow([frame], NAMES, now, BAND, source)


def test_the_rarer_of_two_comes_first_with_its_extremes():
    path = bump()
    path[25], path[40] = 0.11, 0.006
    found = followed(table(two(path), days=1.0)).classes
    assert [one.name for one in found] == ["fraud", "good"]
    fraud = found[0]
    assert (fraud.highest, fraud.highest_at) == (0.11, Moment(26, MARCH + 25 * DAY))
    assert (fraud.lowest, fraud.lowest_at) == (0.006, Moment(41, MARCH + 40 * DAY))
    assert (fraud.start, fraud.now, fraud.band) == (0.008, 0.008, (0.004, 0.012))
    assert (fraud.rose, found[1].fell, found[1].rose) == (True, True, False)


def test_the_mix_after_the_last_round_may_be_the_extreme():
    fraud = followed(table(two(np.full(20, 0.008))), now=np.array([0.97, 0.03])).classes[0]
    assert (fraud.highest, fraud.highest_at.round) == (0.03, 20)


def test_a_later_file_starts_where_the_last_one_ended():
    frame = table(two(np.full(20, 0.1)), first_round=301)
    fraud = followed(frame, now=np.array([0.9, 0.1])).classes[0]
    assert (fraud.start, fraud.moved) == (0.1, False)
    frame = table(two(np.full(20, 0.1)), first_round=1)
    assert followed(frame, now=np.array([0.9, 0.1])).classes[0].moved


class TestBands:
    def test_known_ones_stay_and_widths_are_interpolated(self):
        prior = np.array([0.5, 0.5, 0.5, 0.5, 0.5])[:, None]
        low = np.array([0.4, np.nan, np.nan, np.nan, 0.2])[:, None]
        high = np.array([0.6, np.nan, np.nan, np.nan, 0.6])[:, None]
        found = carried_bands(prior, low, high)
        np.testing.assert_allclose(found[0][:, 0], [0.4, 0.35, 0.3, 0.25, 0.2])
        np.testing.assert_allclose(found[1][:, 0], 0.6)

    def test_a_peak_between_two_bands_has_one_around_it(self):
        """And a wider one than its neighbours, as a larger share has more noise."""
        prior = np.array([0.01, 0.01, 0.2, 0.01])[:, None]
        low, high = prior - 0.005, prior + 0.005
        low[2], high[2] = np.nan, np.nan
        found = carried_bands(prior, low, high)
        times = np.sqrt(0.2 * 0.8 / (0.01 * 0.99))
        assert found[0][2, 0] == pytest.approx(0.2 - 0.005 * times)
        assert found[1][2, 0] == pytest.approx(0.2 + 0.005 * times)

    def test_a_path_of_which_none_is_known_is_no_story(self):
        frame = table(two(bump()), first_round=301, looks=100).with_columns(low_fraud=None, high_fraud=None)
        frame = frame.with_columns(low_good=None, high_good=None)
        assert not followed(frame).classes[0].moved


class TestAlarms:
    @pytest.mark.parametrize(
        ("alarm", "since", "from_start"),
        [
            ([0, 0, 0, 0], None, False),
            ([0, 0, 1, 1], 3, False),
            ([1, 0, 1, 1], 3, False),
            ([1, 1, 0, 0], None, False),
            ([1, 1, 1, 1], 1, True),
        ],
    )
    @pytest.mark.parametrize("size", [1, 2, 4])
    def test_the_last_one_counts(self, alarm, since, from_start, size):
        frame = table(two(np.full(4, 0.008)), alarm=np.array(alarm, dtype=bool))
        found = follow(frame.iter_slices(size), NAMES, SOURCE, BAND, SOURCE)
        assert (found.alarm_since and found.alarm_since.round) == since
        assert found.alarm_from_start is from_start


def test_a_table_without_lines_has_no_path():
    assert follow([table(two(np.full(4, 0.008))).clear()], NAMES, SOURCE, BAND, SOURCE) is None
