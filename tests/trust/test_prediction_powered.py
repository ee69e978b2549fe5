"""Prediction-powered estimates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baserate.trust.prediction_powered import labelled_sums, powered, wilson


def draws(rng, n, n_labels, honest):
    """Outcomes of all samples, what a model says, and the rows that are labelled."""
    f = rng.beta(0.5, 2.0, size=n)
    y = (rng.random(n) < (f if honest else 1.0 - f)).astype(float)
    return y, f, rng.choice(n, n_labels, replace=False)


@pytest.mark.parametrize("honest", [True, False])
@pytest.mark.parametrize("n_labels", [30, 300])
def test_limits_hold_whatever_the_model_does(honest, n_labels):
    rng = np.random.default_rng(n_labels)
    held, value = [], []
    for _ in range(400):
        y, f, rows = draws(rng, 3000, n_labels, honest)
        found = powered(labelled_sums(y[rows], f[rows]), np.array(f.mean()), np.array(3000.0))
        low, high = found.limits(0.9)
        held.append(low <= y.mean() <= high)
        value.append(float(found.value) - y.mean())
    assert np.mean(held) >= 0.87
    assert abs(np.mean(value)) < 0.01


def test_a_good_model_is_worth_labels_and_a_useless_one_costs_nothing():
    rng = np.random.default_rng(0)
    y = (rng.random(1000) < 0.3).astype(float)
    good, useless = np.where(y == 1.0, 0.9, 0.1), np.full(1000, 0.5)
    n_all = np.array(1e6)
    assert powered(labelled_sums(y, good), np.array(good.mean()), n_all).n > 5_000
    alone = powered(labelled_sums(y, useless), np.array(0.5), n_all)
    np.testing.assert_allclose(alone.value, y.mean())
    np.testing.assert_allclose(alone.n, 1000, rtol=0.01)


def test_weights_undo_an_uneven_choice():
    rng = np.random.default_rng(0)
    y = (rng.random(200_000) < 0.2).astype(float)
    chance = np.where(y == 1.0, 0.05, 0.01)
    rows = np.flatnonzero(rng.random(len(y)) < chance)
    f = np.full(len(rows), 0.5)
    found = powered(labelled_sums(y[rows], f, 1.0 / chance[rows]), np.array(0.5), np.array(len(y) * 1.0))
    assert abs(found.value - y.mean()) < 0.02
    assert abs(y[rows].mean() - y.mean()) > 0.2


@given(st.integers(0, 50), st.integers(0, 50), st.floats(0.5, 0.99))
def test_wilson_limits_are_shares_around_the_share(hits, misses, level):
    n = hits + misses
    share = hits / n if n else 0.5
    low, high = wilson(np.array(share), np.array(float(n)), level)
    assert 0.0 <= low <= share <= high <= 1.0
    if n == 0:
        assert high - low > 0.99
