"""Losses over a pool and dynamic regret, by hand and by brute force."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from baserate.metrics import best_hypothesis_losses, dynamic_regret, reweighting_losses
from baserate.shifts import Square
from baserate.simplex import log_ratio, reweight

from .pool import PATH, PLAYED, RNG, SOURCE, K, M, P, T, Y


@pytest.mark.parametrize("loss", ["zero_one", "log"])
def test_losses_over_the_pool_by_brute_force(loss):
    got = reweighting_losses(PLAYED, P, Y, SOURCE, loss=loss)
    for t in range(T):
        rows = reweight(P, log_ratio(PLAYED[t], SOURCE)[np.newaxis], np.array([0, M]))
        right = rows[np.arange(M), Y]
        per_sample = 1 - right if loss == "zero_one" else -np.log(right)
        np.testing.assert_allclose(got[t], [per_sample[c == Y].mean() for c in range(K)])


@pytest.mark.parametrize("loss", ["zero_one", "log"])
def test_dynamic_regret_is_the_pool_reweighted_to_each_round(loss):
    """L_t(p) - L_t(q_t), with every sample of the pool weighted by q_t(y) / share(y)."""
    played, best = (reweighting_losses(p, P, Y, SOURCE, loss=loss) for p in (PLAYED, PATH))
    share = np.bincount(Y) / M
    expected = []
    for t in range(T):
        total = 0.0
        for p, sign in ((PLAYED[t], 1), (PATH[t], -1)):
            for f, y in zip(P, Y, strict=True):
                right = f[y] * p[y] / SOURCE[y] / (f * p / SOURCE).sum()
                total += sign * PATH[t][y] / share[y] * (1 - right if loss == "zero_one" else -np.log(right)) / M
        expected.append(total)
    np.testing.assert_allclose(dynamic_regret(played, best, PATH), np.cumsum(expected), atol=1e-12)
    np.testing.assert_array_equal(dynamic_regret(best, best, PATH), 0)


def test_honest_outputs_make_the_true_mix_the_best():
    """With outputs that are true posteriors, no other prior has a lower log loss."""
    rng = np.random.default_rng(1)
    proba = rng.dirichlet(np.ones(K), size=20_000)
    y = (proba.cumsum(axis=1) < rng.random((len(proba), 1))).sum(axis=1)
    source, q = np.full(K, 1 / K), np.array([[0.6, 0.3, 0.1]])
    best = reweighting_losses(q, proba, y, source, loss="log")
    for other in rng.dirichlet(np.ones(K), size=20):
        worse = reweighting_losses(other[np.newaxis], proba, y, source, loss="log")
        assert dynamic_regret(worse, best, q)[-1] > -0.003


def test_a_class_that_is_ruled_out_costs_without_end_only_where_it_occurs():
    played = reweighting_losses([[1.0, 0.0, 0.0]], P, Y, SOURCE, loss="log")
    best = np.zeros((1, K))
    assert np.isinf(played[0, 1])
    assert dynamic_regret(played, best, [[1.0, 0.0, 0.0]])[0] == pytest.approx(0)
    assert np.isinf(dynamic_regret(played, best, [[0.5, 0.5, 0.0]])[0])


def test_best_hypotheses_are_weighted_fits():
    X = np.eye(K)[Y] + 0.5 * RNG.standard_normal((M, K))
    path = np.array([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]])
    got = best_hypothesis_losses(LogisticRegression(), X, Y, path, loss="log")
    assert got.shape == (3, K)
    np.testing.assert_array_equal(got[0], got[2])
    share = np.bincount(Y) / M
    for t in range(2):
        model = LogisticRegression().fit(X, Y, sample_weight=(path[t] / share)[Y])
        right = model.predict_proba(X)[np.arange(M), Y]
        np.testing.assert_allclose(got[t], [-np.log(right[c == Y]).mean() for c in range(K)])
    # In its own round a hypothesis is better than the other round's: regret of playing the wrong one is positive.
    assert dynamic_regret(got[[1, 0, 1]], got, path)[-1] > 0


def test_a_class_absent_from_a_round_may_be_absent_from_its_hypothesis():
    X = np.eye(K)[Y] + 0.5 * RNG.standard_normal((M, K))
    got = best_hypothesis_losses(LogisticRegression(), X, Y, [[0.5, 0.5, 0.0]])
    assert got[0, 2] == 1.0
    assert dynamic_regret(got, got, [[0.5, 0.5, 0.0]])[0] == 0


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"losses": np.zeros((2, K))}, "losses"),
        ({"best_losses": np.full((T, K), np.nan)}, "best_losses"),
        ({"path": 2 * PATH}, "path"),
    ],
)
def test_bad_regret_input(change, argument):
    good = {"losses": np.zeros((T, K)), "best_losses": np.zeros((T, K)), "path": PATH}
    with pytest.raises(ValueError, match=argument):
        dynamic_regret(**{**good, **change})


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"priors": PLAYED[:, :2]}, "priors"),
        ({"proba": 2 * P}, "proba"),
        ({"y": Y + 5}, "y"),
        ({"y": np.zeros(M, dtype=int)}, "class 1, 2"),
        ({"source_prior": [1.0, 0.0, 0.0]}, "source_prior"),
        ({"loss": "hinge"}, "loss"),
    ],
)
def test_bad_loss_input(change, argument):
    good = {"priors": PLAYED, "proba": P, "y": Y, "source_prior": SOURCE}
    with pytest.raises(ValueError, match=argument):
        reweighting_losses(**{**good, **change})


def test_the_librarys_own_shifts_may_leave_one_class_alone():
    X = np.eye(K)[Y] + 0.5 * RNG.standard_normal((M, K))
    path = Square(length=2).path(4, K)
    got = best_hypothesis_losses(LogisticRegression(), X, Y, path)
    np.testing.assert_array_equal(got[2], [0.0, 1.0, 1.0])
    assert np.isinf(best_hypothesis_losses(LogisticRegression(), X, Y, path, loss="log")[2, 1])


def test_where_both_lose_without_end_neither_is_better():
    both = np.array([[np.inf, 1.0, 1.0]])
    assert dynamic_regret(both, both, [[0.5, 0.5, 0.0]])[0] == 0


def test_a_row_that_is_ruled_out_keeps_its_own_loss():
    losses = reweighting_losses([[1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]], [1, 0], [0.5, 0.5])
    np.testing.assert_array_equal(losses, [[0.0, 0.0]])
