"""Threads that share a LabelShiftClassifier."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from baserate import LabelShiftClassifier, dumps, loads

from .mail import mail

pytestmark = pytest.mark.filterwarnings("ignore::baserate.trust.HoldoutWarning")


def test_no_batch_is_lost():
    model = LogisticRegression().fit(*mail(600, 0.3, 0))
    clf = LabelShiftClassifier(FrozenEstimator(model)).fit(*mail(600, 0.3, 1))
    batch, y = mail(10, 0.8, 2)

    def work(i):
        ids = [f"{i}-{j}" for j in range(10)]
        clf.partial_fit(batch, np.where(np.arange(10) < i % 3, y, None), ids=ids)
        clf.update_labels(ids[5:], y[5:])
        return clf.predict_proba(batch).shape, loads(dumps(clf), estimator=model).waiting_ >= 0

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(work, range(200))) == {((10, 2), True)}
    assert clf.adapter_.rounds_ == 200
    assert clf.waiting_ == sum(5 - i % 3 for i in range(200))
