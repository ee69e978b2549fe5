"""RLLS: by hand, and against a conic solver."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baserate.marginals import BBSE, MLLS, RLLS
from baserate.marginals.active_set import minimise_quadratic
from baserate.marginals.rlls import _weights
from baserate.state import dumps, loads


def _conic(joint, b, rho, tol=1e-8):
    """theta by another method: an interior point of the second-order cone problem, in no way tuned to it."""
    theta = cp.Variable(len(b))
    problem = cp.Problem(cp.Minimize(cp.norm(joint @ theta - b, 2) + rho * cp.norm(theta, 2)), [theta >= -1])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
    return np.maximum(theta.value, -1)


def _objective(joint, b, rho, theta):
    return np.linalg.norm(joint @ theta - b) + rho * np.linalg.norm(theta)


def _theta(joint, b, rho):
    return _weights(np.ascontiguousarray(joint), joint.T @ joint, b, rho) - 1


def _holdout(rng, k, strength, n=300):
    """Outputs that tell classes apart as well as `strength` says, of every class at least one."""
    y = np.r_[np.arange(k), rng.choice(k, size=n, p=rng.dirichlet(np.full(k, 3.0)))]
    return _outputs(rng, y, k, strength), y


def _outputs(rng, y, k, strength):
    return strength * np.eye(k)[y] + (1 - strength) * rng.dirichlet(np.full(k, 5.0), size=len(y))


@pytest.mark.parametrize("k", [2, 5, 10, 25])
@pytest.mark.parametrize("strength", [0.6, 0.1, 1e-3, 0.0])
def test_reaches_the_optimum_that_a_conic_solver_finds(k, strength):
    """With 1e-3 and 0 the matrix is as good as of rank one, but for the noise of the holdout."""
    rng = np.random.default_rng(k)
    at_bound = 0
    for rho in [0.0, 1e-4, 1e-3, 0.004, 0.02, 0.2]:
        proba, y = _holdout(rng, k, strength)
        joint = proba.T @ np.eye(k)[y] / len(y)
        batch = _outputs(rng, rng.choice(k, size=rng.choice([2, 20, 2000]), p=rng.dirichlet(np.ones(k))), k, strength)
        b = batch.mean(axis=0) - joint.sum(axis=1)
        ours, theirs = _theta(joint, b, rho), _conic(joint, b, rho)
        assert ours.min() >= -1
        assert _objective(joint, b, rho, ours) <= _objective(joint, b, rho, theirs) * (1 + 1e-6) + 1e-9
        if strength == 0.6:
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=2e-4 * max(1, np.abs(theirs).max()))
        at_bound += (ours == -1).any()
    assert at_bound > 0 or k == 2


def test_agrees_closely_where_the_optimum_is_sharp():
    rng = np.random.default_rng(0)
    for rho in (0.003, 0.01, 0.03):
        proba, y = _holdout(rng, 4, 0.7)
        joint = proba.T @ np.eye(4)[y] / len(y)
        b = np.eye(4)[0] - joint.sum(axis=1)
        np.testing.assert_allclose(_theta(joint, b, rho), _conic(joint, b, rho, 1e-10), rtol=5e-6, atol=1e-6)


@pytest.mark.parametrize("solvable", [True, False])
@pytest.mark.parametrize("kind", ["equal columns", "equal rows", "one column of dust"])
def test_singular_matrices(kind, solvable):
    rng = np.random.default_rng(1)
    k = 6
    for rho in (1e-4, 0.003, 0.03):
        proba, y = _holdout(rng, k, 0.5)
        joint = proba.T @ np.eye(k)[y] / len(y)
        if kind == "equal columns":
            joint[:, 2] = joint[:, 4]
        elif kind == "equal rows":
            joint[2] = joint[4]
        else:
            joint[:, 3] *= 1e-9
        b = joint @ rng.uniform(-0.5, 1, size=k) if solvable else rng.dirichlet(np.ones(k)) - joint.sum(axis=1)
        ours, theirs = _theta(joint, b, rho), _conic(joint, b, rho)
        assert _objective(joint, b, rho, ours) <= _objective(joint, b, rho, theirs) * (1 + 1e-6) + 1e-9
        if kind == "equal columns":  # of two classes that look alike, each gets half of the shift
            assert ours[2] == pytest.approx(ours[4], abs=1e-6)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.floats(1e-5, 0.5))
def test_no_direction_leads_down(seed, k, rho):
    """At the optimum of a convex function no feasible point is better: not near, not far."""
    rng = np.random.default_rng(seed)
    joint = rng.random((k, k)) ** rng.integers(1, 8)
    joint /= joint.sum()
    b = rng.dirichlet(np.ones(k)) - joint.sum(axis=1)
    theta = _theta(joint, b, rho)
    value = _objective(joint, b, rho, theta)
    assert value <= _objective(joint, b, rho, np.zeros(k)) + 1e-12
    for size in (1e-4, 1e-2, 1.0):
        others = np.maximum(theta + size * rng.normal(size=(50, k)), -1)
        assert min(_objective(joint, b, rho, other) for other in others) >= value - 1e-9


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.booleans())
def test_the_quadratic_programme(seed, k, warm):
    """x >= 0, the gradient >= 0, and one of the two zero in every entry."""
    rng = np.random.default_rng(seed)
    half = rng.random((k + 2, k)) * (rng.random((k + 2, k)) < 0.7)
    matrix = half.T @ half + 1e-6 * np.eye(k)
    linear = rng.normal(size=k)
    x = rng.random(k) * (rng.random(k) < 0.5) if warm else np.zeros(k)
    minimise_quadratic(matrix, linear, x)
    slope = matrix @ x - linear
    assert x.min() >= 0
    assert slope.min() >= -1e-7
    assert np.abs(slope[x > 0]).max(initial=0.0) <= 1e-7


def test_by_hand_without_a_bound():
    """C = I/2: theta points along b, and its length t minimises |t/2 - |b|| + rho t: 2 |b| up to rho = 1/2, then 0."""
    half = 0.5 * np.eye(2)
    b = np.array([0.03, -0.04])
    np.testing.assert_allclose(_theta(half, b, 0.49), 2 * b, atol=1e-9)
    np.testing.assert_array_equal(_theta(half, b, 0.51), [0.0, 0.0])


def test_by_hand_between_the_two():
    """C = diag(0.6, 0.2): for rho between, mu |theta| = rho |residual| at theta = C b / (C^2 + mu)."""
    diagonal = np.array([0.6, 0.2])
    b, mu = np.array([0.05, 0.05]), 0.07
    theta = diagonal * b / (diagonal**2 + mu)
    rho = mu * np.linalg.norm(theta) / np.linalg.norm(diagonal * theta - b)
    np.testing.assert_allclose(_theta(np.diag(diagonal), b, rho), theta, rtol=1e-9)


HOLDOUT = np.array([[0.8, 0.2], [0.6, 0.4], [0.1, 0.9]])
Y = [0, 0, 1]


def test_what_fit_learns_by_hand():
    rlls = RLLS().fit(HOLDOUT, Y)
    np.testing.assert_allclose(rlls.joint_, np.array([[1.4, 0.1], [0.6, 0.9]]) / 3)  # predicted x true
    np.testing.assert_allclose(rlls.source_prior_, [2 / 3, 1 / 3])
    log = np.log(4 / 0.05)
    assert rlls.rho_ == pytest.approx(0.03 * (2 * log / 9 + np.sqrt(2 * log / 3)))
    assert RLLS(alpha=2.0, delta=0.5).fit(HOLDOUT, Y).rho_ == pytest.approx(
        6 * (2 * np.log(8) / 9 + np.sqrt(2 * np.log(8) / 3))
    )
    assert RLLS(rho=0.25).fit(HOLDOUT, Y).rho_ == 0.25
    assert RLLS(alpha=0).fit(HOLDOUT, Y).rho_ == 0.0


def test_published_penalty():
    """3 [2 ln(2k/d)/(3n) + sqrt(2 ln(2k/d)/n)] of k = 10, d = 0.05, n = 1000, times 0.01, worked out by hand."""
    y = np.arange(1000) % 10
    assert RLLS().fit(np.eye(10)[y], y).rho_ == pytest.approx(0.0034037, rel=1e-4)


@pytest.mark.parametrize("offset", ["outputs", "prior"])
def test_the_estimate_is_the_definition(offset):
    rng = np.random.default_rng(2)
    for strength in (0.6, 0.2):
        proba, y = _holdout(rng, 5, strength)
        batch = _outputs(rng, rng.choice(5, size=30, p=[0.5, 0.3, 0.1, 0.1, 0.0]), 5, strength)
        joint, prior = proba.T @ np.eye(5)[y] / len(y), np.bincount(y) / len(y)
        b = batch.mean(axis=0) - (joint.sum(axis=1) if offset == "outputs" else prior)
        rlls = RLLS(offset=offset).fit(proba, y)
        w = 1 + _conic(joint, b, rlls.rho_)
        expected = w * prior / (w @ prior)
        np.testing.assert_allclose(rlls.estimate(batch), expected, rtol=0, atol=1e-4)
        assert np.abs(rlls.estimate(batch) - RLLS(offset="prior").fit(proba, y).estimate(batch)).max() > (
            1e-3 if offset == "outputs" else -1
        )


def test_the_mix_of_the_holdout_is_no_shift():
    rng = np.random.default_rng(3)
    for rho in (None, 0.0, 0.5):
        proba, y = _holdout(rng, 4, 0.4)
        rlls = RLLS(rho=rho).fit(proba, y)
        np.testing.assert_allclose(rlls.estimate(proba), np.bincount(y) / len(y), atol=1e-12)
    biased = RLLS(offset="prior").fit(HOLDOUT, Y)
    assert np.abs(biased.estimate(HOLDOUT) - biased.source_prior_).max() > 0.05


def test_a_weak_penalty_is_bbse_where_that_is_a_class_mix():
    rng = np.random.default_rng(4)
    proba, y = _holdout(rng, 4, 0.7)
    batch = _outputs(rng, rng.choice(4, size=500, p=[0.4, 0.3, 0.2, 0.1]), 4, 0.7)
    bbse = BBSE(clip=False).fit(proba, y).estimate(batch)
    assert bbse.min() > 0
    np.testing.assert_allclose(RLLS().fit(proba, y).estimate(batch), bbse, atol=1e-9)


def test_weights_are_clipped_at_zero():
    rlls = RLLS().fit(HOLDOUT, Y)
    np.testing.assert_allclose(rlls.estimate([[1.0, 0.0]]), [1.0, 0.0])  # BBSE says 1.5, -0.5
    np.testing.assert_array_equal(rlls.estimate([[0.0, 1.0]]), [0.0, 1.0])


def test_classes_that_look_alike_are_shifted_together():
    """Where BBSE gives up. Their columns of C are as 2 to 1, and so is the theta of least norm."""
    proba = np.array([[0.4, 0.4, 0.2], [0.4, 0.4, 0.2], [0.4, 0.4, 0.2], [0.1, 0.1, 0.8]])
    rlls = RLLS(rho=1e-4).fit(proba, [0, 0, 1, 2])
    q = rlls.estimate([[0.3, 0.3, 0.4]])
    theta = _theta(rlls.joint_, np.array([0.3, 0.3, 0.4]) - rlls.joint_.sum(axis=1), 1e-4)
    assert theta[0] == pytest.approx(2 * theta[1], rel=1e-6)
    assert q.sum() == pytest.approx(1)
    assert q[2] == pytest.approx(1 / 3, abs=0.01)
    with pytest.raises(ValueError, match="singular"):
        BBSE().fit(proba, [0, 0, 1, 2])


def test_no_weight_at_all_leaves_the_prior():
    """Possible with the offset of the published runs, on outputs that have nothing to do with the labels."""
    proba = np.tile([0.01, 0.01, 0.98], (100, 1))
    y = np.r_[0, 1, 2, np.zeros(97, dtype=int)]
    for rho in (0.0, 1e-3):
        q = RLLS(offset="prior", rho=rho).fit(proba, y).estimate([[0.0, 0.0, 1.0]])
        assert q.min() >= 0
        assert q.sum() == pytest.approx(1)


def test_groups_are_batches():
    rng = np.random.default_rng(0)
    proba, y = _holdout(rng, 3, 0.5)
    for rlls in RLLS.examples():
        rlls.fit(proba, y)
        together = rlls.estimate_groups(proba[:30], np.array([0, 1, 12, 30]))
        apart = [rlls.estimate(proba[a:b]) for a, b in ((0, 1), (1, 12), (12, 30))]
        np.testing.assert_array_equal(together, apart)


def test_many_classes():
    k = 1500
    proba = np.full((k, k), 0.3 / k) + 0.7 * np.eye(k)
    batch = proba[:20]
    np.testing.assert_allclose(RLLS().fit(proba, np.arange(k)).estimate(batch), 1 / k)  # the penalty wins
    q = RLLS(rho=1e-6).fit(proba, np.arange(k)).estimate(batch)
    np.testing.assert_allclose(q[:20], 0.05, atol=1e-3)


@pytest.mark.parametrize(
    ("rlls", "complaint"),
    [
        (RLLS(alpha=-1.0), "alpha"),
        (RLLS(alpha="small"), "alpha"),
        (RLLS(delta=0.0), "delta"),
        (RLLS(delta=1.0), "delta"),
        (RLLS(rho=-0.1), "rho"),
        (RLLS(rho=np.nan), "rho"),
        (RLLS(offset="mean"), "offset"),
    ],
)
def test_bad_parameters_are_named(rlls, complaint):
    with pytest.raises((ValueError, TypeError), match=complaint):
        rlls.fit(HOLDOUT, Y)
    assert not hasattr(rlls, "joint_")


def test_every_class_must_be_in_the_holdout():
    with pytest.raises(ValueError, match="y has no sample of class 1"):
        RLLS().fit(HOLDOUT, [0, 0, 0])
    with pytest.raises(ValueError, match="proba is an empty batch"):
        RLLS().fit(HOLDOUT, Y).estimate(np.empty((0, 2)))


def test_weights_that_vanish_leave_the_prior():
    """Found by search: with the offset of the published runs all weights are zero."""
    proba = np.tile([0.01, 0.01, 0.98], (100, 1))
    y = np.r_[0, 1, 2, np.zeros(97, dtype=int)]
    rlls = RLLS(offset="prior", rho=0.0).fit(proba, y)
    rlls._offset = np.full(3, 2.0)  # no batch can be that far off
    np.testing.assert_array_equal(rlls.estimate([[0.0, 0.0, 1.0]]), rlls.source_prior_)


@pytest.mark.parametrize("name", ["joint_", "_gram", "source_prior_", "_offset"])
def test_damaged_arrays_of_rlls_are_refused(name):
    rlls = RLLS().fit(0.7 * np.eye(3) + 0.1, [0, 1, 2])
    setattr(rlls, name, np.zeros((2,) * getattr(rlls, name).ndim))
    with pytest.raises(ValueError, match=r"shape|joint_|_gram|source_prior_|_offset"):
        loads(dumps(rlls))


def test_a_weak_column_is_not_left_to_a_strong_penalty():
    """A class that is one sample in a million: the multipliers have not converged, the least penalty is better."""
    from baserate.marginals.rlls import _weights

    joint, b = np.diag([1 - 1e-6, 1e-6]), np.array([-0.1, 0.1])
    assert np.linalg.norm(joint @ (_weights(joint, joint.T @ joint, b, 0.0) - 1) - b) < 0.02


def test_groups_with_other_columns_are_refused():
    for fitted in (RLLS().fit(0.7 * np.eye(3) + 0.1, [0, 1, 2]), MLLS(source_prior=[0.2, 0.3, 0.5]).fit()):
        with pytest.raises(ValueError, match="proba has 2 columns"):
            fitted.estimate_groups(np.full((4, 2), 0.5), np.array([0, 4]))


def test_an_infinite_penalty_can_be_saved():
    rows, y = np.array([[0.9, 0.1], [0.2, 0.8]]), [0, 1]
    for rlls in (RLLS(rho=np.inf), RLLS(alpha=np.inf)):
        twin = loads(dumps(rlls.fit(rows, y)))
        np.testing.assert_array_equal(twin.estimate([[0.9, 0.1]]), [0.5, 0.5])


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("_gram", np.zeros((2, 2))),
        ("_gram", np.eye(3)),
        ("joint_", np.zeros((2, 2))),
        ("source_prior_", np.array([1.0, 0.0])),
        ("_offset", np.ones(2)),
        ("rho_", float("nan")),
        ("rho_", -1.0),
    ],
)
def test_a_damaged_state_is_refused(name, wrong):
    rlls = RLLS().fit([[0.9, 0.1], [0.2, 0.8]], [0, 1])
    setattr(rlls, name, wrong)
    with pytest.raises(ValueError, match=r"holds RLLS|does not fit together: RLLS"):
        loads(dumps(rlls))
