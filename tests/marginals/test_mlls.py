"""MLLS: against QuaPy, plain EM and the conditions of a maximum; never down; odd batches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quapy.method.aggregative import EMQ
from scipy.optimize import minimize_scalar

from baserate import RegressAndReweight
from baserate.marginals import MLLS
from baserate.trackers import LastSighting

from .plain_em import gradient, mean_log_likelihood, plain_em


def _batch(rng, n, k, peak=1.0):
    """Outputs and a source prior, neither of which has anything to do with the other."""
    proba = rng.dirichlet(np.full(k, peak), size=n)
    base = np.maximum(rng.dirichlet(np.full(k, 3.0)), 1e-3)
    return proba, base / base.sum()


def _estimate(proba, base, **kwargs):
    return MLLS(source_prior=base, **kwargs).fit().estimate(proba)


def test_two_classes_against_a_search():
    rng = np.random.default_rng(0)
    for _ in range(20):
        proba, base = _batch(rng, 15, 2)

        def loss(share, proba=proba, base=base):
            return -mean_log_likelihood(proba, base, [share, 1 - share])

        best = minimize_scalar(loss, bounds=(0, 1), method="bounded", options={"xatol": 1e-10}).x
        np.testing.assert_allclose(_estimate(proba, base), [best, 1 - best], rtol=0, atol=1e-6)


def test_by_hand():
    """Two samples, likelihoods (a, 1) and (1, a): as likely under (1/2, 1/2) as under no other mix."""
    np.testing.assert_allclose(_estimate([[0.8, 0.2], [0.2, 0.8]], [0.5, 0.5]), [0.5, 0.5], atol=1e-12)
    # Likelihoods (0.6/0.9, 0.4/0.1): a single sample belongs to its most likely class, not to the most probable one.
    np.testing.assert_array_equal(_estimate([[0.6, 0.4]], [0.9, 0.1]), [0.0, 1.0])


@pytest.mark.parametrize(("n", "k", "peak"), [(10, 10, 1.0), (10, 3, 1.0), (200, 10, 0.3), (40, 25, 0.1), (5, 8, 1.0)])
def test_agrees_with_quapy(monkeypatch, n, k, peak):
    monkeypatch.setattr(EMQ, "MAX_ITER", 200_000)
    rng = np.random.default_rng(n)
    for _ in range(8):
        proba, base = _batch(rng, n, k, peak)
        theirs = EMQ.EM(base, proba, epsilon=1e-14)[0]
        np.testing.assert_allclose(_estimate(proba, base), theirs, rtol=0, atol=1e-6)
        np.testing.assert_allclose(_estimate(proba, base), plain_em(proba, base, 1e-14), rtol=0, atol=1e-6)


def test_without_acceleration_it_is_plain_em_with_the_published_rule():
    rng = np.random.default_rng(3)
    for _ in range(20):
        proba, base = _batch(rng, 10, 10)
        ours = _estimate(proba, base, tol=1e-6, accelerate=False, max_iter=100_000)
        np.testing.assert_allclose(ours, plain_em(proba, base, 1e-6), rtol=0, atol=1e-12)


@st.composite
def _odd_batches(draw):
    """Batches with zeros, one-hot rows, equal rows, tiny numbers, and a base that may be very uneven."""
    k, n = draw(st.integers(2, 8)), draw(st.integers(1, 12))
    entry = st.one_of(st.just(0.0), st.sampled_from([1.0, 1e-12, 1e-300]), st.floats(1e-3, 1.0))
    rows = np.array(draw(st.lists(st.lists(entry, min_size=k, max_size=k), min_size=n, max_size=n)))
    rows[rows.sum(axis=1) < 1e-3, draw(st.integers(0, k - 1))] = 1.0
    base = np.array(draw(st.lists(st.sampled_from([1e-6, 0.1, 0.5, 1.0]), min_size=k, max_size=k)))
    return rows / rows.sum(axis=1, keepdims=True), base / base.sum()


@settings(max_examples=300, deadline=None)
@given(_odd_batches(), st.booleans())
def test_the_conditions_of_a_maximum_hold(batch, in_float32):
    proba, base = batch
    if in_float32:
        proba = proba.astype(np.float32)
    q = _estimate(proba, base)
    assert (q >= 0).all()
    assert abs(q.sum() - 1) < 1e-12
    slope = gradient(proba.astype(np.float64), base, q)
    assert slope.max() <= 1 + 1e-6
    assert np.abs(slope - 1)[q > 1e-9].max() <= 1e-6


@pytest.mark.parametrize("accelerate", [True, False])
def test_the_likelihood_never_falls(accelerate):
    rng = np.random.default_rng(5)
    for n, k, peak in [(10, 10, 1.0), (10, 10, 0.05), (1, 5, 1.0), (3, 30, 1.0), (100, 6, 0.3), (50, 4, 20.0)]:
        for _ in range(5):
            proba, base = _batch(rng, n, k, peak)
            mixes = [proba.mean(axis=0)]
            mixes += [_estimate(proba, base, accelerate=accelerate, max_iter=m, tol=0.0) for m in range(1, 15)]
            values = [mean_log_likelihood(proba, base, q) for q in mixes]
            assert np.diff(values).min() >= -1e-13
            if accelerate:  # and it rises at least as fast as that of EM
                plain = mean_log_likelihood(proba, base, _estimate(proba, base, accelerate=False, max_iter=14, tol=0.0))
                assert values[-1] >= plain - 1e-13


def test_acceleration_finds_the_maximum_in_a_few_steps():
    rng = np.random.default_rng(6)
    for n, k in [(10, 10), (50, 10), (300, 40)]:
        proba, base = _batch(rng, n, k)
        q = _estimate(proba, base, max_iter=15)
        assert np.abs(gradient(proba, base, q) - 1)[q > 0].max() < 1e-12
        slow = _estimate(proba, base, accelerate=False, max_iter=15)
        assert np.abs(gradient(proba, base, slow) - 1)[slow > 0].max() > 1e-4


def test_a_large_batch_of_a_calibrated_model_gives_the_mix():
    rng = np.random.default_rng(7)
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.2, 0.7])
    centres = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])

    def outputs(mix, n):
        y = rng.choice(3, size=n, p=mix)
        x = centres[y] + rng.normal(size=(n, 2))
        scores = p * np.exp(-0.5 * ((x[:, np.newaxis] - centres) ** 2).sum(axis=2))
        return scores / scores.sum(axis=1, keepdims=True), y

    holdout, batch = outputs(p, 20_000), outputs(q, 20_000)[0]
    for mlls in (MLLS(), MLLS(base="prior"), MLLS(base="prior", source_prior=p)):
        np.testing.assert_allclose(mlls.fit(*holdout).estimate(batch), q, atol=0.02)


def test_one_hot_rows_are_counted_and_unsupported_classes_get_nothing():
    np.testing.assert_allclose(_estimate(np.eye(4)[[0, 0, 1, 0]], [0.1, 0.2, 0.3, 0.4]), [0.75, 0.25, 0, 0], atol=1e-12)
    assert _estimate([[0.5, 0.5, 0.0], [0.2, 0.8, 0.0]], [0.3, 0.3, 0.4])[2] == 0.0


def test_one_maximum_of_many_is_always_the_same():
    np.testing.assert_allclose(_estimate(np.full((5, 4), 0.25), np.full(4, 0.25)), 0.25)  # where it started
    proba = np.random.default_rng(0).dirichlet(np.ones(30), size=4)
    first, again = (_estimate(proba.copy(), np.full(30, 1 / 30)) for _ in range(2))
    assert first.tobytes() == again.tobytes()


def test_many_classes():
    rng = np.random.default_rng(0)
    k = 5000
    y = rng.integers(k, size=30)
    proba = 0.5 * np.eye(k)[y] + 0.5 * rng.dirichlet(np.ones(k), size=30)
    q = _estimate(proba, np.full(k, 1 / k))
    slope = gradient(proba, np.full(k, 1 / k), q)
    assert slope.max() < 1 + 1e-9
    assert np.abs(slope - 1)[q > 0].max() < 1e-9


def test_more_classes_in_play_than_newton_takes_on():
    """EM alone then goes on; the likelihood still never falls."""
    rng = np.random.default_rng(0)
    k = 1100
    proba = 0.3 * np.eye(k) + 0.7 * rng.dirichlet(np.ones(k), size=k)
    base = np.full(k, 1 / k)
    values = [mean_log_likelihood(proba, base, _estimate(proba, base, max_iter=m)) for m in (1, 2, 3)]
    assert values[0] >= mean_log_likelihood(proba, base, plain_em(proba, base, 0.0, max_iter=1)) - 1e-13
    assert np.diff(values).min() > 0


def test_the_smallest_base_is_survived():
    np.testing.assert_allclose(_estimate(np.full((4, 3), 1 / 3), [2e-12, 0.5, 0.5]), [1.0, 0.0, 0.0], atol=1e-9)
    assert np.isfinite(_estimate([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], [2e-12, 0.5, 0.5])).all()
    with pytest.raises(ValueError, match="a share of 1e-310"):
        _estimate(np.full((4, 3), 1 / 3), [1e-310, 0.5, 0.5])


def test_groups_are_batches():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), size=60)
    for mlls in MLLS.examples():
        mlls.fit(proba, np.arange(60) % 3)
        together = mlls.estimate_groups(proba, np.array([0, 1, 12, 60]))
        apart = [mlls.estimate(proba[a:b]) for a, b in ((0, 1), (1, 12), (12, 60))]
        np.testing.assert_array_equal(together, apart)


HOLDOUT = np.array([[0.7, 0.3], [0.6, 0.4], [0.2, 0.8], [0.3, 0.7]])


def test_where_the_base_comes_from():
    y = [0, 0, 0, 1]
    np.testing.assert_allclose(MLLS().fit(HOLDOUT, y).base_, [0.45, 0.55])
    np.testing.assert_allclose(MLLS().fit(HOLDOUT).base_, [0.45, 0.55])
    np.testing.assert_allclose(MLLS(base="prior").fit(HOLDOUT, y).base_, [0.75, 0.25])
    np.testing.assert_allclose(MLLS(base="prior", source_prior=[0.4, 0.6]).fit(HOLDOUT).base_, [0.4, 0.6])
    np.testing.assert_allclose(MLLS(source_prior=[0.4, 0.6]).fit().base_, [0.4, 0.6])
    bound = MLLS(base="prior")
    bound.bind(source_prior=np.array([0.1, 0.9]))
    np.testing.assert_allclose(bound.base_, [0.1, 0.9])
    np.testing.assert_allclose(bound.fit(HOLDOUT, y).base_, [0.1, 0.9])
    told = MLLS(base="prior", source_prior=[0.4, 0.6])
    told.bind(source_prior=np.array([0.1, 0.9]))
    np.testing.assert_allclose(told.fit(HOLDOUT, y).base_, [0.4, 0.6])


def test_a_labelled_holdout_is_weighted_to_the_source_prior():
    """The mean output under the prior: 0.4 times that of class 0 (0.5, 0.5), and 0.6 times that of class 1."""
    y = [0, 0, 0, 1]
    expected = 0.4 * HOLDOUT[:3].mean(axis=0) + 0.6 * HOLDOUT[3]
    np.testing.assert_allclose(MLLS(source_prior=[0.4, 0.6]).fit(HOLDOUT, y).base_, expected)
    bound = MLLS()
    bound.bind(source_prior=np.array([0.4, 0.6]))
    np.testing.assert_allclose(bound.fit(HOLDOUT, y).base_, expected)
    np.testing.assert_allclose(bound.fit(HOLDOUT).base_, [0.45, 0.55])
    same = MLLS()
    same.bind(source_prior=np.array([0.75, 0.25]))
    np.testing.assert_allclose(same.fit(HOLDOUT, y).base_, [0.45, 0.55])


def test_the_mean_output_of_the_holdout_is_its_own_estimate():
    """With that base the gradient at the start is one in every class."""
    np.testing.assert_allclose(MLLS().fit(HOLDOUT).estimate(HOLDOUT), [0.45, 0.55], atol=1e-12)


@pytest.mark.parametrize(
    ("mlls", "arguments", "complaint"),
    [
        (MLLS(), (), "proba is missing"),
        (MLLS(source_prior=[0.5, 0.5]), (None, [0, 1]), "proba is missing, and y"),
        (MLLS(base="prior"), (HOLDOUT,), "y is missing"),
        (MLLS(base="prior"), (HOLDOUT, [0, 0, 0, 0]), "y has no sample of class 1"),
        (MLLS(base="prior", source_prior=[0.2, 0.3, 0.5]), (HOLDOUT,), "source_prior has 3 columns"),
        (MLLS(source_prior=[1.0, 0.0]), (), "source_prior gives class 1 no mass"),
        (MLLS(), (np.empty((0, 2)),), "empty holdout"),
        (MLLS(), ([[1.0, 0.0]],), "proba gives class 1 no mass"),
        (MLLS(base="mean"), (HOLDOUT,), "base is 'mean'"),
        (MLLS(tol=-1.0), (HOLDOUT,), "tol"),
        (MLLS(tol="small"), (HOLDOUT,), "tol"),
        (MLLS(max_iter=0), (HOLDOUT,), "max_iter"),
    ],
)
def test_what_cannot_be_fitted_is_refused_by_name(mlls, arguments, complaint):
    with pytest.raises((ValueError, TypeError), match=complaint):
        mlls.fit(*arguments)
    assert not hasattr(mlls, "base_")


def test_no_estimate_of_an_empty_batch():
    with pytest.raises(ValueError, match="proba is an empty batch"):
        MLLS(source_prior=[0.5, 0.5]).fit().estimate(np.empty((0, 2)))


def test_in_an_adapter_without_labels_or_without_a_holdout():
    batch = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]
    for arguments in ((), (HOLDOUT,), (HOLDOUT, [0, 0, 1, 1])):
        marginals = MLLS(base="prior")
        adapter = RegressAndReweight(LastSighting(2), marginals, calibrator=None, source_prior=[0.4, 0.6])
        adapter.fit(*arguments)
        adapter.update(batch)
        np.testing.assert_allclose(adapter.prior_, _estimate(batch, [0.4, 0.6]), atol=1e-12)
        # At the maximum, the mean re-weighted output is the estimate itself.
        np.testing.assert_allclose(adapter.predict_proba(batch).mean(axis=0), adapter.prior_, atol=1e-9)


def test_mlls_names_the_class_it_cannot_weight():
    with pytest.raises(ValueError, match="y has no sample of class 1"):
        MLLS(source_prior=[0.4, 0.6]).fit([[0.7, 0.3], [0.6, 0.4]], [0, 0])


def test_the_base_is_a_class_mix_even_where_rows_are_not():
    assert MLLS().fit(1.0008 * np.array([[0.7, 0.3], [0.6, 0.4]])).base_.sum() == pytest.approx(1, abs=1e-15)
