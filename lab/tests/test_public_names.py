"""What the laboratory exports, and that its models show their last layer."""

import importlib

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.exceptions import NotFittedError

import baserate
import baserate_lab
from baserate.integrations import last_layer
from baserate_lab.models import LinearSGD, ResNet18, TransformerHead

FROZEN = {
    "baserate_lab.datasets": {
        "DataNotFoundError", "Dataset", "WrongDataError", "arxiv", "cifar10", "cinic10", "covertype", "crop", "digits",
        "elec2", "employment", "eurosat", "fashion", "hapt", "load", "mnist", "names", "newsgroups", "occupancy",
        "reuters", "shl", "spam_assassin", "synthetic", "weather",
    },
    "baserate_lab.models": {
        "RECIPES", "Features", "LinearSGD", "Outputs", "Recipe", "ResNet18", "TransformerHead", "features",
        "fit_in_epochs", "mlp", "outputs", "train",
    },
}  # fmt: skip


@pytest.mark.parametrize("module", FROZEN)
def test_exports_are_frozen(module):
    found = importlib.import_module(module)
    assert set(found.__all__) == FROZEN[module]
    assert all(getattr(found, name).__doc__ for name in found.__all__ if name != "RECIPES")


def test_it_is_of_the_version_of_the_product():
    assert baserate_lab.__version__ == baserate.__version__


def test_the_linear_model_shows_its_layer():
    X = np.random.default_rng(0).normal(size=(60, 4))
    model = LinearSGD(batch_size=20, rng=0).fit(X, np.arange(60) % 3)
    layer = last_layer(model)
    assert layer.features(X).dtype == np.float64
    np.testing.assert_allclose(
        softmax(layer.features(X) @ layer.coef.T + layer.intercept, axis=1), model.predict_proba(X)
    )


@pytest.mark.parametrize("model", [LinearSGD(), ResNet18(), TransformerHead()], ids=lambda model: type(model).__name__)
def test_models_must_be_fitted(model):
    with pytest.raises(NotFittedError, match=f"{type(model).__name__} is not fitted yet; fit it on the training data"):
        last_layer(model)
