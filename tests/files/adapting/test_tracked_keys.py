"""The paths of keys."""

import numpy as np
import polars as pl
import pytest

from baserate.files.adapting.tracked_keys import FEW, STRETCHES, follow_keys

from ..paths import bump, table, two

NAMES = ["good", "fraud"]


def of_keys(paths, rows):
    frames = [table(two(path)).with_columns(key=pl.lit(key), rows=pl.lit(rows[key])) for key, path in paths.items()]
    return pl.concat(frames).sort("round", maintain_order=True)


PATHS = {"still": np.full(48, 0.02), "few": bump(48, 0.02, 0.9, 20, 40), "up": bump(48, 0.02, 0.3, 24, 36)}
ROWS = {"still": 40, "few": 2, "up": 40}


@pytest.mark.parametrize("size", [5, 200])
def test_keys_are_sorted_out(size):
    found = follow_keys(of_keys(PATHS, ROWS).iter_slices(size), NAMES, 4800)
    assert [path.key for path in found.moved] == ["up"]
    assert [path.key for path in found.doubtful] == ["few"]
    assert (found.steady, found.total) == (1, 3)
    (up,) = found.moved
    assert (up.name, up.rows, up.at.round) == ("fraud", 48 * 40, 25)
    assert (up.start, up.now) == (0.02, 0.02)
    assert up.extreme == pytest.approx(0.3, abs=1e-6)
    assert len(up.path) == STRETCHES
    assert up.path[:12] == pytest.approx([0.02] * 12)
    assert up.path[12:18] == pytest.approx([0.3] * 6)


def test_enough_rows_make_a_few_a_finding():
    found = follow_keys([of_keys(PATHS, {**ROWS, "few": 30})], NAMES, 4800)
    assert [path.key for path in found.moved] == ["few", "up"]  # the one that went further first
    assert found.doubtful == []
    assert 48 * ROWS["few"] < FEW <= 48 * 30


def test_a_stretch_without_rows_is_a_gap():
    frame = of_keys(PATHS, ROWS).filter((pl.col("key") != "up") | (pl.col("round") > 4))
    (up,) = follow_keys([frame], NAMES, 4800).moved
    assert up.path[:2] == [None, None]
    assert up.path[2] == pytest.approx(0.02)


def test_rows_of_many_stretches_count_together():
    """Six rows in a stretch say nothing, 48 in eight of them do."""
    path = {"slow": bump(48, 0.02, 0.6, 16, 48), "still": PATHS["still"]}
    (slow,) = follow_keys([of_keys(path, {"slow": 3, "still": 40})], NAMES, 4800).moved
    assert slow.at.round == 17
    assert slow.extreme == pytest.approx(0.6, abs=1e-6)


def test_noise_is_not_told():
    rng = np.random.default_rng(0)
    noisy = {f"k{i}": np.clip(0.05 + 0.02 * rng.standard_normal(48), 0, 1) for i in range(50)}
    for path in noisy.values():
        path[0] = 0.05  # the holdout's share, with which every key starts
    assert follow_keys([of_keys(noisy, dict.fromkeys(noisy, 10))], NAMES, 4800).moved == []


def test_the_furthest_is_never_nearer_than_now():
    path = bump(48, 0.02, 0.3, 24, 48)
    path[-1] = 0.4
    (up,) = follow_keys([of_keys({"up": path}, {"up": 40})], NAMES, 4800).moved
    assert (up.now, up.extreme, up.at.round) == (0.4, 0.4, 48)
    path[-1] = 0.25
    (up,) = follow_keys([of_keys({"up": path}, {"up": 40})], NAMES, 4800).moved
    assert (up.now, up.extreme) == (0.25, pytest.approx(0.3, abs=1e-6))
