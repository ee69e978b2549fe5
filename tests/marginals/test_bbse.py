"""BBSE: by hand, Lemma "unbias" on data, and what it says of confused classes."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from baserate.datasets import synthetic
from baserate.marginals import BBSE
from baserate.state import dumps, loads


def test_by_hand():
    holdout = [[0.8, 0.2], [0.6, 0.4], [0.1, 0.9]]
    bbse = BBSE(clip=False).fit(holdout, [0, 0, 1])
    np.testing.assert_allclose(bbse.confusion_, [[0.7, 0.1], [0.3, 0.9]])  # predicted x true
    np.testing.assert_allclose(bbse.estimate([[0.7, 0.3]]), [1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(bbse.estimate([[0.7, 0.3], [0.1, 0.9]]), [0.5, 0.5], atol=1e-12)
    np.testing.assert_allclose(bbse.estimate([[1.0, 0.0]]), [1.5, -0.5], atol=1e-12)
    assert bbse.sigma_min_ == pytest.approx(np.linalg.svd(bbse.confusion_)[1].min())


def test_clipping_is_at_zero_then_normalised():
    holdout, y = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]], [0, 1, 2]
    raw = BBSE(clip=False).fit(holdout, y).estimate([[0.9, 0.05, 0.05]])
    assert raw.min() < 0
    expected = np.maximum(raw, 0)
    np.testing.assert_allclose(
        BBSE().fit(holdout, y).estimate([[0.9, 0.05, 0.05]]), expected / expected.sum(), atol=1e-12
    )


def test_hard_counts_decisions():
    holdout, y = [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.3, 0.7]], [0, 0, 1, 1]
    bbse = BBSE(soft=False, clip=False).fit(holdout, y)
    np.testing.assert_allclose(bbse.confusion_, [[0.5, 0.0], [0.5, 1.0]])
    np.testing.assert_allclose(bbse.estimate([[0.6, 0.4], [0.49, 0.51]]), [1.0, 0.0], atol=1e-12)


def test_joint_is_the_ridge_solution_of_the_published_run():
    """w = (C'C + 1e-8 I)^-1 C' mean f with the joint matrix C = P'Y / n; q = w * q_0, clipped and normalised."""
    rng = np.random.default_rng(0)
    y = np.r_[np.arange(4), rng.choice(4, p=[0.5, 0.2, 0.2, 0.1], size=300)]
    proba = 0.4 * np.eye(4)[y] + 0.6 * rng.dirichlet(np.ones(4), size=len(y))
    batch = rng.dirichlet(np.ones(4), size=10)
    joint = proba.T @ np.eye(4)[y] / len(y)
    w = np.linalg.solve(joint.T @ joint + 1e-8 * np.eye(4), joint.T @ batch.mean(axis=0))
    expected = np.maximum(w, 0) * np.bincount(y) / len(y)
    np.testing.assert_allclose(
        BBSE(joint=True).fit(proba, y).estimate(batch), expected / expected.sum(), rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(BBSE().fit(proba, y).estimate(batch), expected / expected.sum(), atol=1e-5)


def test_groups_are_batches():
    rng = np.random.default_rng(0)
    y = np.r_[np.arange(3), rng.integers(3, size=100)]
    proba = 0.5 * np.eye(3)[y] + 0.5 * rng.dirichlet(np.ones(3), size=len(y))
    for bbse in BBSE.examples():
        bbse.fit(proba, y)
        together = bbse.estimate_groups(proba[:30], np.array([0, 1, 12, 30]))
        apart = [bbse.estimate(proba[a:b]) for a, b in ((0, 1), (1, 12), (12, 30))]
        np.testing.assert_array_equal(together, apart)


@pytest.fixture(scope="module")
def outputs():
    """Real outputs with a large pool, whose confusion matrix is known all but exactly."""
    data = synthetic.load()
    model = LogisticRegression(fit_intercept=False).fit(data.source_X, data.source_y)
    return model.predict_proba(data.target_X), data.target_y


@pytest.mark.parametrize("q", [[1 / 3, 1 / 3, 1 / 3], [0.9, 0.05, 0.05], [0.0, 0.2, 0.8]])
def test_lemma_unbias(outputs, q):
    """The mean of unclipped s_t is q within its standard error, and its variance at most 1/sigma_min^2."""
    pool, labels = outputs
    bbse = BBSE(clip=False).fit(pool, labels)
    rng = np.random.default_rng(7)
    members = [np.flatnonzero(labels == c) for c in range(3)]
    draws = rng.choice(3, size=40_000, p=q)
    rows = np.array([members[c][i] for c, i in zip(draws, rng.integers(4000, size=len(draws)), strict=True)])
    s = bbse.estimate_groups(pool[rows], np.arange(len(rows) + 1))  # one sample a round, as in the lemma
    error = np.abs(s.mean(axis=0) - q)
    standard_error = s.std(axis=0) / np.sqrt(len(s))
    assert (error < 4 * standard_error + 1e-12).all()
    variance = ((s - s.mean(axis=0)) ** 2).sum(axis=1).mean()
    assert variance <= 1 / bbse.sigma_min_**2
    # And it is the inverse that makes it so: the raw outputs are biased by far more.
    raw = pool[rows].mean(axis=0)
    assert np.abs(raw - q).max() > 10 * error.max() or np.ptp(q) == 0


def _confused(strength, k=4):
    """Classes 1 and 3 have outputs that differ by `strength` only."""
    columns = np.full((k, k), 0.1) + 0.6 * np.eye(k)
    columns[[1, 3], 1] = 0.4 + strength, 0.4 - strength
    columns[[1, 3], 3] = 0.4 - strength, 0.4 + strength
    columns[[0, 2], 1] = columns[[0, 2], 3] = 0.1
    return np.repeat((columns / columns.sum(axis=0)).T, 5, axis=0), np.repeat(np.arange(k), 5)


def test_nearly_singular_warns_and_names_the_classes():
    with pytest.warns(UserWarning, match=r"classes 1, 3 are confused.*merge") as caught:
        BBSE().fit(*_confused(0.01))
    assert caught[0].filename == __file__


def test_singular_is_an_error_that_names_the_classes():
    with pytest.raises(ValueError, match=r"singular.*classes 1, 3 apart.*merge"):
        BBSE().fit(*_confused(0.0))
    with pytest.raises(ValueError, match="soft=True"):
        BBSE(soft=False).fit(*_confused(0.0))


def test_well_told_apart_is_silent():
    BBSE().fit(*_confused(0.2))


def test_large_matrices_find_the_same_end_of_the_spectrum():
    rng = np.random.default_rng(0)
    k = 400
    y = np.repeat(np.arange(k), 2)
    proba = 0.5 * np.eye(k)[y] + 0.5 * rng.dirichlet(np.ones(k), size=len(y))
    bbse = BBSE().fit(proba, y)
    assert bbse.sigma_min_ == pytest.approx(np.linalg.svd(bbse.confusion_, compute_uv=False)[-1], rel=1e-6)
    proba[y == 399] = proba[y == 7]
    with pytest.raises(ValueError, match="classes 7, 399"):
        BBSE().fit(proba, y)


def test_a_failed_refit_keeps_the_old_fit():
    bbse = BBSE().fit(*_confused(0.2))
    before = bbse.confusion_.copy()
    with pytest.raises(ValueError, match="singular"):
        bbse.fit(*_confused(0.0))
    np.testing.assert_array_equal(bbse.confusion_, before)


def test_ties_go_to_the_first_class():
    holdout, y = [[0.9, 0.1], [0.1, 0.9]], [0, 1]
    np.testing.assert_allclose(BBSE(soft=False).fit(holdout, y).estimate([[0.5, 0.5]]), [1.0, 0.0])


def test_the_confused_are_the_true_classes_not_the_predicted():
    """Samples of classes 0 and 1 look alike; it is outputs 2 and 3 that never differ."""
    columns = np.array([[0.4, 0.4, 0.1, 0.1], [0.4, 0.4, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1], [0.1, 0.1, 0.1, 0.7]])
    asymmetric = np.array([[0.5, 0.3, 0.1, 0.1], [0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.5, 0.3], [0.0, 0.2, 0.1, 0.7]])
    for rows in (columns, asymmetric):
        with pytest.raises(ValueError, match="classes 0, 1 apart"):
            BBSE().fit(np.repeat(rows, 3, axis=0), np.repeat(np.arange(4), 3))


def test_an_estimate_that_is_negative_in_all_classes_is_the_mean_output():
    bbse = BBSE().fit([[0.9, 0.1], [0.2, 0.8]], [0, 1])
    bbse._inverse_t = -np.eye(2)
    np.testing.assert_allclose(bbse.estimate([[0.9, 0.1], [0.5, 0.5]]), [0.7, 0.3])


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("_inverse_t", np.eye(3)),
        ("_inverse_t", np.full((2, 2), 1e12)),
        ("_inverse_t", np.full((2, 2), np.nan)),
        ("confusion_", -np.eye(2)),
        ("sigma_min_", 0.0),
        ("soft", "yes"),
    ],
)
def test_a_damaged_state_is_refused(name, wrong):
    bbse = BBSE().fit([[0.9, 0.1], [0.2, 0.8]], [0, 1])
    setattr(bbse, name, wrong)
    with pytest.raises(ValueError, match="holds BBSE"):
        loads(dumps(bbse))


def test_flags_given_as_numbers_can_be_saved():
    assert loads(dumps(BBSE(soft=1, clip=0))).clip == 0
