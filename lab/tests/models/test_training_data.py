"""What was not trained is named."""

import pytest
from sklearn.exceptions import NotFittedError

from baserate.integrations import last_layer
from baserate_lab.models import LinearSGD, ResNet18, TransformerHead


@pytest.mark.parametrize("model", [LinearSGD(), ResNet18(), TransformerHead()], ids=lambda model: type(model).__name__)
def test_models_must_be_fitted(model):
    with pytest.raises(NotFittedError, match=f"{type(model).__name__} is not fitted yet; fit it on the training data"):
        last_layer(model)
