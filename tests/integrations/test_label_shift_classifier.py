"""LabelShiftClassifier by itself: what fit learns, what a stream does to it, labels, and what it refuses."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold, TimeSeriesSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from baserate import LabelShiftClassifier, RegressAndReweight
from baserate.adapters import ROGD
from baserate.datasets import digits
from baserate.marginals import BBSE
from baserate.shifts import Monotone, sample_stream
from baserate.state import dumps
from baserate.state.declarations import Saved, SavedPart
from baserate.trackers import FollowTheHistory

from .mail import mail, shifted

# How large a holdout should be is not what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore::baserate.trust.HoldoutWarning")

X, Y = mail(600, 0.3, 0)
HELD_X, HELD_Y = mail(600, 0.3, 1)
MODEL = LogisticRegression().fit(X, Y)
FROZEN = FrozenEstimator(MODEL)


@pytest.fixture(scope="module")
def fitted():
    return LabelShiftClassifier(FROZEN).fit(HELD_X, HELD_Y)


@pytest.fixture
def clf(fitted):
    return clone(fitted).fit(HELD_X, HELD_Y)


def test_a_frozen_model_with_its_holdout_is_the_adapter_on_its_probabilities(clf):
    adapter = RegressAndReweight().fit(MODEL.predict_proba(HELD_X), (HELD_Y == "spam").astype(int))
    rng = np.random.default_rng(5)
    for i in range(20):
        batch, y = mail(25, 0.8, 100 + i)
        known = rng.random(25) < 0.1
        np.testing.assert_array_equal(clf.predict_proba(batch), adapter.predict_proba(MODEL.predict_proba(batch)))
        clf.partial_fit(batch, np.where(known, y, None))
        adapter.update(MODEL.predict_proba(batch), np.where(known, y == "spam", -1))
    np.testing.assert_array_equal(clf.prior_, adapter.prior_)
    np.testing.assert_array_equal(clf.log_offsets(), adapter.log_offsets())
    assert clf.estimator_ is MODEL
    assert clf.classes_.tolist() == ["ham", "spam"]


def test_it_follows_the_mix_and_predicts_better(clf):
    later_X, later_y = mail(2000, 0.9, 7)
    before = MODEL.score(later_X, later_y)
    shifted(clf, spam=0.9)
    assert 0.7 < clf.prior_[1] < 0.95  # from a holdout this small it is not believed that it is 0.9
    assert clf.score(later_X, later_y) > before + 0.05
    assert set(clf.predict(later_X)) == {"ham", "spam"}


def test_the_error_falls_on_a_real_stream():
    """Digits of which eights become nearly all, by features: half of what was wrong is right."""
    data = digits.load()
    model = LogisticRegression(C=30, max_iter=1000).fit(data.source_X[:300], data.source_y[:300])
    clf = LabelShiftClassifier(FrozenEstimator(model)).fit(data.source_X[300:], data.source_y[300:])
    drift = Monotone(second=np.eye(10)[8])
    proba = model.predict_proba(data.target_X)
    stream = sample_stream(proba, data.target_y, drift, n_rounds=300, rng=0, features=data.target_X)
    wrong = doing_nothing = 0
    for batch in stream:
        wrong += (clf.predict(batch.features) != batch.y).sum()
        doing_nothing += (model.predict(batch.features) != batch.y).sum()
        clf.partial_fit(batch.features)
    assert wrong < 0.6 * doing_nothing


def test_cross_fitting_is_honest():
    """A model that learns by heart is right about all it was trained on; the holdout must not believe it."""
    noise, y = np.random.default_rng(0).normal(size=(300, 4)), np.array([0, 1, 2] * 100)
    noise[:, 0] += 2.0 * y
    forest = RandomForestClassifier(20, random_state=0)
    clf = LabelShiftClassifier(forest, marginals=BBSE(), calibrator=None, gate=False).fit(noise, y)
    expected = cross_val_predict(forest, noise, y, cv=5, method="predict_proba")
    same = RegressAndReweight(marginals=BBSE(), calibrator=None, gate=False).fit(expected, y)
    np.testing.assert_allclose(clf.adapter_.marginals_.confusion_, same.marginals_.confusion_, rtol=1e-12)
    np.testing.assert_array_equal(clf.estimator_.predict(noise), clone(forest).fit(noise, y).predict(noise))
    assert not hasattr(forest, "classes_")  # what was given is left alone


def test_a_fitted_model_that_is_not_frozen_is_said_to_be_trained_anew():
    with pytest.warns(UserWarning, match=r"LogisticRegression is fitted already.*FrozenEstimator\(model\)") as caught:
        clf = LabelShiftClassifier(MODEL).fit(HELD_X, HELD_Y)
    assert caught[0].filename == __file__
    assert clf.estimator_ is not MODEL
    np.testing.assert_array_equal(clf.estimator_.coef_, LogisticRegression().fit(HELD_X, HELD_Y).coef_)


def test_class_weights_by_label_work():
    """scikit-learn's own cross_val_predict would show the estimator numbers, and fail."""
    clf = LabelShiftClassifier(LogisticRegression(class_weight={"spam": 5.0, "ham": 1.0})).fit(X, Y)
    assert clf.estimator_.predict_proba(X)[:, 1].mean() > 0.4
    assert clf.predict_proba(X)[:, 1].mean() == pytest.approx(0.3, abs=0.05)  # calibrated: the weights are taken out


