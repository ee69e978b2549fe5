"""Label requests of a classifier, and labels that were chosen with known probabilities."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from baserate import LabelShiftClassifier
from baserate.state import dumps


def mail(rng, n, spam):
    y = np.where(rng.random(n) < spam, "spam", "ham")
    return rng.normal(size=(n, 2)) + 1.5 * (y == "spam")[:, np.newaxis], y


@pytest.fixture
def fitted():
    rng = np.random.default_rng(0)
    model = LogisticRegression().fit(*mail(rng, 1000, 0.5))
    clf = LabelShiftClassifier(FrozenEstimator(model)).fit(*mail(rng, 1000, 0.5))
    for _ in range(40):
        clf.partial_fit(mail(rng, 20, 0.85)[0])
    return clf, mail(rng, 300, 0.85)


def test_requests_are_those_of_the_adapter(fitted):
    clf, (X, _) = fitted
    before = dumps(clf.adapter_)
    asked = clf.label_requests(X, 20, rng=1)
    own = clf.adapter_.label_requests(clf.estimator_.predict_proba(X), 20, rng=1)
    np.testing.assert_array_equal(asked.indices, own.indices)
    np.testing.assert_array_equal(asked.probabilities, own.probabilities)
    assert dumps(clf.adapter_) == before


def test_answers_come_at_once_or_later_with_their_probabilities(fitted, monkeypatch):
    clf, (X, y) = fitted
    asked = clf.label_requests(X, 20, rng=1)
    told = np.full(300, None)
    told[asked.indices] = y[asked.indices]
    chosen = np.full(300, np.nan)
    chosen[asked.indices] = asked.probabilities
    judged = []
    portfolio = clf.adapter_._correction.portfolio_

    def importance(self, labels, chosen):
        judged.append(None if chosen is None else chosen[labels >= 0])
        return np.empty(0)

    monkeypatch.setattr(type(portfolio), "_importance", importance)
    clf.partial_fit(X, told, y_probability=chosen)
    clf.partial_fit(X, ids=list(range(300)))
    assert clf.update_labels(asked.indices.tolist(), y[asked.indices], y_probability=asked.probabilities) == 20
    np.testing.assert_array_equal(judged[0], asked.probabilities)
    assert judged[1] is None
    np.testing.assert_array_equal(judged[2], asked.probabilities)


def test_the_first_call_takes_no_probabilities():
    rng = np.random.default_rng(0)
    X, y = mail(rng, 300, 0.5)
    clf = LabelShiftClassifier(LogisticRegression())
    with pytest.raises(ValueError, match="y_probability is for labels of the stream"):
        clf.partial_fit(X, y, y_probability=0.5)
    assert not hasattr(clf, "adapter_")


def test_an_unfitted_classifier_asks_for_nothing():
    with pytest.raises(ValueError, match="not fitted"):
        LabelShiftClassifier(LogisticRegression()).label_requests(np.zeros((3, 2)), 1)
