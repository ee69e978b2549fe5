"""A model that shows its last layer."""

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression


class Showing(BaseEstimator, ClassifierMixin):
    """A model of no known library, which shows its features and its last layer."""

    def fit(self, X, y):
        inner = LogisticRegression().fit(self.features(X), y)
        self.classes_ = inner.classes_
        self.coef_, self.intercept_ = (
            (inner.coef_, inner.intercept_)
            if len(self.classes_) > 2
            else (np.vstack([0 * inner.coef_, inner.coef_]), np.append(0.0, inner.intercept_))
        )
        return self

    def features(self, X):
        return np.tanh(np.asarray(X, dtype=np.float64))

    def predict_proba(self, X):
        return softmax(self.features(X) @ self.coef_.T + self.intercept_, axis=1)
