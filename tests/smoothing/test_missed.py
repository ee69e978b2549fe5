"""Movements that a path of class mixes misses."""

import numpy as np
import pytest

from baserate import smooth
from baserate.shifts import Adversary
from baserate.smoothing.missed import missed_movement
from baserate.smoothing.path import Rows
from baserate.smoothing.windows import told
from tests.smoothing.test_smoothed import fitted, outputs, stream

T, N, K, BLOCK, MOVE = 960, 10, 4, 30, 0.05


def moving(rng):
    """Classes 0 and 1 move against each other from block to block; classes 2 and 3 stand still."""
    signs = np.repeat(rng.choice([-MOVE, MOVE], size=T // BLOCK), BLOCK)
    return 1.0 / K + signs[:, np.newaxis] * np.array([1.0, -1.0, 0.0, 0.0])


def rows_of(q, rng, labelled=0.0, distance=4.0):
    y = np.concatenate([rng.choice(K, size=N, p=mix) for mix in q])
    likelihoods = outputs(y, rng, K, distance)
    known = (rng.random(len(y)) < labelled).astype(np.int64)
    likelihoods[known == 1] = np.eye(K)[y[known == 1]]
    return Rows(likelihoods / likelihoods.max(axis=1, keepdims=True), known, np.arange(0, len(y) + 1, N))


def naive(rows, path):
    """Every block by itself."""
    values, vectors = told(*rows, path)
    rounds = np.repeat(np.arange(len(path)), np.diff(rows.starts))
    q = path[rounds]
    says = q * rows.likelihoods
    says = says / says.sum(axis=1, keepdims=True) - q
    newton = np.sqrt(q) * ((says / np.sqrt(q)) @ vectors @ np.diag(1.0 / values) @ vectors.T)
    says = np.where(rows.labelled[:, np.newaxis] == 1, says, newton)
    found, length = np.zeros(path.shape[1]), 2
    while length * 8 <= len(path):
        excess, by_chance, weight = [], [], []
        for first in range(0, len(path) - length + 1, max(1, length // 4)):
            block = says[(rounds >= first) & (rounds < first + length)]
            n = max(len(block), 1)
            by_chance.append((block**2).sum(axis=0) / n**2)
            excess.append(np.minimum(block.sum(axis=0) ** 2 / n**2, 9.0 * by_chance[-1]) - by_chance[-1])
            weight.append(np.full(path.shape[1], float(len(block) ** 2)))
        weight = np.array(weight) / np.sum(weight, axis=0)
        mean = (weight * excess).sum(axis=0)
        overlapping = 0.7 * length / max(1, length // 4)
        error = np.sqrt(2.0 * overlapping * ((weight * by_chance) ** 2).sum(axis=0))
        found = np.maximum(found, np.where(mean > 1.5 * error, mean, 0.0))
        length *= 2
    return found


@pytest.mark.parametrize("labelled", [0.0, 0.3])
def test_it_is_that_of_every_block_by_itself(labelled):
    rng = np.random.default_rng(0)
    rows = rows_of(moving(rng), rng, labelled)
    sizes = rng.integers(0, 15, size=600)  # rounds of other sizes, some of them empty
    starts = np.concatenate([[0], np.cumsum(sizes)])
    rows = Rows(rows.likelihoods[: starts[-1]], rows.labelled[: starts[-1]], starts)
    path = rng.dirichlet(np.full(K, 200.0), size=600)
    found = missed_movement(rows, path)
    assert found.max() > 0.0
    np.testing.assert_allclose(found, naive(rows, path), rtol=1e-9)


@pytest.mark.parametrize("labelled", [0.0, 1.0])
def test_it_is_found_in_the_classes_that_move(labelled):
    found = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        found.append(missed_movement(rows_of(moving(rng), rng, labelled), np.full((T, K), 1.0 / K)))
    mean = np.sqrt(np.mean(found, axis=0))
    assert (np.abs(mean[:2] - MOVE) < 0.3 * MOVE).all()
    assert (mean[2:] < 0.4 * MOVE).all()


def test_a_path_that_follows_the_mix_misses_nothing():
    rng = np.random.default_rng(0)
    q = moving(rng)
    rows = rows_of(q, rng)
    assert missed_movement(rows, q).max() < 0.1 * missed_movement(rows, np.full((T, K), 1.0 / K)).max()


def test_one_block_is_no_movement_to_and_fro():
    path, found = np.full((T, 2), 0.5), []
    for seed in range(10):
        y = np.random.default_rng(seed).integers(2, size=T * N)
        y[: 10 * N] = 0
        rows = Rows(np.eye(2)[y], np.ones(len(y), dtype=np.int64), np.arange(0, len(y) + 1, N))
        found.append(missed_movement(rows, path).max())
    assert np.mean(found) < 5e-4  # that block alone, squared, would make it 0.0025


def test_short_logs_and_logs_without_rows_have_none():
    rng = np.random.default_rng(0)
    few = rows_of(np.tile([0.7, 0.1, 0.1, 0.1], (15, 1)), rng)
    assert missed_movement(few, np.full((15, K), 1.0 / K)).max() == 0.0
    none = Rows(np.empty((0, K)), np.empty(0, dtype=np.int64), np.zeros(41, dtype=np.int64))
    assert missed_movement(none, np.full((40, K), 1.0 / K)).max() == 0.0


@pytest.mark.parametrize("variation", [5.0, 15.0])
def test_limits_allow_for_moves_that_are_too_small_to_be_followed(variation):
    held = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        adapter, q = fitted(rng, 10, 1000, distance=6.0), Adversary(variation=variation).path(1000, 10, rng)
        mix = smooth(adapter, *stream(q, 10, rng, distance=6.0)[::2])
        held.append(((mix.low <= q + 1e-9) & (q <= mix.high + 1e-9)).mean())
    assert np.mean(held) >= 0.87
