"""What was not trained is named."""

import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier

from baserate.integrations import last_layer

from .showing import Showing

UNFITTED = [
    LogisticRegression(), MLPClassifier(), Showing(), LinearDiscriminantAnalysis(),
    GridSearchCV(LogisticRegression(), {"C": [1.0]}),
]  # fmt: skip


@pytest.mark.parametrize("model", UNFITTED, ids=lambda model: type(model).__name__)
def test_models_must_be_fitted(model):
    with pytest.raises(NotFittedError, match=f"{type(model).__name__} is not fitted yet; fit it on the training data"):
        last_layer(model)
