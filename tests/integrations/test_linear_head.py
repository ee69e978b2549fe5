"""Every supported model is its features and its last layer; every other is refused with a reason."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from baserate.integrations import last_layer
from baserate.integrations.linear_head import NoLastLayerError

from .showing import Showing

RNG = np.random.default_rng(0)
Y = np.arange(120) % 3
X = 2 * np.eye(3, 5)[Y] + RNG.standard_normal((120, 5))
BINARY = Y > 0


def small_mlp(**parameters):
    return MLPClassifier((7, 4), max_iter=5, solver="sgd", random_state=0, **parameters)


MODELS = {
    "logistic": LogisticRegression(),
    "logistic, no intercept": LogisticRegression(fit_intercept=False),
    "logistic, scaled": make_pipeline(StandardScaler(), LogisticRegression()),
    "discriminant": LinearDiscriminantAnalysis(),
    "shows its own": Showing(),
    "pipeline of one": make_pipeline(Showing()),
    **{f"mlp {kind}": small_mlp(activation=kind) for kind in ("relu", "tanh", "logistic", "identity")},
    "mlp, scaled": make_pipeline(StandardScaler(), small_mlp(batch_size=20)),
}


def rebuilt(model, X):
    layer = last_layer(model)
    features = layer.features(X)
    assert features.dtype == layer.coef.dtype == layer.intercept.dtype == np.float64
    assert features.shape == (len(X), layer.coef.shape[1])
    return softmax(features @ layer.coef.T + layer.intercept, axis=1)


@pytest.mark.parametrize("y", [Y, BINARY.astype(int)], ids=["three classes", "two"])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_gives_the_probabilities_of_the_model(name, y):
    model = MODELS[name].fit(X, y)
    np.testing.assert_allclose(rebuilt(model, X), model.predict_proba(X), atol=1e-12)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # its defaults change between versions
def test_the_cross_validated_one():
    model = LogisticRegressionCV(Cs=2, cv=2).fit(X, Y)
    np.testing.assert_allclose(rebuilt(model, X), model.predict_proba(X), atol=1e-12)


def test_a_search_over_parameters():
    search = GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [0.1, 1.0]})
    model = search.fit(X, Y)
    np.testing.assert_allclose(rebuilt(model, X), model.predict_proba(X), atol=1e-12)


def test_a_binary_model_has_two_rows():
    model = LogisticRegression().fit(X, BINARY)
    layer = last_layer(model)
    np.testing.assert_array_equal(layer.coef, np.vstack([np.zeros(5), model.coef_[0]]))
    np.testing.assert_array_equal(layer.intercept, [0, model.intercept_[0]])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_single_precision_stays_within_its_rounding():
    model = small_mlp().fit(X.astype(np.float32), Y)
    np.testing.assert_allclose(
        rebuilt(model, X.astype(np.float32)), model.predict_proba(X.astype(np.float32)), atol=1e-6
    )


def test_texts_and_frames():
    texts = np.array([f"word{label} filler{i % 7}" for i, label in enumerate(Y)], dtype=object)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, Y)
    np.testing.assert_allclose(rebuilt(model, texts), model.predict_proba(texts), atol=1e-12)
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = make_pipeline(StandardScaler().set_output(transform="pandas"), LogisticRegression()).fit(frame, Y)
    np.testing.assert_allclose(rebuilt(model, frame), model.predict_proba(frame), atol=1e-12)


def test_the_layer_is_a_copy():
    model = LogisticRegression().fit(X, Y)
    before = model.predict_proba(X)
    last_layer(model).coef[:] = 0
    np.testing.assert_array_equal(model.predict_proba(X), before)


REFUSED = {
    "RandomForestClassifier": RandomForestClassifier(3, random_state=0),
    "GradientBoostingClassifier": GradientBoostingClassifier(n_estimators=2),
    "SVC": SVC(),
    "OneVsRestClassifier": OneVsRestClassifier(LogisticRegression()),
    "CalibratedClassifierCV": CalibratedClassifierCV(LogisticRegression(), cv=2),
}


@pytest.mark.parametrize("name", REFUSED)
def test_models_without_a_last_linear_layer_are_refused(name):
    with pytest.raises(NoLastLayerError, match=f"{name} cannot be taken.*RegressAndReweight or ROGD"):
        last_layer(REFUSED[name].fit(X, Y))
    with pytest.raises(TypeError, match=f"{name} cannot be taken"):
        last_layer(make_pipeline(StandardScaler(), REFUSED[name]).fit(X, Y))


class OneAgainstTheRest(LogisticRegression):
    """Has all attributes of a softmax regression, but not its probabilities."""

    def predict_proba(self, X):
        odds = 1 / (1 + np.exp(-self.decision_function(X)))
        return odds / odds.sum(axis=1, keepdims=True)


def fitted_elsewhere(model, scale, offset):
    """The model as if it had been fitted on (X + offset) * scale."""
    model.fit(X, Y)
    model.intercept_ = model.intercept_ - offset * model.coef_.sum(axis=1)
    model.coef_ = model.coef_ / scale
    return model


@pytest.mark.parametrize("scale", [1e-5, 1.0, 1e5, [1e5, 1, 1, 1, 1e-5]], ids=str)
@pytest.mark.parametrize("offset", [0.0, 30.0, 1e4])
def test_the_same_class_fitted_one_against_the_rest_is_refused(scale, offset):
    """Whatever the scale and the middle of the features: where all logits are near 0, or far off, it looks the same."""
    samples = (X + offset) * scale
    with pytest.raises(NoLastLayerError, match="one class against the rest"):
        last_layer(fitted_elsewhere(OneAgainstTheRest(), scale, offset))
    model = fitted_elsewhere(LogisticRegression(), scale, offset)
    np.testing.assert_allclose(rebuilt(model, samples), model.predict_proba(samples), atol=1e-9)


class Multinomial(LogisticRegression):
    """Two classes as scikit-learn before 1.7 had them with multi_class="multinomial"."""

    def predict_proba(self, X):
        z = self.decision_function(X)
        return softmax(np.column_stack([-z, z]), axis=1)


def test_two_opposite_logits():
    model = Multinomial().fit(X, BINARY)
    np.testing.assert_allclose(rebuilt(model, X), model.predict_proba(X), atol=1e-12)


class Warmer(LogisticRegression):
    """Nearly a softmax regression."""

    def predict_proba(self, X):
        return softmax(self.decision_function(X) / 1.01, axis=1)


def test_nearly_is_not_enough():
    with pytest.raises(NoLastLayerError, match="not the softmax of its linear layer"):
        last_layer(Warmer().fit(X, Y))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_several_labels_per_sample_are_refused():
    with pytest.raises(TypeError, match="several labels per sample"):
        last_layer(small_mlp().fit(X, np.eye(3, dtype=int)[Y]))


def test_a_search_that_keeps_no_model():
    search = GridSearchCV(LogisticRegression(), {"C": [1.0]}, refit=False)
    with pytest.raises(NoLastLayerError, match="fit it with refit=True"):
        last_layer(search.fit(X, Y))
