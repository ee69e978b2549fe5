"""What the laboratory exports, and of which version it is."""

import importlib

import pytest

import baserate
import baserate_lab

FROZEN = {
    "baserate_lab.datasets": {
        "DataNotFoundError", "Dataset", "WrongDataError", "arxiv", "arxiv_titles", "cifar10", "cinic10", "covertype",
        "crop", "digits", "elec2", "employment", "eurosat", "fashion", "hapt", "load", "mnist", "names", "newsgroups",
        "occupancy", "reuters", "shl", "spam_assassin", "synthetic", "weather",
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
