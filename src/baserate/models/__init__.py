"""Base models of the experiments: what the methods of this library are given to keep right."""

from baserate.models.last_layer import LastLayer
from baserate.models.linear_sgd import LinearSGD
from baserate.models.output_files import Outputs
from baserate.models.perceptron import fit_in_epochs, mlp
from baserate.models.recipes import RECIPES, Recipe
from baserate.models.resnet18 import ResNet18
from baserate.models.torch_classifier import TorchClassifier
from baserate.models.trained import Features, features, outputs, train
from baserate.models.transformer_head import TransformerHead

__all__ = [
    "RECIPES",
    "Features",
    "LastLayer",
    "LinearSGD",
    "Outputs",
    "Recipe",
    "ResNet18",
    "TorchClassifier",
    "TransformerHead",
    "features",
    "fit_in_epochs",
    "mlp",
    "outputs",
    "train",
]