@pytest.mark.filterwarnings("ignore:the confusion matrix is nearly singular")
def test_small_classes():
    many = np.r_[X, X[:2] + 9.0, X[2:5] - 9.0]
    y = np.r_[Y, ["a"] * 2, ["b"] * 3]
    clf = LabelShiftClassifier(GaussianNB()).fit(many, y)
    assert clf.classes_.tolist() == ["a", "b", "ham", "spam"]
    with pytest.raises(ValueError, match="only one sample of 'a'"):
        clf.fit(many[1:], np.r_[Y, ["a"] * 1, ["b"] * 3, ["b"]][: len(many) - 1])
    with pytest.raises(ValueError, match="one class"):
        clf.fit(X, ["ham"] * len(X))


def test_folds_of_ones_own():
    by_number = LabelShiftClassifier(MODEL.__class__(), cv=4).fit(X, Y)
    by_splitter = LabelShiftClassifier(MODEL.__class__(), cv=StratifiedKFold(4)).fit(X, Y)
    np.testing.assert_array_equal(by_number.predict_proba(X), by_splitter.predict_proba(X))
    in_time = LabelShiftClassifier(MODEL.__class__(), cv=TimeSeriesSplit(5)).fit(X, Y)
    assert in_time.source_prior_[1] == pytest.approx((Y[100:] == "spam").mean(), abs=0.03)  # the first part is no test
    ordered = np.argsort(Y)
    with pytest.raises(ValueError, match="cv leaves no sample of 'spam'"):
        LabelShiftClassifier(LogisticRegression(), cv=[(np.arange(300), np.arange(300, 600))]).fit(
            X[ordered], Y[ordered]
        )
    twice = list(KFold(3).split(X)) * 2
    with pytest.raises(ValueError, match="more than once"):
        LabelShiftClassifier(LogisticRegression(), cv=twice).fit(X, Y)
    with pytest.raises(ValueError, match="cv is 1"):
        LabelShiftClassifier(LogisticRegression(), cv=1).fit(X, Y)


def test_predicting_changes_nothing(clf):
    shifted(clf, rounds=3)
    before = dumps(clf)
    clf.predict_proba(HELD_X)
    clf.predict(HELD_X)
    clf.score(HELD_X, HELD_Y)
    clf.prior_interval()
    clf.estimated_accuracy()
    assert dumps(clf) == before


def test_the_first_partial_fit_fits(clf):
    begun = LabelShiftClassifier(FROZEN).partial_fit(HELD_X, HELD_Y, classes=["spam", "ham"])
    assert dumps(begun) == dumps(clf)
    unlabelled = np.arange(600) % 3 == 0
    begun = LabelShiftClassifier(FROZEN).partial_fit(HELD_X, np.where(unlabelled, None, HELD_Y))
    by_hand = LabelShiftClassifier(FROZEN).fit(HELD_X[~unlabelled], HELD_Y[~unlabelled])
    by_hand.partial_fit(HELD_X[unlabelled])
    assert dumps(begun) == dumps(by_hand)


def test_the_first_partial_fit_needs_labels():
    for y in (None, [None] * 600):
        unfitted = LabelShiftClassifier(FROZEN)
        with pytest.raises(ValueError, match="y"):
            unfitted.partial_fit(HELD_X, y)
        with pytest.raises(NotFittedError):
            unfitted.predict(HELD_X)


