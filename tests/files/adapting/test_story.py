"""The story of a file, by paths made by hand."""

import numpy as np
import polars as pl
import pytest

from baserate.files.adapting.story import headline
from baserate.files.adapting.tracked import follow
from baserate.files.adapting.tracked_keys import follow_keys

from ..paths import bump, table, two


def told(shares, width=0.004, **options):
    frame = table(shares, width, **options)
    now = np.array([path[-1] for path in shares.values()])
    band = np.stack([np.clip(now - width, 0, 1), np.clip(now + width, 0, 1)], axis=1)
    source = np.array([path[0] for path in shares.values()])
    return headline(follow([frame], list(shares), now, band, source), 0.9)


class TestOneClass:
    def test_rise_and_fall_by_date(self):
        path = bump()
        path[22], path[-1] = 0.101, 0.009
        assert told(two(path), days=1.0) == "fraud rose from 0.8 % to 10.1 % on 23 March and is back at 0.9 %."

    def test_a_move_in_the_last_round_is_told(self):
        path = np.full(60, 0.008)
        frame = table(two(path), 0.004)
        now, band = np.array([0.85, 0.15]), np.array([[0.83, 0.87], [0.13, 0.17]])
        said = headline(follow([frame], ["good", "fraud"], now, band, np.array([0.992, 0.008])), 0.9)
        assert said.startswith("fraud rose from 0.8 % to 15.0 %")

    def test_half_of_the_way_is_not_back(self):
        path = bump(low=0.01, high=0.1, begin=20, end=59)
        path[-1] = 0.04
        assert "is back" not in told(two(path), width=0.035)

    def test_a_class_with_a_number_for_a_name_is_called_a_class(self):
        shares = dict(zip("01", two(bump(begin=36, end=40)).values(), strict=True))
        assert told(shares).startswith("class 1 rose from 0.8 % to")

    def test_rise_and_fall_by_round(self):
        path = bump(begin=36, end=40)
        path[36] = 0.11
        assert told(two(path)) == "fraud rose from 0.8 % to 11.0 % in round 37 and is back at 0.8 %."

    def test_rise_and_stay(self):
        path = bump(begin=20, end=60)
        path[40] = 0.104  # its highest is not when it rose
        assert told(two(path), days=1.0) == "fraud rose from 0.8 % to 9.8 % and has stayed high since 21 March."

    def test_fall_and_stay(self):
        path = bump(low=0.2, high=0.05, begin=30, end=60)
        assert told(two(path)) == "fraud fell from 20.0 % to 5.0 % and has stayed low since round 31."

    def test_half_of_the_way_back(self):
        path = bump()
        path[30:] = 0.05
        assert told(two(path)) == "fraud rose from 0.8 % to 9.8 % in round 21 and is at 5.0 % now."

    def test_a_wide_band_at_the_end_does_not_bring_it_back(self):
        path = bump(low=0.3, high=0.7, begin=20, end=60)
        path[50:] = 0.55
        frame = table(two(path), 0.05)
        wide = np.array([[0.2, 0.75], [0.25, 0.8]])
        found = follow([frame], ["good", "fraud"], np.array([0.45, 0.55]), wide, np.array([0.7, 0.3]))
        assert headline(found, 0.9).endswith("to 70.0 % in round 21 and is at 55.0 % now.")

    def test_the_further_of_two_sides_is_told(self):
        path = np.r_[np.full(20, 0.2), np.full(20, 0.1), np.full(20, 0.6), np.full(20, 0.2)]
        assert told(two(path)).startswith("fraud rose from 20.0 % to 60.0 %")

    def test_a_rare_class_has_digits(self):
        path = bump(low=0.00012, high=0.00062)
        assert told(two(path), 0.0001).startswith("fraud rose from 0.01 % to 0.06 % in round 21")


class TestNoise:
    def test_noise_is_no_story(self):
        path = 0.05 + 0.008 * np.random.default_rng(0).standard_normal(300).clip(-2, 2)
        said = told(two(path), 0.02)
        assert said.startswith("No class moved by more than its band: fraud started at ")
        assert "90 % band" in said

    def test_the_same_path_is_one_if_its_band_is_narrow(self):
        path = 0.05 + 0.008 * np.random.default_rng(0).standard_normal(300).clip(-2, 2)
        assert not told(two(path), 0.002).startswith("No class moved")

    def test_a_peak_within_the_band_of_the_start_is_none(self):
        """The start of a file that goes on has a band of its own, here a wide one."""
        path = bump(low=0.05, high=0.08)
        frame = table(two(path), 0.004, first_round=500)
        wide = [pl.when(pl.col("round") == 500).then(0.1).otherwise(pl.col("high_fraud")).alias("high_fraud")]
        now, band = np.array([0.95, 0.05]), np.array([[0.94, 0.96], [0.04, 0.06]])
        for frames, moved in (([frame], True), ([frame.with_columns(wide)], False)):
            assert follow(frames, ["good", "fraud"], now, band, np.array([0.5, 0.5])).classes[0].rose is moved

    def test_a_file_that_goes_on_speaks_for_itself_alone(self):
        assert told(two(np.full(20, 0.3)), first_round=301).startswith("No class moved in this file by more than its")

    def test_many_classes_name_the_largest(self):
        shares = {f"c{i}": np.full(30, share) for i, share in enumerate((0.1, 0.5, 0.15, 0.25))}
        assert (
            told(shares) == "No class moved by more than its band: c1 is at 50.0 %, c3 is at 25.0 %, c2 is at 15.0 %."
        )


