"""LabelShiftClassifier around models of every kind, and inside of scikit-learn's own tools."""

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from baserate import LabelShiftClassifier, RegressAndReweight

from .mail import mail, shifted

pytestmark = pytest.mark.filterwarnings("ignore::baserate.trust.HoldoutWarning")

X, Y = mail(1500, 0.3, 0)
HELD_X, HELD_Y = mail(1500, 0.3, 1)
LATER_X, LATER_Y = mail(2000, 0.9, 2)
NUMBERS = (Y == "spam").astype(int)
FRAME = pd.DataFrame(X, columns=list("abcd"))


class Foreign(ClassifierMixin, BaseEstimator):
    """A model of another library: float32, classes in an order of its own, and nothing but what is needed."""

    def __init__(self, order=("spam", "ham")):
        self.order = order

    def fit(self, X, y):
        self.inner_ = LogisticRegression().fit(X, y)
        self.classes_ = np.array(self.order)
        return self

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)[:, ::-1].astype(np.float32)


MODELS = {
    "logistic": LogisticRegression(),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "bayes": GaussianNB(),
    "forest": RandomForestClassifier(50, min_samples_leaf=5, random_state=0),
    "calibrated": CalibratedClassifierCV(LinearSVC()),
    "search": GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3),
    "xgboost": xgboost.XGBClassifier(n_estimators=30, max_depth=3, n_jobs=1),
    "lightgbm": lightgbm.LGBMClassifier(n_estimators=30, num_leaves=8, n_jobs=1, verbose=-1),
    "foreign": Foreign(),
}


def targets(name, y):
    """XGBoost takes nothing but 0, 1, ...; the others are shown text."""
    return (y == "spam").astype(int) if name == "xgboost" else y


@pytest.mark.parametrize("frozen", [True, False], ids=["frozen", "trained"])
@pytest.mark.parametrize("name", MODELS)
def test_every_model_gets_better(name, frozen):
    plain = clone(MODELS[name]).fit(X, targets(name, Y))
    if frozen:
        clf = LabelShiftClassifier(FrozenEstimator(plain)).fit(HELD_X, targets(name, HELD_Y))
    else:
        clf = LabelShiftClassifier(MODELS[name], cv=3).fit(X, targets(name, Y))
    shifted(clf, spam=0.9)
    assert list(clf.classes_) == list(plain.classes_)
    spam = list(clf.classes_).index(targets(name, np.array(["spam"]))[0])
    assert clf.prior_[spam] > 0.75
    before = np.mean(np.asarray(plain.classes_)[plain.predict_proba(LATER_X).argmax(axis=1)] == targets(name, LATER_Y))
    assert clf.score(LATER_X, targets(name, LATER_Y)) > before + 0.05
    proba = clf.predict_proba(LATER_X)
    assert proba.dtype == np.float64
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-9)


def test_classes_in_an_order_of_their_own():
    foreign, plain = Foreign().fit(X, Y), LogisticRegression().fit(X, Y)
    ours, theirs = (shifted(LabelShiftClassifier(FrozenEstimator(m)).fit(HELD_X, HELD_Y)) for m in (foreign, plain))
    np.testing.assert_allclose(ours.prior_, theirs.prior_[::-1], atol=1e-3)  # float32
    np.testing.assert_array_equal(ours.predict(LATER_X), theirs.predict(LATER_X))


def test_float32_is_float64_rounded():
    class Single(LogisticRegression):
        def predict_proba(self, X):
            return super().predict_proba(X).astype(np.float32)

    ours = LabelShiftClassifier(Single()).fit(X, Y)
    rounded = np.asarray(LogisticRegression().fit(X, Y).predict_proba(LATER_X).astype(np.float32), dtype=float)
    np.testing.assert_array_equal(ours.predict_proba(LATER_X), ours.adapter_.predict_proba(rounded))


@pytest.mark.parametrize(
    "labels",
    [np.array([10, 5]), np.array([-1, 1]), np.array([False, True]), np.array([2.0, 1.0]), np.array(["b", "a"], object)],
    ids=["numbers", "minus one", "truth", "floats", "objects"],
)
def test_labels_of_every_kind(labels):
    y, held = labels[NUMBERS], labels[(HELD_Y == "spam").astype(int)]
    clf = LabelShiftClassifier(FrozenEstimator(LogisticRegression().fit(X, y))).fit(HELD_X, held)
    reference = LabelShiftClassifier(FrozenEstimator(LogisticRegression().fit(X, Y))).fit(HELD_X, HELD_Y)
    rows = LATER_X[:500]
    some = np.arange(500) % 5 == 0
    told = [labels[int(s == "spam")] if known else None for s, known in zip(LATER_Y[:500], some, strict=True)]
    clf.partial_fit(rows, told)
    reference.partial_fit(rows, np.where(some, LATER_Y[:500], None))
    spam = list(clf.classes_).index(labels[1])
    assert clf.prior_[spam] == pytest.approx(reference.prior_[1], abs=1e-6)
    assert set(clf.predict(LATER_X).tolist()) == set(labels.tolist())


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, sparse.csr_array, sparse.coo_matrix, list], ids=str)
def test_samples_of_every_kind(kind):
    def made(rows):
        if kind in (pd.DataFrame, pl.DataFrame):
            return kind({name: rows[:, i] for i, name in enumerate("abcd")})
        return rows.tolist() if kind is list else kind(rows)

    expected = LabelShiftClassifier(LogisticRegression()).fit(X, Y).partial_fit(LATER_X).predict_proba(HELD_X)
    clf = LabelShiftClassifier(LogisticRegression()).fit(made(X), Y)
    np.testing.assert_allclose(clf.partial_fit(made(LATER_X)).predict_proba(made(HELD_X)), expected, atol=1e-6)
    some = np.where(np.arange(1500) % 2 == 0, Y, None)
    begun = LabelShiftClassifier(LogisticRegression()).partial_fit(made(X), some)
    assert begun.adapter_.rounds_ == 1
    assert clf.n_features_in_ == 4
    if kind in (pd.DataFrame, pl.DataFrame):
        assert list(clf.feature_names_in_) == list("abcd")
        with pytest.raises(ValueError, match="feature names"):
            clf.partial_fit(made(X)[list("dcba")])
    else:
        assert not hasattr(clf, "feature_names_in_")