@pytest.mark.filterwarnings("ignore:the confusion matrix is nearly singular")
@pytest.mark.parametrize("frozen", [True, False], ids=["frozen", "trained"])
def test_minus_one_in_a_first_call(frozen):
    numbers = (HELD_Y == "spam").astype(int)
    some = np.where(np.arange(600) % 4 == 0, -1, numbers)
    estimator = FrozenEstimator(LogisticRegression().fit(HELD_X, numbers)) if frozen else LogisticRegression()
    begun = LabelShiftClassifier(estimator).partial_fit(HELD_X, some, classes=None if frozen else [0, 1])
    assert begun.classes_.tolist() == [0, 1]
    assert begun.source_prior_[1] == pytest.approx(numbers[some >= 0].mean(), abs=0.01)
    assert begun.adapter_.rounds_ == 1
    if frozen:
        with pytest.raises(ValueError, match="y holds -1 at sample 0"):
            LabelShiftClassifier(estimator).fit(HELD_X, some)
    else:
        assert LabelShiftClassifier(estimator).fit(HELD_X, some).classes_.tolist() == [-1, 0, 1]


@pytest.mark.parametrize("estimator", [FROZEN, LogisticRegression()], ids=["frozen", "trained"])
def test_classes_that_the_holdout_lacks(estimator):
    with pytest.raises(ValueError, match="classes names 'virus', of which there was no sample"):
        LabelShiftClassifier(estimator).partial_fit(HELD_X, HELD_Y, classes=["ham", "spam", "virus"])
    with pytest.raises(ValueError, match=r"classes leaves out 'spam'|'spam', which is none of the classes 'ham'"):
        LabelShiftClassifier(estimator).partial_fit(HELD_X, HELD_Y, classes=["ham"])


def test_a_holdout_without_a_class_of_the_model():
    three = np.where((HELD_Y == "ham") & (HELD_X[:, 2] > 1), "virus", HELD_Y)
    model = LogisticRegression().fit(HELD_X, three)
    with pytest.raises(ValueError, match="no sample of 'virus', and the model knows it"):
        LabelShiftClassifier(FrozenEstimator(model)).fit(X, Y)
    with pytest.raises(ValueError, match="holds 'virus', which is none of the classes 'ham', 'spam'"):
        LabelShiftClassifier(FROZEN).fit(HELD_X, three)


def test_a_refused_batch_changes_nothing(clf):
    shifted(clf, rounds=2)
    before = dumps(clf)
    batch, y = mail(25, 0.5, 9)
    for bad in (
        lambda: clf.partial_fit(batch[:, :3]),
        lambda: clf.partial_fit(batch, y[:-1]),
        lambda: clf.partial_fit(batch, np.where(y == "spam", "eggs", y)),
        lambda: clf.partial_fit(batch, y, classes=["ham", "eggs"]),
        lambda: clf.partial_fit(np.full((3, 4), np.nan)),
        lambda: clf.partial_fit(batch, ids=["a"] * 25),
        lambda: clf.fit(HELD_X, np.where(HELD_Y == "spam", "eggs", HELD_Y)),
        lambda: clf.fit(HELD_X, [None, *HELD_Y[1:]]),
        lambda: clf.fit(HELD_X, ["ham"] * 600),
        lambda: clf.fit(HELD_X, HELD_Y[:-1]),
        lambda: clf.update_labels(["a"], ["eggs"]),
    ):
        with pytest.raises(ValueError, match=r"."):
            bad()
        assert dumps(clf) == before


def test_late_labels(clf):
    batch, y = mail(25, 0.8, 9)
    names = [f"m{i}" for i in range(25)]
    clf.partial_fit(batch, ids=names)
    guessed = clf.prior_
    assert clf.waiting_ == 25
    assert clf.update_labels([*names, "late"], [*y, "spam"]) == 25
    assert (clf.waiting_, clf.missed_labels_) == (0, 1)
    adapter = RegressAndReweight().fit(MODEL.predict_proba(HELD_X), HELD_Y == "spam")
    adapter.update(MODEL.predict_proba(batch), ids=names)
    adapter.update_labels(names, y == "spam")
    np.testing.assert_array_equal(clf.prior_, adapter.prior_)
    assert np.abs(clf.prior_ - guessed).max() > 1e-3


def test_an_empty_batch_is_a_round_without_evidence(clf):
    shifted(clf, rounds=2)
    before = clf.prior_
    clf.partial_fit(np.empty((0, 4)))
    np.testing.assert_array_equal(clf.prior_, before)
    assert clf.adapter_.rounds_ == 3
    assert clf.predict_proba(np.empty((0, 4))).shape == (0, 2)