class TestSeveralClasses:
    def test_the_one_that_moved_most_comes_first(self):
        shares = {"cat": bump(low=0.3, high=0.25), "dog": bump(low=0.01, high=0.1), "eel": np.full(60, 0.6)}
        assert told(shares) == "dog rose from 1.0 % to 10.0 % in round 21 and is back at 1.0 %, and 1 other moved: cat."

    def test_of_many_a_few_are_named(self):
        shares = {f"c{i}": bump(low=0.02, high=0.02 + 0.01 * (i + 1)) for i in range(8)}
        said = told(shares)
        assert said.startswith("c7 rose from 2.0 % to 10.0 %")
        assert said.endswith(", and 7 others moved, the furthest c6, c5, c4.")


class TestKeys:
    def told(self, paths, rows=50):
        frames = []
        for key, path in paths.items():
            n = rows if isinstance(rows, int) else rows[key]
            frames.append(table(two(path), days=0.5).with_columns(key=pl.lit(key), rows=pl.lit(n)))
        frame = pl.concat(frames).sort("round", maintain_order=True)
        return headline(follow_keys([frame], ["good", "fraud"], 6000), 0.9)

    def test_the_key_that_moved_most(self):
        still = np.full(60, 0.02)
        said = self.told({"a": still, "b": bump(low=0.02, high=0.4, begin=30, end=45), "c": bump(low=0.02, high=0.2)})
        assert said == (
            "2 of 3 keys moved, most of all b: fraud rose from 2.0 % to 40.0 % on 16 March and is at 2.0 % now."
        )

    def test_no_key_moved(self):
        still = np.full(60, 0.02)
        assert self.told({"a": still, "b": still}) == "None of 2 keys moved by more than chance explains."

    def test_a_spike_of_few_rows_is_none(self):
        still, spike = np.full(60, 0.02), np.full(60, 0.02)
        spike[1:3] = 0.6  # after the first fraud among a handful of rows
        assert self.told({"a": still, "b": spike}, rows=4).startswith("None of 2 keys")
        assert self.told({"a": still, "b": spike}, rows=400).startswith("1 of 2 keys moved, most of all b")

    def test_few_rows_are_said(self):
        still = np.full(60, 0.02)
        said = self.told({"a": still, "b": still}, rows={"a": 50, "b": 1})
        assert said == "None of 2 keys moved by more than chance explains (1 has fewer than 100 rows)."


@pytest.mark.parametrize("size", [1, 7, 60])
def test_it_does_not_depend_on_the_chunks(size):
    path = bump()
    path[22] = 0.101
    frame = table(two(path), looks=5, alarm=np.arange(60) >= 33)
    now, band = np.array([0.992, 0.008]), np.array([[0.98, 1.0], [0.004, 0.012]])
    whole = follow([frame], ["good", "fraud"], now, band, np.array([0.992, 0.008]))
    parts = follow(frame.iter_slices(size), ["good", "fraud"], now, band, np.array([0.992, 0.008]))
    assert headline(parts, 0.9) == headline(whole, 0.9)
    assert parts.alarm_since == whole.alarm_since
    assert whole.alarm_since.round == 34


@pytest.mark.parametrize(("begins", "words"), [(33, "since round 34, "), (0, "in this file, ")])
def test_no_mix_is_told_during_an_alarm(begins, words):
    frame = table(two(np.full(60, 0.008)), alarm=np.arange(60) >= begins)
    found = follow(
        [frame], ["good", "fraud"], np.array([0.992, 0.008]), np.array([[0, 1], [0, 1]]), np.array([0.992, 0.008])
    )
    assert headline(found, 0.9) == (
        f"The class mix cannot be told {words}while there is an alarm: fraud started at 0.8 % and is at 0.8 % "
        "(90 % band 0 to 100 %)."
    )


@pytest.mark.parametrize(
    ("begins", "told"), [(45, "fraud rose from 0.8 % to 9.8 %"), (15, "The class mix cannot be told")]
)
def test_what_moved_before_an_alarm_is_told(begins, told):
    frame = table(two(bump()), alarm=np.arange(60) >= begins)
    now, band = np.array([0.992, 0.008]), np.array([[0.98, 1.0], [0.004, 0.012]])
    assert headline(follow([frame], ["good", "fraud"], now, band, now), 0.9).startswith(told)