def test_labels_out_of_frames():
    index = np.random.default_rng(0).permutation(len(Y)) + 7
    expected = LabelShiftClassifier(LogisticRegression()).fit(X, Y).predict_proba(HELD_X)
    for y in (pd.Series(Y, index=index), pd.Series(Y, index=index).astype("category"), pl.Series(Y), Y.tolist()):
        clf = LabelShiftClassifier(LogisticRegression()).fit(X, y)
        np.testing.assert_array_equal(clf.predict_proba(HELD_X), expected)


def test_columns_of_text_and_numbers():
    frame = FRAME.assign(a=np.where(X[:, 0] > 0.7, "much", "little"))
    columns = make_column_transformer((OneHotEncoder(), ["a"]), (StandardScaler(), ["b", "c", "d"]))
    clf = LabelShiftClassifier(make_pipeline(columns, LogisticRegression())).fit(frame, Y)
    assert clf.partial_fit(frame.iloc[:50]).predict(frame.iloc[:3]).shape == (3,)


def test_texts():
    words = {"ham": "dear meeting monday report thanks", "spam": "win money now free monday"}
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words[label].split(), size=4)) for label in Y]
    clf = LabelShiftClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression())).fit(texts, Y)
    assert clf.partial_fit(texts[:100]).predict(["win free money", "dear report"]).tolist() == ["spam", "ham"]


def test_searches_over_the_inner_estimator():
    # Not how sure a model is, which calibration corrects, but how well it tells the classes apart.
    model = LabelShiftClassifier(KNeighborsClassifier(), cv=3)
    search = GridSearchCV(model, {"estimator__n_neighbors": [1, 50]}, cv=3)
    search.fit(X, Y)
    assert search.best_params_ == {"estimator__n_neighbors": 50}
    assert search.best_estimator_.estimator_.n_neighbors == 50
    assert is_classifier(search.best_estimator_)


def test_scores_by_cross_validation_and_in_a_pipeline():
    clf = LabelShiftClassifier(LogisticRegression(), cv=3)
    assert cross_val_score(clf, X, Y, cv=3).mean() == pytest.approx(
        LogisticRegression().fit(X, Y).score(HELD_X, HELD_Y), abs=0.05
    )
    pipe = make_pipeline(StandardScaler(), clf).fit(X, Y)
    assert pipe.predict_proba(HELD_X).shape == (1500, 2)


def test_in_parallel():
    one, two = (LabelShiftClassifier(LogisticRegression(), n_jobs=n).fit(X, Y) for n in (1, 2))
    np.testing.assert_array_equal(one.predict_proba(HELD_X), two.predict_proba(HELD_X))


def test_a_model_that_knows_nothing_of_scikit_learn():
    class Bare:
        classes_ = np.array(["spam", "ham"])

        def fit(self, X, y):
            raise AssertionError("a frozen model is not trained")

        def predict_proba(self, X):
            return MODELS["logistic"].__class__().fit(HELD_X, HELD_Y).predict_proba(X)[:, ::-1]

    clf = LabelShiftClassifier(FrozenEstimator(Bare())).fit(X, Y)
    assert shifted(clf, spam=0.9).prior_[0] > 0.75
    assert is_classifier(clf)
    assert not hasattr(clf, "n_features_in_")
    nameless = Bare()
    nameless.classes_ = None
    with pytest.raises(TypeError, match="Bare has no classes_"):
        LabelShiftClassifier(FrozenEstimator(nameless)).fit(X, Y)


def test_the_adapter_can_be_had_as_it_is():
    clf = LabelShiftClassifier(LogisticRegression()).fit(X, Y)
    assert isinstance(clf.adapter_, RegressAndReweight)
    shifted(clf)
    clf.adapter_.enabled = False
    np.testing.assert_array_equal(clf.predict_proba(HELD_X), clf.estimator_.predict_proba(HELD_X))
