"""Projection and re-weighting against brute force, and at the edges of floating point."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from baserate.simplex import far_apart, log_ratio, normalise, project, reweight

vectors = st.lists(st.floats(-10, 10), min_size=2, max_size=12).map(np.array)


@settings(max_examples=150, deadline=None)
@given(vectors, st.integers(0, 2**32 - 1))
def test_projection_is_feasible_and_nearest(v, seed):
    """No random feasible point is nearer, and the variational inequality of a projection holds."""
    rng = np.random.default_rng(seed)
    k = len(v)
    lower, upper = rng.uniform(0, 1 / k, k), rng.uniform(1 / k, 1, k)
    p = project(v[np.newaxis], lower, upper)[0]
    assert abs(p.sum() - 1) < 1e-12 * max(1, np.abs(v).max())
    assert (p >= lower - 1e-15).all()
    assert (p <= upper + 1e-15).all()
    for _ in range(20):
        mix = rng.dirichlet(np.ones(k))
        other = p + (np.clip(mix, lower, upper) - p) * 0.1
        if abs(other.sum() - 1) < 1e-9:
            assert ((v - p) @ (other - p)) < 1e-9
    # Karush-Kuhn-Tucker: one threshold explains every class.
    free = (p > lower + 1e-12) & (p < upper - 1e-12)
    tau = (v - p)[free]
    if len(tau):
        assert np.ptp(tau) < 1e-9
        assert ((v - p)[p <= lower + 1e-12] <= tau[0] + 1e-9).all()
        assert ((v - p)[p >= upper - 1e-12] >= tau[0] - 1e-9).all()


def test_projection_agrees_with_a_general_solver():
    rng = np.random.default_rng(0)
    for _ in range(20):
        k = int(rng.integers(2, 8))
        v, lower, upper = rng.standard_normal(k), np.full(k, 0.02), np.full(k, 0.7)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # older versions of scipy step out of bounds by rounding
            solved = minimize(
                lambda p, v=v: ((p - v) ** 2).sum(),
                np.full(k, 1 / k),
                jac=lambda p, v=v: 2 * (p - v),
                bounds=list(zip(lower, upper, strict=True)),
                constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
                options={"ftol": 1e-14},
            )
        np.testing.assert_allclose(project(v[np.newaxis], lower, upper)[0], solved.x, atol=1e-6)


@settings(max_examples=80, deadline=None)
@given(vectors)
def test_projection_is_idempotent_and_rows_are_independent(v):
    k = len(v)
    bounds = np.zeros(k), np.ones(k)
    once = project(np.stack([v, -v]), *bounds)
    np.testing.assert_allclose(project(once, *bounds), once, atol=1e-14)
    np.testing.assert_array_equal(project(v[np.newaxis], *bounds)[0], once[0])


def test_projection_at_the_edges():
    np.testing.assert_array_equal(project(np.array([[5.0, -5.0]]), np.zeros(2), np.ones(2)), [[1.0, 0.0]])
    np.testing.assert_allclose(project(np.zeros((1, 4)), np.zeros(4), np.ones(4)), 0.25)
    only_one = np.array([0.2, 0.8])
    np.testing.assert_allclose(project(np.array([[9.0, 9.0]]), only_one, only_one), [only_one])
    np.testing.assert_allclose(project(np.array([[3.0, 1.0, 1.0]]), np.full(3, 1 / 3), np.ones(3)), 1 / 3)


def one_group(proba, offsets):
    return reweight(np.atleast_2d(proba), np.atleast_2d(offsets), np.array([0, len(np.atleast_2d(proba))]))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 8))
def test_reweighting_is_bayes_rule(seed, k):
    rng = np.random.default_rng(seed)
    proba, q, p = rng.dirichlet(np.ones(k), size=5), rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k))
    got = one_group(proba, log_ratio(q, p))
    expected = proba * q / p
    np.testing.assert_allclose(got, expected / expected.sum(axis=1, keepdims=True), rtol=1e-12)
    # To the source and back is no change; and only the ratio matters, not the scale.
    np.testing.assert_allclose(one_group(got, log_ratio(p, q)), proba, rtol=1e-9)
    np.testing.assert_allclose(one_group(proba, log_ratio(q, p) + 700.0), got, rtol=1e-12)


def test_reweighting_survives_underflow():
    """Products below 1e-308 still have a ratio."""
    got = one_group([1.0 - 1e-300, 1e-300, 0.0], [-900.0, -210.0, 0.0])
    assert np.isfinite(got).all()
    expected = np.exp(-690.7755278982137 + 690.0)  # log(1e-300) - 210 against 0 - 900
    np.testing.assert_allclose(got[0, 1] / got[0, 0], expected, rtol=1e-9)
    assert got[0, 2] == 0.0


def test_a_row_that_the_prior_rules_out_comes_back_as_it_was():
    np.testing.assert_array_equal(one_group([1.0, 0.0], [-np.inf, 0.0]), [[1.0, 0.0]])


def test_a_class_without_prior_gets_no_mass():
    np.testing.assert_array_equal(one_group([0.5, 0.5], [-np.inf, 0.0]), [[0.0, 1.0]])


def test_groups_get_their_own_offsets():
    proba = np.full((3, 2), 0.5)
    got = reweight(proba, np.log([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 1, 3]))
    np.testing.assert_allclose(got, [[0.9, 0.1], [0.2, 0.8], [0.2, 0.8]])


@pytest.mark.parametrize("scale", [1e-320, 1e-160, 1.0, 1e300])
def test_normalise_at_any_scale(scale):
    np.testing.assert_allclose(normalise(np.array([scale, 3 * scale])), [0.25, 0.75], rtol=1e-2)


def test_large_vectors_keep_their_digits():
    bounds = np.zeros(3), np.ones(3)
    np.testing.assert_allclose(project(np.array([[1e16, 1e16, 0.0]]), *bounds), [[0.5, 0.5, 0.0]])
    np.testing.assert_allclose(project(np.array([[3e8, 3e8 + 0.5, 1.0]]), *bounds), [[0.25, 0.75, 0.0]], atol=1e-7)


def test_subnormal_products_are_computed_in_the_log_domain():
    got = one_group([1e-200, 2e-200, 1.0], [-250.0, -250.0, -np.inf])
    np.testing.assert_allclose(got, [[1 / 3, 2 / 3, 0.0]], rtol=1e-9)


def test_what_is_normal_is_not_touched():
    v = np.array([[0.9, 0.1], [0.2, 0.6]])
    got = normalise(v)
    np.testing.assert_array_equal(got[0], v[0])
    np.testing.assert_allclose(got[1], [0.25, 0.75])


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 8))
def test_far_apart_is_by_total_variation(seed, k):
    first, second = np.random.default_rng(seed).dirichlet(np.ones(k), size=2)
    distance = np.maximum(first - second, 0.0).sum()
    assert far_apart(first, second, distance - 1e-9)
    assert not far_apart(first, second, distance + 1e-9)
    assert not far_apart(first, first, 0.0)
