"""A saved LabelShiftClassifier goes on bit for bit when it is handed its model again."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from baserate import LabelShiftClassifier, load, save
from baserate.learners._examples import ClassMeans
from baserate.state import dumps, loads

from .mail import mail, shifted

pytestmark = pytest.mark.filterwarnings("ignore::baserate.trust.HoldoutWarning")

X, Y = mail(600, 0.3, 0)
HELD_X, HELD_Y = mail(600, 0.3, 1)
LATER_X, _ = mail(300, 0.8, 2)
MODEL = RandomForestClassifier(10, random_state=0).fit(X, Y)


def running(frozen):
    estimator = FrozenEstimator(MODEL) if frozen else RandomForestClassifier(10, random_state=0)
    clf = shifted(LabelShiftClassifier(estimator, max_waiting=50).fit(HELD_X, HELD_Y), rounds=7)
    return clf.partial_fit(LATER_X[:20], ids=list(range(20)))


def go_on(clf):
    clf.update_labels(range(5), ["spam"] * 5)
    shifted(clf, rounds=5, seed=900)
    return clf.predict_proba(LATER_X)


@pytest.mark.parametrize("frozen", [True, False], ids=["frozen", "trained"])
def test_resumed_is_uninterrupted(frozen, tmp_path):
    clf = running(frozen)
    save(clf, tmp_path / "clf")
    resumed = load(tmp_path / "clf", estimator=clf.estimator_)
    assert dumps(resumed) == dumps(clf)
    assert resumed.estimator_ is clf.estimator_
    assert go_on(resumed).tobytes() == go_on(clf).tobytes()
    # Fitting again does what it would have done.
    again, expected = (one.fit(HELD_X[::-1], HELD_Y[::-1]) for one in (resumed, clf))
    assert dumps(again) == dumps(expected)
    assert isinstance(resumed.estimator, FrozenEstimator) == frozen


@pytest.mark.parametrize("frozen", [True, False], ids=["frozen", "trained"])
def test_resumed_in_another_process_with_the_model_out_of_a_pickle(frozen, tmp_path):
    clf = running(frozen)
    save(clf, tmp_path / "clf")
    (tmp_path / "model").write_bytes(pickle.dumps(clf.estimator_))
    np.save(tmp_path / "later.npy", LATER_X)
    script = (
        "import pickle, sys, pathlib, numpy as np, baserate\n"
        "here = pathlib.Path(sys.argv[1])\n"
        "clf = baserate.load(here / 'clf', estimator=pickle.loads((here / 'model').read_bytes()))\n"
        "later = np.load(here / 'later.npy')\n"
        "clf.update_labels(range(5), ['spam'] * 5)\n"
        "np.save(here / 'out.npy', clf.partial_fit(later).predict_proba(later))\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
    clf.update_labels(range(5), ["spam"] * 5)
    assert np.load(tmp_path / "out.npy").tobytes() == clf.partial_fit(LATER_X).predict_proba(LATER_X).tobytes()


def test_the_model_is_not_in_the_file(tmp_path):
    large = RandomForestClassifier(100, random_state=0).fit(X, Y)
    clf = LabelShiftClassifier(FrozenEstimator(large)).fit(HELD_X, HELD_Y)
    assert len(dumps(clf)) < 0.3 * len(pickle.dumps(large))
    clf = running(frozen=True)
    save(clf, tmp_path / "clf")
    with pytest.raises(ValueError, match=r"saved without its model, a sklearn.*RandomForestClassifier; hand it over"):
        load(tmp_path / "clf")
    other = RandomForestClassifier(10, random_state=1).fit(X, Y)
    with pytest.raises(ValueError, match="another model"):
        load(tmp_path / "clf", estimator=other)
    assert load(tmp_path / "clf", estimator=FrozenEstimator(MODEL)).estimator_ is MODEL


@pytest.mark.parametrize("estimator", [LogisticRegression(C=2.0), FrozenEstimator(MODEL)], ids=["trained", "frozen"])
def test_before_it_is_fitted(estimator):
    clf = LabelShiftClassifier(estimator, alpha=0.1, cv=3)
    loaded = loads(dumps(clf), estimator=estimator)
    assert repr(loaded) == repr(clf)
    assert dumps(loaded.fit(HELD_X, HELD_Y)) == dumps(clone(clf).fit(HELD_X, HELD_Y))


def test_labels_that_are_objects():
    y = Y.astype(object)
    model = LogisticRegression().fit(X, y)
    clf = LabelShiftClassifier(FrozenEstimator(model)).fit(HELD_X, HELD_Y.astype(object))
    assert loads(dumps(clf), estimator=model).predict(LATER_X).tolist() == clf.predict(LATER_X).tolist()


def test_a_model_that_can_be_saved_itself_is_in_the_file():
    y = (Y == "spam").astype(int)
    clf = LabelShiftClassifier(FrozenEstimator(ClassMeans().fit(X, y)))
    clf.fit(HELD_X, (HELD_Y == "spam").astype(int))
    loaded = loads(dumps(clf))
    np.testing.assert_array_equal(loaded.predict_proba(LATER_X), clf.predict_proba(LATER_X))


def test_a_splitter_is_not_saved():
    clf = LabelShiftClassifier(LogisticRegression(), cv=KFold(3)).fit(X, Y)
    with pytest.raises(TypeError, match=r"cv = KFold.*set_params\(cv=5\)"):
        dumps(clf)
    dumps(clf.set_params(cv=5))


def test_pickle_works_as_well():
    clf = running(frozen=False)
    assert go_on(pickle.loads(pickle.dumps(clf))).tobytes() == go_on(clf).tobytes()
