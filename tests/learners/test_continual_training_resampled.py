"""CT-RS: every class drawn alike, and outputs re-weighted to the expected mix."""

import numpy as np
from scipy.stats import chisquare
from sklearn.naive_bayes import GaussianNB

from baserate import evaluate
from baserate.learners import ContinualTraining, ContinualTrainingResampled
from baserate.shifts import Bernoulli, sample_stream
from baserate.trackers import FollowTheHistory

from .numbered_samples import NUMBERED, K, Y, batches_of
from .stub_models import Fixed


def test_resampled_batches_have_a_uniform_class_mix():
    learner, (X, y) = batches_of(ContinualTrainingResampled)
    assert chisquare(np.bincount(y, minlength=K)).pvalue > 0.01
    # Within a class every sample is as likely: of class 2, with 80 of them, all are drawn about as often.
    drawn = np.bincount(X[y == 2, 0].astype(int), minlength=1000)[(Y == 2) & ~learner._pool.held]
    assert chisquare(drawn).pvalue > 0.01
    assert (X[:, 0].astype(int)[:, np.newaxis] != np.flatnonzero(learner._pool.held)).all()


def test_the_resampled_counts_every_class_the_same_in_training_and_in_validation():
    learner = ContinualTrainingResampled(K, Fixed(), rng=0)
    learner.update(NUMBERED, Y)
    pool, weights = learner._pool, learner._weights()
    for part in (pool.held, ~pool.held):
        shares = np.bincount(pool.y[part], weights=weights[part])
        np.testing.assert_allclose(shares, 1.0)


def test_outputs_are_reweighted_from_uniform_to_the_expected_mix():
    y = np.repeat([0, 1, 2], [5, 10, 35])  # a mix of 0.1, 0.2, 0.7
    learner = ContinualTrainingResampled(K, Fixed((0.5, 0.3, 0.2)), FollowTheHistory(K), rng=0)
    learner.update(NUMBERED[:50], y)
    # (0.5 * 0.1, 0.3 * 0.2, 0.2 * 0.7) * 3, over their sum
    np.testing.assert_allclose(learner.prior_, [0.1, 0.2, 0.7])
    np.testing.assert_allclose(learner.predict_proba([[0.0]]), [[0.2, 0.24, 0.56]])
    plain = ContinualTraining(K, Fixed((0.5, 0.3, 0.2)), rng=0)
    plain.update(NUMBERED[:50], y)
    np.testing.assert_allclose(plain.predict_proba([[0.0]]), [[0.5, 0.3, 0.2]])


def test_floor_and_priors_of_the_resampled():
    y = np.zeros(10, dtype=int)
    learner = ContinualTrainingResampled(K, Fixed(), FollowTheHistory(K), rng=0)
    learner.update(NUMBERED[:10], y)
    np.testing.assert_array_equal(learner.predict_proba([[0.0]]), [[1.0, 0.0, 0.0]])
    learner.set_params(floor=0.1)
    assert learner.rounds_ == 0
    learner.update(NUMBERED[:10], y)
    np.testing.assert_allclose(learner.prior_, [0.8, 0.1, 0.1])
    path = np.array([[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]])
    told = ContinualTrainingResampled(K, Fixed((0.5, 0.25, 0.25)), priors=path, rng=0)
    np.testing.assert_allclose(told.predict_proba([[0.0]]), path[:1])
    told.update(NUMBERED[:10], y)
    np.testing.assert_allclose(told.predict_proba([[0.0]]), [[0.75, 0.25, 0.0]])


def test_learning_pays_in_the_one_loop():
    """On a stream whose mix flips, CT-RS is better than chance by far, and better than CT."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(K), 500))
    X = 1.2 * np.eye(K)[y] + rng.normal(0, 0.6, size=(1500, K))
    stream = list(sample_stream(np.eye(K)[y], y, Bernoulli(), n_rounds=60, batch_size=20, features=X, rng=3))
    plain = evaluate(ContinualTraining(K, GaussianNB(), patience=1, rng=0), stream)
    resampled = evaluate(ContinualTrainingResampled(K, GaussianNB(), patience=1, rng=0), stream)
    assert resampled.error_rate < plain.error_rate < 0.3
    assert np.isnan(plain.mse)
    assert resampled.mse < 0.3
