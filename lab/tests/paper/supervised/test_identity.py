"""The identity of the paper's appendix: models trained by weights are those re-weighted."""

import numpy as np
import pytest

from baserate.learners import TrainByWeights
from baserate.trackers import FollowTheHistory
from baserate_lab.paper.rates import slope
from baserate_lab.paper.supervised import identity, problems

K = problems.N_CLASSES


def test_a_saturated_model_trained_by_weights_is_the_reweighted_one():
    """Exactly, whatever was expected: by TrainByWeights along a stream, with a tracker that errs."""
    rng = np.random.default_rng(0)
    model = identity.MODELS["saturated"]
    learner = TrainByWeights(K, model, FollowTheHistory(K))
    X, y, expected = [], [], []
    judged = np.arange(6.0)[:, np.newaxis]
    distances = []
    for _ in range(12):
        labels = rng.choice(K, size=30, p=rng.dirichlet(np.ones(K)))
        values = rng.integers(5, size=(30, 1)).astype(float)  # the sixth value is never seen
        X, y, expected = [*X, values], [*y, labels], [*expected, np.tile(learner.prior_, (30, 1))]
        learner.update(values, labels)
        seen = np.concatenate(X), np.concatenate(y)
        mix, by_weights = learner.prior_, learner.predict_proba(judged)
        for scheme in identity.SCHEMES:
            weights = identity.uniform_weights(seen[1], np.concatenate(expected), scheme)
            reweighted = identity.by_way_of_uniform(model, *seen, weights, mix, judged)
            distances.append(np.abs(reweighted - by_weights).max())
    exact, by_counts = np.reshape(distances, (12, 2)).T
    assert exact.max() < 1e-10
    assert by_counts.min() > 1e-3  # other weights, another table


def test_a_table_minimises_the_weighted_loss():
    rng = np.random.default_rng(0)
    X, y, weights = rng.integers(2, size=(50, 1)), rng.integers(K, size=50), rng.random(50)
    model = identity.ConditionalTable(2).fit(X, y, sample_weight=weights)

    def loss(table):
        return -(weights * np.log(table[X[:, 0], y])).sum()

    for _ in range(20):
        other = model.table_ * np.exp(0.1 * rng.standard_normal((2, K)))
        assert loss(other / other.sum(axis=1, keepdims=True)) > loss(model.table_)


@pytest.fixture(scope="module")
def disagreements():
    return identity.run_identity(lengths=identity.LENGTHS[::2], n_seeds=5)


def test_the_values_of_the_saturated_model_have_their_shares():
    y = np.repeat(np.arange(K), 20_000)
    X = identity._draw("saturated", y, np.random.default_rng(0))
    shares = [np.bincount(X[y == c, 0].astype(int), minlength=6) / 20_000 for c in range(K)]
    np.testing.assert_allclose(shares, identity._VALUES, atol=0.01)


def test_saturated_models_agree(disagreements):
    assert disagreements["saturated"][:, :, 0, 0].max() < 1e-10
    assert disagreements["saturated"][:, :, 0, 1].max() == 0


@pytest.mark.parametrize("scheme", range(len(identity.SCHEMES)))
def test_well_specified_models_agree_with_enough_samples(disagreements, scheme):
    distances = disagreements["well specified"][:, :, scheme, 0]
    assert slope(distances, identity.LENGTHS[::2]).value < -0.35
    assert distances[-1].max() < 0.005


def test_misspecified_models_do_not_agree_however_many_samples_there_are(disagreements):
    distances = disagreements["misspecified"][:, :, 0, 0].mean(axis=1)
    assert distances[-1] > 0.5 * distances[0]
    assert distances[-1] > 10 * disagreements["well specified"][-1, :, 0, 0].mean()
    assert disagreements["misspecified"][-1, :, 0, 1].min() > 0.02  # other labels, too
    assert disagreements["misspecified"][-1, :, 0, 2].min() > 0.005  # and weighted ERM is the better of the two


def test_weights_of_the_uniform_mix_by_hand():
    y = np.array([0, 1, 1])
    expected = np.array([[0.5, 0.5], [0.5, 0.5], [0.8, 0.2]])
    np.testing.assert_allclose(identity.uniform_weights(y, expected, "the identity's"), [1.0, 1.0, 2.5])
    np.testing.assert_allclose(identity.uniform_weights(y, expected, "class counts"), [1.5, 0.75, 0.75])
