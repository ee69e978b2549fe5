"""A river classifier as a model of the learners."""

import numpy as np
import pytest

river = pytest.importorskip("river")
from river import linear_model, multiclass, naive_bayes, preprocessing, tree  # noqa: E402

from baserate.integrations.river import RiverEstimator  # noqa: E402
from baserate.learners import (  # noqa: E402
    ContinualTraining,
    ContinualTrainingResampled,
    LazyTrainByWeights,
    TrainByWeights,
)

RNG = np.random.default_rng(0)
Y = RNG.integers(3, size=300)
X = np.column_stack([RNG.normal(2.0 * (Y == 1), 1.0), RNG.normal(2.0 * (Y == 2), 1.0)])


def pipeline():
    return preprocessing.StandardScaler() | multiclass.OneVsRestClassifier(linear_model.LogisticRegression())


@pytest.mark.parametrize("model", [naive_bayes.GaussianNB(), pipeline(), tree.HoeffdingTreeClassifier()], ids=str)
@pytest.mark.parametrize("learner", [ContinualTraining, ContinualTrainingResampled, TrainByWeights, LazyTrainByWeights])
def test_every_learner_learns(learner, model):
    given = RiverEstimator(model)
    options = {"epoch_steps": 2, "max_epochs": 5} if learner in (ContinualTraining, ContinualTrainingResampled) else {}
    learning = learner(n_classes=3, estimator=given, rng=0, **options)
    wrong = []
    for samples, labels in zip(np.split(X, 10), np.split(Y, 10), strict=True):
        wrong.append((learning.predict_proba(samples).argmax(axis=1) != labels).mean())
        learning.update(samples, labels)
    assert np.mean(wrong[5:]) < 0.3 < wrong[0]
    assert not hasattr(given, "classifier_"), "it is cloned, never trained itself"


def test_samples_come_one_by_one_in_their_order():
    ours = RiverEstimator(naive_bayes.GaussianNB()).partial_fit(X[:100], Y[:100], classes=[0, 1, 2])
    ours.partial_fit(X[100:], Y[100:])
    plain = naive_bayes.GaussianNB()
    for row, label in zip(X.tolist(), Y.tolist(), strict=True):
        plain.learn_one({0: row[0], 1: row[1]}, label)
    said = [plain.predict_proba_one({0: row[0], 1: row[1]}) for row in X[:20].tolist()]
    np.testing.assert_allclose(ours.predict_proba(X[:20]), [[row[c] for c in (0, 1, 2)] for row in said], rtol=1e-12)
    np.testing.assert_array_equal(ours.predict(X[:20]), ours.predict_proba(X[:20]).argmax(axis=1))


@pytest.mark.parametrize("labels", [[0, 1], ["ham", "spam"], [3, 7]])
def test_two_classes_by_any_name(labels):
    y = np.array(labels)[(Y == 1).astype(int)]
    model = RiverEstimator(linear_model.LogisticRegression()).fit(X, y)
    assert model.classes_.tolist() == labels
    right = (model.predict(X) == y).mean()
    assert right > 0.8
    assert model.score(X, y) == right


WEIGHED = [
    naive_bayes.GaussianNB(),  # takes no weights
    tree.HoeffdingTreeClassifier(),  # takes weights
    preprocessing.StandardScaler() | tree.HoeffdingTreeClassifier(),  # may lose them on the way
]


@pytest.mark.parametrize("model", WEIGHED, ids=str)
def test_weights_change_the_mix_that_is_learned(model):
    """With and without a `w` of its own a classifier sees a class of three times the weight three times as often."""
    weights = np.where(Y == 0, 3.0, 1.0)
    heavy = RiverEstimator(model, random_state=0).fit(X, Y, sample_weight=weights)
    again = RiverEstimator(model, random_state=0).fit(X, Y, sample_weight=10 * weights)
    repeated = np.repeat(np.arange(300), weights.astype(int))
    order = np.sort(repeated)
    expected = RiverEstimator(model).fit(X[order], Y[order]).predict_proba(X).mean(axis=0)
    np.testing.assert_array_equal(heavy.predict_proba(X), again.predict_proba(X))
    np.testing.assert_allclose(heavy.predict_proba(X).mean(axis=0), expected, atol=0.03)
    assert expected[0] > RiverEstimator(model).fit(X, Y).predict_proba(X).mean(axis=0)[0] + 0.1


def test_a_failed_call_changes_nothing():
    model = RiverEstimator(naive_bayes.GaussianNB()).fit(X, Y)
    before = model.predict_proba(X)
    for bad_X, bad_y, weights in [(X, np.full(300, 9), None), (X, Y[:-1], None), (X, Y, -np.ones(300)), (X, Y, [1.0])]:
        with pytest.raises(ValueError, match=r"y holds 9|y has shape|sample_weight holds|sample_weight has"):
            model.partial_fit(bad_X, bad_y, sample_weight=weights)
    with pytest.raises(ValueError, match="two dimensions"):
        model.partial_fit(X[0], Y)
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_wrong_models_and_too_many_classes():
    with pytest.raises(TypeError, match="expected a classifier of river"):
        RiverEstimator("GaussianNB").fit(X, Y)
    with pytest.raises(ValueError, match="LogisticRegression knows two"):
        RiverEstimator(linear_model.LogisticRegression()).fit(X, Y)


def test_a_classifier_that_says_nothing():
    class Silent(naive_bayes.GaussianNB):
        """Knows nothing."""

        def predict_proba_one(self, x):
            return {}

    np.testing.assert_allclose(RiverEstimator(Silent()).fit(X, Y).predict_proba(X[:2]), np.full((2, 3), 1 / 3))