def test_what_it_says_about_itself_is_what_the_adapter_says(clf):
    shifted(clf, rounds=20)
    adapter = clf.adapter_
    for name in (
        "prior_", "source_prior_", "assumption_evidence_", "assumption_alarm_", "assumption_findings_",
        "correction_weight_", "fallback_active_", "fallback_reason_", "fallback_since_", "unknown_mass_", "waiting_",
        "missed_labels_",
    ):  # fmt: skip
        assert repr(getattr(clf, name)) == repr(getattr(adapter, name)), name
        assert getattr(type(clf), name).__doc__ or name in ("source_prior_", "missed_labels_"), name
        with pytest.raises(NotFittedError):
            getattr(clone(clf), name)
    np.testing.assert_array_equal(clf.prior_interval(0.8), adapter.prior_interval(0.8))
    assert clf.estimated_accuracy(0.8) == adapter.estimated_accuracy(0.8)
    low, high = clf.prior_interval()[1]
    assert low < 0.8 < high


def test_parameters_reach_the_adapter():
    given = {
        "tracker": FollowTheHistory(2), "calibrator": None, "transductive": True, "floor": 0.01,
        "bounds": (0.0, 0.9), "source_prior": [0.6, 0.4], "max_waiting": 7, "gate": False, "alpha": 0.2,
    }  # fmt: skip
    adapter = LabelShiftClassifier(FROZEN, **given).fit(HELD_X, HELD_Y).adapter_
    for name, value in given.items():
        assert getattr(adapter, name) is value, name


def test_models_without_probabilities():
    for bad in (Perceptron(), LinearSVC(), LogisticRegression, None, make_pipeline(StandardScaler(), LinearSVC())):
        with pytest.raises(TypeError, match="estimator is"):
            LabelShiftClassifier(bad).fit(X, Y)
    LabelShiftClassifier(CalibratedClassifierCV(LinearSVC())).fit(X, Y)
    with pytest.raises(NotFittedError, match="never fitted"):
        LabelShiftClassifier(FrozenEstimator(LogisticRegression())).fit(X, Y)


def test_metadata_is_routed():
    fits = []

    class Noting(DummyClassifier):
        def fit(self, X, y, sample_weight=None):
            fits.append((X[:, 0].copy(), sample_weight))
            return super().fit(X, y)

        def predict_proba(self, X):
            return MODEL.predict_proba(X)

    weights = X[:, 0] + 1.0
    with pytest.raises(ValueError, match=r"fit got sample_weight.*enable_metadata_routing"):
        LabelShiftClassifier(Noting()).fit(X, Y, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        LabelShiftClassifier(Noting().set_fit_request(sample_weight=True)).fit(X, Y, sample_weight=weights)
        assert len(fits) == 6
        for first, weight in fits:
            np.testing.assert_array_equal(weight, first + 1.0)
        fits.clear()
        search = GridSearchCV(
            LabelShiftClassifier(Noting().set_fit_request(sample_weight="w"), cv=2),
            {"estimator__strategy": ["prior"]},
            cv=2,
        )
        search.fit(X, Y, w=weights)
        assert len(fits) == 9
        assert all((weight == first + 1.0).all() for first, weight in fits)
        with pytest.raises(ValueError, match="fit got sample_weight, but the estimator is frozen"):
            LabelShiftClassifier(FROZEN).fit(X, Y, sample_weight=weights)
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            LabelShiftClassifier(LogisticRegression()).fit(X, Y, sample_weight=weights)


def test_groups_reach_the_splitter():
    with sklearn.config_context(enable_metadata_routing=True):
        splitter = GroupKFold(3)
        LabelShiftClassifier(LogisticRegression(), cv=splitter).fit(X, Y, groups=np.arange(600) % 7)


def test_a_file_with_an_adapter_in_the_place_of_the_model_is_refused():
    rogd = ROGD().fit([[0.9, 0.1], [0.2, 0.8]], [0, 1])
    part = SavedPart(ROGD, rogd.get_params(deep=False), rogd.get_state())
    saved = Saved({"estimator": part}, {"adapter_": None}, {"k": 2})
    assert "does not say its classes" in LabelShiftClassifier.saves.check(saved)
    named = SavedPart(ROGD, part.params, {**part.state, "classes_": np.array([0, 1])})
    assert LabelShiftClassifier.saves.check(saved._replace(params={"estimator": named})) == ""
