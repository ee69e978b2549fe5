"""Base models of the experiments, which the methods of this library adapt."""

from baserate_lab.models.linear_sgd import LinearSGD
from baserate_lab.models.output_files import Outputs
from baserate_lab.models.perceptron import fit_in_epochs, mlp
from baserate_lab.models.recipes import RECIPES, Recipe
from baserate_lab.models.resnet18 import ResNet18
from baserate_lab.models.trained import Features, features, outputs, train
from baserate_lab.models.transformer_head import TransformerHead

__all__ = [
    "RECIPES",
    "Features",
    "LinearSGD",
    "Outputs",
    "Recipe",
    "ResNet18",
    "TransformerHead",
    "features",
    "fit_in_epochs",
    "mlp",
    "outputs",
    "train",
]
