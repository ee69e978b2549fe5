"""LabelShiftClassifier with a known class mix: nothing is tracked."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from baserate import LabelShiftClassifier, dumps, loads, reweight
from baserate.trackers import FollowTheHistory

from .mail import mail

pytestmark = pytest.mark.filterwarnings("ignore::baserate.trust.HoldoutWarning")

X, Y = mail(600, 0.5, 0)
HELD_X, HELD_Y = mail(600, 0.5, 1)
NOW_X, NOW_Y = mail(2000, 0.05, 2)
MODEL = LogisticRegression().fit(X, Y)
FROZEN = FrozenEstimator(MODEL)
TARGET = {"spam": 0.05, "ham": 0.95}


@pytest.mark.parametrize("target", [TARGET, [0.95, 0.05]], ids=str)
@pytest.mark.parametrize(
    "options", [{}, {"transductive": True, "tracker": FollowTheHistory(2)}, {"alpha": 0.5}], ids=str
)
def test_predictions_are_those_of_the_known_mix(target, options):
    clf = LabelShiftClassifier(FROZEN, target_prior=target, calibrator=None, **options).fit(HELD_X, HELD_Y)
    np.testing.assert_array_equal(clf.prior_, [0.95, 0.05])
    expected = reweight(MODEL.predict_proba(NOW_X), clf.source_prior_, 0.05)
    np.testing.assert_allclose(clf.predict_proba(NOW_X), expected, atol=1e-12)
    assert clf.score(NOW_X, NOW_Y) > MODEL.score(NOW_X, NOW_Y) + 0.03
    assert clf.correction_weight_ == 1.0


def test_nothing_is_tracked():
    clf = LabelShiftClassifier(FROZEN, target_prior=TARGET)
    with pytest.raises(ValueError, match=r"target_prior is given: .* nothing is tracked"):
        clf.partial_fit(HELD_X, HELD_Y)
    clf.fit(HELD_X, HELD_Y)
    before = dumps(clf)
    with pytest.raises(ValueError, match=r"set_params\(target_prior=None\), then fit"):
        clf.partial_fit(NOW_X)
    with pytest.raises(ValueError, match="nothing is tracked"):
        clf.update_labels([1], ["spam"])
    assert dumps(clf) == before
    clf.set_params(target_prior=None).fit(HELD_X, HELD_Y).partial_fit(NOW_X)
    assert 0.0 < clf.prior_[1] < 0.4
    assert clf.prior_[1] != 0.05


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({"spam": 1.0}, "target_prior leaves out 'ham'; give each of the classes 'ham', 'spam'"),
        ({"spam": 0.5, "ham": 0.4, "eggs": 0.1}, "target_prior names 'eggs', which is no class"),
        ([0.5, 0.6], "target_prior row 0 sums to"),
        ([0.5, 0.3, 0.2], "target_prior has 3 columns"),
        (2.0, "target_prior is one number"),
        (0.01, "none is clearly the positive one; say which share is whose: target_prior={'ham': ..., 'spam': ...}"),
    ],
)
def test_other_targets_are_refused(target, message):
    clf = LabelShiftClassifier(FROZEN, target_prior=target)
    with pytest.raises(ValueError, match=message):
        clf.fit(HELD_X, HELD_Y)
    assert not hasattr(clf, "adapter_")


@pytest.mark.parametrize("labels", [["ham", "spam"], [3, 7]], ids=str)
def test_it_is_cloned_and_saved(labels):
    y, target = np.where(HELD_Y == "spam", *labels[::-1]), dict(zip(labels, [0.95, 0.05], strict=True))
    clf = LabelShiftClassifier(RandomForestClassifier(10, random_state=0), target_prior=target)
    clf = clone(clf).fit(HELD_X, y)
    again = loads(dumps(clf), estimator=clf.estimator_)
    np.testing.assert_array_equal(again.predict_proba(NOW_X), clf.predict_proba(NOW_X))
    with pytest.raises(ValueError, match="nothing is tracked"):
        again.partial_fit(NOW_X)
    assert again.fit(HELD_X, y).prior_.tolist() == [0.95, 0.05]


def test_a_series_is_read_by_its_index():
    clf = LabelShiftClassifier(FROZEN, target_prior=pd.Series({"spam": 0.05, "ham": 0.95}), calibrator=None)
    np.testing.assert_allclose(clf.fit(HELD_X, HELD_Y).prior_, [0.95, 0.05])
