"""The benchmark of keys plays what it says."""

import numpy as np
import pytest

from baserate_lab.bench.trust import keys as bench

RARE = "AUC 0.9, 1 % positives"


@pytest.mark.parametrize("name", [RARE, "AUC 0.9", "HAPT"])
def test_rounds_have_the_rows_of_keys(name):
    rng = np.random.default_rng(0)
    world = bench.world_of(name, rng)
    keys = bench.keys_of(name, world, 300, 400, rng)
    assert 0.03 < keys.broken.mean() < 0.2
    assert not keys.noisy[~keys.broken].any()
    rows, odd = np.zeros(300), np.zeros(300)
    for t in range(5):
        key, proba, y = bench.draw_round(world, keys, t, rng)
        rows += np.bincount(key, minlength=300)
        odd += np.bincount(key, weights=y == -1, minlength=300)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert rows.sum() == pytest.approx(keys.rows.sum() * 5 / bench.ROUNDS, rel=0.05)
    unknown = keys.broken & ~keys.noisy
    assert odd[~unknown].sum() == 0
    assert odd[unknown].sum() / rows[unknown].sum() == pytest.approx(0.1, abs=0.04)


def test_noise_costs_accuracy():
    world = bench.world_of("AUC 0.9", np.random.default_rng(1))
    right = [(pool.argmax(axis=2) == np.arange(2)[:, np.newaxis]).mean() for pool in (world.clean, world.noisy)]
    assert right[0] - right[1] > 0.02


def test_a_miss_costs_twenty_where_positives_are_rare():
    proba, y = np.array([[0.99, 0.01], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]), np.array([1, 1, 0, -1])
    np.testing.assert_array_equal(bench._loss(RARE, proba, y), [20.0, 0.0, 1.0, 0.0])
    np.testing.assert_array_equal(bench._loss("AUC 0.9", proba, y), [1.0, 1.0, 0.0, 0.0])


def test_the_table_has_every_group(capsys):
    bench.main(["--models", "AUC 0.9", "--keys", "60", "--median", "150", "--seed", "3"])
    printed = capsys.readouterr().out
    header, _, *rows = printed.split("\n\n")[0].splitlines()
    assert all(row.count("|") == header.count("|") for row in rows)
    assert sum(int(row.split("|")[4]) for row in rows) == 60
    assert "broken keys of 60" in printed
